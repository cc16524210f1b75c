"""index: Add documents (PDF, Office, CSV, text, web pages), all those of a folder, or pages by their addresses."""

from __future__ import annotations

import argparse
import os
import re
import stat
from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from crag.cli.options import add_library, interruptible, opened, target
from crag.cli.output import Output
from crag.cli.results import DONE, progress, show
from crag.core.errors import CancelledError, CragError, DocumentError, LimitError
from crag.core.ingesting import DocumentAdded, DuplicateFound, IngestStep
from crag.core.types import Document
from crag.ingest.media import ENDINGS

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="a file, a folder to search for those whose names end in what is read, or the address of a web page",
    )
    add_library(parser)
    parser.add_argument(
        "--confidence", type=float, default=1.0, metavar="0..1", help="how far these files are trusted (default 1)"
    )


def run(options: argparse.Namespace, output: Output) -> int:
    """One result line a file, in order, then one a web page. 0 if each is in the library as it is now, 1 if not."""
    addresses = [each for each in options.paths if _ADDRESS.match(each)]
    paths = [Path(each) for each in options.paths if not _ADDRESS.match(each)]
    counts: Counter[str] = Counter()
    started: deque[Path] = deque()
    modified: dict[Path, int] = {}
    with interruptible() as cancel, opened(options) as engine:

        def load(file: Path) -> bytes:
            modified[file], data = _read(file, engine.config.limits.max_file_mb)
            return data

        def files() -> Iterator[tuple[str, Callable[[], bytes]]]:
            for path in paths:
                for file in _files(path):
                    if cancel.is_set():
                        return
                    started.append(file)
                    yield file.name, partial(load, file)

        for event in engine.add_files(files(), target(options), confidence=options.confidence, cancel=cancel):
            if isinstance(event, IngestStep):
                output.progress(progress(event))
                continue
            file = started.popleft()  # one result a file, in the order they started
            if isinstance(event, DocumentAdded | DuplicateFound):
                note = partial(engine.library(target(options)).documents.came_from, event.document.id)
                _note_file(note, event.document, file.absolute(), modified[file], output)
            counts[show(event, str(file), output)] += 1
        for event in engine.pages.add(addresses, target(options), confidence=options.confidence, cancel=cancel):
            if isinstance(event, IngestStep):
                output.progress(progress(event))
            else:
                counts[show(event, event.name, output)] += 1
        if cancel.is_set():
            raise CancelledError("Indexing was stopped; the files listed as added are in the library.")
    output.note(", ".join(f"{number} {status}" for status, number in sorted(counts.items())))
    return int(any(status not in DONE for status in counts))


def _note_file(note: Callable[[str, int], None], document: Document, file: Path, modified: int, output: Output) -> None:
    """So that a later change of the file is noticed. The document is in the library whether that succeeds or not."""
    if (document.path, document.modified) == (str(file), modified):
        return
    try:
        note(str(file), modified)
    except CragError as error:
        output.note(f"{file}: later changes of this file will not be noticed. {error.message}")


def _files(path: Path) -> Iterator[Path]:
    """The path itself, or what may be documents under it, in order of name; links to folders are not followed."""
    if not path.is_dir():
        yield path
        return
    found = False
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            if name.rpartition(".")[2].lower() in ENDINGS:
                found = True
                yield Path(folder, name)
    if not found:
        yield path


def _read(file: Path, max_mb: int) -> tuple[int, bytes]:
    """When the file was changed last, and its bytes. Raises DocumentError; the size is checked before all is read."""
    try:
        about = file.stat()
        if stat.S_ISDIR(about.st_mode):
            raise DocumentError(
                f"There is no document in the folder {file}.",
                f"Name one with files that end in {', '.join(f'.{ending}' for ending in ENDINGS)}.",
            )
        if not stat.S_ISREG(about.st_mode):
            raise DocumentError(f"{file} is not a regular file.", "Name a file or a folder.")
        if about.st_size > max_mb * 1024 * 1024:
            raise LimitError(
                f"{file.name} is larger than {max_mb} MB.", "Split the document, or raise CRAG_MAX_FILE_MB."
            )
        return about.st_mtime_ns, file.read_bytes()
    except FileNotFoundError as error:
        raise DocumentError(f"There is no file {file}.", "Check the path.") from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DocumentError(f"{file} can't be read: {reason}.", "Check the path and its permissions.") from error
