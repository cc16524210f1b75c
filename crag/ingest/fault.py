"""What is wrong with a file, as the reader's child process tells it."""

from __future__ import annotations


class FileError(Exception):
    """What is wrong with the file: `kind` is one of the words that `crag.ingest.sandbox` knows."""

    def __init__(self, kind: str, detail: str = "") -> None:
        self.kind, self.detail = kind, detail
        super().__init__(kind, detail)
