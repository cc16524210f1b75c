"""The commands that bring documents into a library: index and refresh, with one result for each file and web page."""

from __future__ import annotations

import re
import stat
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from crag.cli.options import Place, find_document, interruptible, opened
from crag.cli.output import Colour, Output, plain
from crag.core import ingesting as ev
from crag.core.errors import CancelledError, CragError, DocumentError, LimitError, NotFoundError
from crag.core.fields import days_of
from crag.core.types import Document
from crag.ingest.files import ENDINGS
from crag.messages.documents import left_text, lost_text

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_DONE = frozenset({"added", "changed", "duplicate", "replaced", "unchanged"})
"""How a file or page can end that is as it should be."""
_COLOURS: dict[str, Colour] = {
    **{"added": "blue", "replaced": "blue", "changed": "amber", "duplicate": "amber", "unchanged": "dim"},
}

_Ended = ev.DocumentAdded | ev.DuplicateFound | ev.DocumentFailed | ev.DocumentRefreshed


def index(
    paths: Annotated[
        list[str],
        Argument(
            metavar="PATH",
            help="a file, a folder to search for those whose names end in what is read, or the address of a web page",
        ),
    ],
    place: Place,
    output: Output,
    confidence: Annotated[float, Option(help="how far these files are trusted, from 0 to 1")] = 1.0,
) -> int:
    """One result line a file, in order, then one a web page. 0 if each is in the library as it is now, 1 if not."""
    addresses = [each for each in paths if _ADDRESS.match(each)]
    counts: Counter[str] = Counter()
    started: deque[Path] = deque()
    modified: dict[Path, int] = {}
    with interruptible() as cancel, opened(place.ctx) as engine:

        def load(file: Path) -> bytes:
            modified[file], data = _read(file, engine.config.limits.max_file_mb)
            return data

        def files() -> Iterator[tuple[str, Callable[[], bytes]]]:
            for file in (file for each in paths if each not in addresses for file in _files(Path(each))):
                if cancel.is_set():
                    return
                started.append(file)
                yield file.name, partial(load, file)

        for event in engine.add_files(files(), place.target, confidence=confidence, cancel=cancel):
            if isinstance(event, ev.IngestStep):
                output.progress(_progress(event))
                continue
            file = started.popleft()  # one result a file, in the order they started
            if isinstance(event, ev.DocumentAdded | ev.DuplicateFound):
                came_from = str(file.absolute()), modified[file]
                if came_from != (event.document.path, event.document.modified):
                    try:
                        engine.library(place.target).documents.came_from(event.document.id, *came_from)
                    except CragError as error:  # the document is in the library all the same
                        output.note(f"{file}: later changes of this file will not be noticed. {error.message}")
            counts[_show(event, str(file), output)] += 1
        counts += _follow(engine.pages.add(addresses, place.target, confidence=confidence, cancel=cancel), output)
        if cancel.is_set():
            raise CancelledError("Indexing was stopped; the files listed as added are in the library.")
    return _conclude(counts, output)


def refresh(
    place: Place,
    output: Output,
    documents: Annotated[
        list[str] | None,
        Argument(metavar="DOCUMENT", help="its name, its address, or the beginning of its id; none: all"),
    ] = None,
    older_than: Annotated[
        int | None, Option(parser=days_of, metavar="DAYS", help="only if looked at longer ago than this: 7d, 2w")
    ] = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="look, and note what changed for documents --stale; replace nothing")
    ] = False,
) -> int:
    """One line a document. 0 if every page came and could be read, 1 if some did not."""
    with interruptible() as cancel, place.opened() as (engine, library):
        held = library.documents.all()
        ids = [_find_web_document(said, held).id for said in documents or ()] or None
        looks = engine.pages.refresh(place.target, ids, older_than=older_than, dry_run=dry_run, cancel=cancel)
        counts = _follow(looks, output)
        if cancel.is_set():
            raise CancelledError("Refreshing was stopped; the documents listed are done.")
    return _conclude(counts, output, "No web page was due.")


def _follow(events: Iterable[ev.IngestEvent], output: Output) -> Counter[str]:
    """Show what becomes of each web page; how many ended in each way."""
    counts: Counter[str] = Counter()
    for event in events:
        if isinstance(event, ev.IngestStep):
            output.progress(_progress(event))
        else:
            counts[_show(event, event.name, output)] += 1
    return counts


def _conclude(counts: Counter[str], output: Output, nothing: str = "") -> int:
    """Say how many ended in each way. 0 where all did as they should, 1 where some did not."""
    output.note(", ".join(f"{number} {status}" for status, number in sorted(counts.items())) or nothing)
    return int(any(status not in _DONE for status in counts))


def _find_web_document(said: str, held: list[Document]) -> Document:
    """The document from the web that was named. Raises NotFoundError."""
    document = next((each for each in held if each.url == said), None) or find_document(said, held)
    if not document.url:
        raise NotFoundError(f"{document.name} is not from the web.", "Name a document that was added by its address.")
    return document


def _files(path: Path) -> list[Path]:
    """What may be documents under a folder, in order of name; the path itself where there is none, or it is a file."""
    found = [each for each in path.rglob("*") if each.suffix[1:].lower() in ENDINGS and not each.is_dir()]
    return sorted(found, key=lambda file: (file.parent.parts, file.name)) or [path]


def _read(file: Path, max_mb: int) -> tuple[int, bytes]:
    """When the file was changed last, and its bytes. Raises DocumentError before all is read, and OSError."""
    about = file.stat()
    if stat.S_ISDIR(about.st_mode):
        endings = ", ".join(f".{ending}" for ending in ENDINGS)
        raise DocumentError(
            f"There is no document in the folder {file}.", f"Name one with files that end in {endings}."
        )
    if not stat.S_ISREG(about.st_mode):
        raise DocumentError(f"{file} is not a regular file.", "Name a file or a folder.")
    if about.st_size > max_mb * 1024 * 1024:
        raise LimitError(f"{file.name} is larger than {max_mb} MB.", "Split the document, or raise CRAG_MAX_FILE_MB.")
    return about.st_mtime_ns, file.read_bytes()


def _progress(event: ev.IngestStep) -> str:
    if isinstance(event, ev.ReadingQueued):
        return f"{event.name}: waits until {event.before} others are read"
    if isinstance(event, ev.ReadingPage):
        return f"{event.name}: page {event.page} of {event.pages}"
    if isinstance(event, ev.RecognisingPage):
        return f"{event.name}: recognising page {event.page} of {event.pages}, {left_text(event.seconds_left)}"
    return f"{event.name}: chunk {event.done} of {event.total} embedded"


def _show(event: _Ended, file: str, output: Output) -> str:
    """One result, as the person or the script wants it; returns its status. `file` is its path or address."""
    result, said = _describe(event)
    status = result["status"]
    line = f"{output.paint(status, _COLOURS.get(status, 'red'))}{' ' * (11 - len(status))}{plain(file)}"
    output.show({"status": status, "file": file, **result}, f"{line}: {said}" if said else line)
    return str(status)


def _describe(event: _Ended) -> tuple[dict[str, Any], str]:
    """One end as a record, and what it says of it for people."""
    if isinstance(event, ev.DocumentFailed):
        failed = {"status": "failed", "error": event.message, "remedy": event.remedy}
        return failed, plain(f"{event.message} {event.remedy}")
    document = event.document
    common = {"id": document.id, "title": document.title}
    if isinstance(event, ev.DocumentAdded):
        numbers = {"pages": document.pages, "chunks": document.chunks, "seconds": document.seconds}
        warnings = "".join(f"\n           {plain(warning)}" for warning in document.warnings)
        said = f"{document.pages} pages, {document.chunks} chunks, {document.seconds:.1f} s{warnings}"
        return {"status": "added", **common, **numbers, "warnings": list(document.warnings)}, said
    if isinstance(event, ev.DuplicateFound):
        duplicate = {"status": "duplicate", **common, "duplicate_of": document.name}
        return duplicate, f"same content as {plain(document.name)}"
    result = {"status": event.found, **common, "fetched_at": document.fetched_at}
    if event.found == "replaced":
        lost: dict[str, Any] = {
            "labels": event.lost_labels,
            "records": event.lost_records,
            "verified": event.lost_verified,
        }
        return {**result, "replaces": document.earlier[0], "lost": lost}, plain(lost_text(**lost))
    return {**result, "note": event.message, "remedy": event.remedy}, plain(f"{event.message} {event.remedy}")
