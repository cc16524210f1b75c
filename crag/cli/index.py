"""index: Add PDFs, or every PDF of a folder, to a library."""

from __future__ import annotations

import argparse
import os
import stat
from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, assert_never

from crag.cli.options import add_library, interruptible, opened, target
from crag.cli.output import Output, plain
from crag.core.errors import CancelledError, CragError, DocumentError, LimitError
from crag.core.ingesting import (
    DocumentAdded,
    DocumentFailed,
    DuplicateFound,
    Embedding,
    ReadingPage,
    ReadingQueued,
    RecognisingPage,
)
from crag.core.types import Document
from crag.core.wording import left_text

Result = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a PDF, or a folder to search for them")
    add_library(parser)
    parser.add_argument(
        "--confidence", type=float, default=1.0, metavar="0..1", help="how far these files are trusted (default 1)"
    )


def run(options: argparse.Namespace, output: Output) -> int:
    """One result line a file, in order. 0 if every file is in the library now, 1 if some are not."""
    counts: Counter[str] = Counter()
    begun: deque[Path] = deque()
    modified: dict[Path, int] = {}
    with interruptible() as cancel, opened(options) as engine:

        def load(file: Path) -> bytes:
            modified[file], data = _read(file, engine.config.max_file_mb)
            return data

        def files() -> Iterator[tuple[str, Callable[[], bytes]]]:
            for path in options.paths:
                for file in _files(path):
                    if cancel.is_set():
                        return
                    begun.append(file)
                    yield file.name, partial(load, file)

        for event in engine.add_files(files(), target(options), confidence=options.confidence, cancel=cancel):
            if isinstance(event, ReadingQueued | ReadingPage | RecognisingPage | Embedding):
                output.progress(_progress(event))
                continue
            file = begun.popleft()  # one result a file, in the order they were begun
            if isinstance(event, DocumentAdded | DuplicateFound):
                note = partial(engine.library(target(options)).documents.came_from, event.document.id)
                _note_file(note, event.document, file.absolute(), modified[file], output)
            result = _result(event, file)
            counts[result["status"]] += 1
            if output.json:
                output.record(result)
            else:
                output.line(_line(result, output))
        if cancel.is_set():
            raise CancelledError("Indexing was stopped; the files listed as added are in the library.")
    output.note(", ".join(f"{number} {status}" for status, number in sorted(counts.items())))
    return 1 if counts["failed"] else 0


def _note_file(note: Callable[[str, int], None], document: Document, file: Path, modified: int, output: Output) -> None:
    """So that a change of the file can be told later. The document is in the library whether that succeeds or not."""
    if (document.path, document.modified) == (str(file), modified):
        return
    try:
        note(str(file), modified)
    except CragError as error:
        output.note(f"{file}: changes of this file will not be told. {error.message}")


def _files(path: Path) -> Iterator[Path]:
    """The path itself, or the PDFs under it in order of name; links to folders are not followed."""
    if not path.is_dir():
        yield path
        return
    found = False
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            if name.lower().endswith(".pdf"):
                found = True
                yield Path(folder, name)
    if not found:
        yield path


def _progress(event: ReadingQueued | ReadingPage | RecognisingPage | Embedding) -> str:
    if isinstance(event, ReadingQueued):
        return f"{event.name}: waits until {event.before} others are read"
    if isinstance(event, ReadingPage):
        return f"{event.name}: page {event.page} of {event.pages}"
    if isinstance(event, RecognisingPage):
        return f"{event.name}: recognising page {event.page} of {event.pages}, {left_text(event.seconds_left)}"
    return f"{event.name}: chunk {event.done} of {event.total} embedded"


def _result(event: DocumentAdded | DuplicateFound | DocumentFailed, file: Path) -> Result:
    """One file's end as a record."""
    match event:
        case DocumentAdded():
            document = event.document
            return {
                "status": "added",
                "file": str(file),
                "id": document.id,
                "title": document.title,
                "pages": document.pages,
                "chunks": document.chunks,
                "seconds": document.seconds,
                "warnings": list(document.warnings),
            }
        case DuplicateFound():
            return {
                "status": "duplicate",
                "file": str(file),
                "id": event.document.id,
                "title": event.document.title,
                "duplicate_of": event.document.name,
            }
        case DocumentFailed():
            return {"status": "failed", "file": str(file), "error": event.message, "remedy": event.remedy}
        case _:
            assert_never(event)


def _read(file: Path, max_mb: int) -> tuple[int, bytes]:
    """When the file was changed last, and its bytes. Raises DocumentError; the size is checked before all is read."""
    try:
        about = file.stat()
        if stat.S_ISDIR(about.st_mode):
            raise DocumentError(f"There is no PDF in the folder {file}.", "Name a folder that holds .pdf files.")
        if not stat.S_ISREG(about.st_mode):
            raise DocumentError(f"{file} is not a regular file.", "Name a PDF file or a folder.")
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


def _line(result: Result, output: Output) -> str:
    name = plain(result["file"])
    match result["status"]:
        case "added":
            size = f"{result['pages']} pages, {result['chunks']} chunks, {result['seconds']:.1f} s"
            warnings = "".join(f"\n           {plain(warning)}" for warning in result["warnings"])
            return f"{output.paint('added', 'blue')}      {name}: {size}{warnings}"
        case "duplicate":
            return f"{output.paint('duplicate', 'amber')}  {name}: same content as {plain(result['duplicate_of'])}"
        case _:
            return f"{output.paint('failed', 'red')}     {name}: {plain(result['error'])} {plain(result['remedy'])}"
