"""Files that a command reads and writes: looked at before hours of work, and each failure said with its reason."""

from __future__ import annotations

import os
from pathlib import Path

from crag.analysis.questions.sets import MOST_BYTES
from crag.core.errors import InputError


def read_file(path: Path, hint: str) -> bytes:
    """The file's bytes; its size is looked at before anything is read. Raises InputError with the hint."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path} has over {MOST_BYTES // 1024**2} MiB.", "Split it, or leave out long columns.")
        with path.open("rb") as file:  # some files are longer than they say
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"{path} can't be read: {reason}.", hint) from error


def check_target(file: Path | None) -> None:
    """Looks before hours of work whether its results can be written. Raises InputError."""
    if file is None:
        return
    folder = file.absolute().parent
    if file.is_dir() or not folder.is_dir() or not os.access(file if file.exists() else folder, os.W_OK):
        raise InputError(f"{file} can't be written.", "Name a file in a folder that is there and may be written to.")


def write_results(file: Path, data: bytes) -> None:
    """Raises InputError; the results are in the library all the same."""
    try:
        file.write_bytes(data)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"{file} can't be written: {reason}.", "The results are in the library.") from error
