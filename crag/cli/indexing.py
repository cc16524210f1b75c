"""The commands that bring files and web pages into a library, and keep it in step with them: index, refresh, sync."""

from __future__ import annotations

import os
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from crag.cli.options import Place, find_document, interruptible, opened, record_command
from crag.cli.output import Colour, Output, plain
from crag.core import ingesting as ev
from crag.core.errors import CancelledError, CragError, NotFoundError
from crag.core.settings import days_of
from crag.core.types import Document
from crag.ingest.files import ENDINGS, read_file
from crag.messages.documents import folder_text, lost_text, step_text
from crag.pipeline.folders import FileOriginal, FileState, FolderComparison, FolderFile
from crag.runtime.real_files import RealFolder
from crag.text.formats import count, format_size

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_DONE = frozenset({"added", "changed", "duplicate", "moved", "removed", "replaced", "unchanged"})
"""How a file or page can end that is as it should be."""
_COLOURS: dict[str, Colour] = {
    **dict.fromkeys(("added", "moved", "new", "replaced"), "blue"),
    **dict.fromkeys(("changed", "duplicate", "gone", "removed"), "amber"),
    **{"unchanged": "dim"},
}


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
    with interruptible() as cancel, opened(place.ctx) as engine:
        modified: dict[Path, int] = {}

        def load(file: Path, folder: RealFolder | None) -> FileOriginal:
            modified[file], data = read_file(file, engine.config.limits.max_file_mb, folder)
            return FileOriginal(data=data, path=os.path.abspath(file), modified=modified[file])

        def files() -> Iterator[tuple[str, Callable[[], FileOriginal]]]:
            for file, folder in (found for each in paths if each not in addresses for found in _files(Path(each))):
                if cancel.is_set():
                    return
                started.append(file)
                yield file.name, partial(load, file, folder)

        for end in _ends(engine.add_files(files(), place.target, confidence=confidence, cancel=cancel), output):
            if end.attached_to:
                counts[_show(end, end.name, output)] += 1
                continue
            file = started.popleft()  # one result a file, in the order they started
            if isinstance(end, ev.DuplicateFound):
                path, at = os.path.abspath(file), modified[file]
                if (path, at) != (end.document.path, end.document.modified):
                    try:
                        engine.library(place.target).documents.note(end.document.id, path=path, modified=at)
                    except CragError as error:  # the document is in the library all the same
                        output.note(f"{file}: later changes of this file will not be noticed. {error.message}")
            counts[_show(end, str(file), output)] += 1
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


_LISTED = 20
"""Files of a folder that a preview lists for people; scripts get all."""


_ADDED: tuple[FileState, ...] = ("new", "changed", "moved")


def sync(
    folder: Annotated[Path, Argument(metavar="FOLDER", help="the folder whose files the library is to hold")],
    place: Place,
    output: Output,
    yes: Annotated[bool, Option("--yes", help="add, replace and move without asking")] = False,
    delete: Annotated[bool, Option("--delete", help="delete documents whose files are gone without asking")] = False,
) -> int:
    """The differences, then one result line a file. At a terminal it asks before it changes anything, and before
    deletions; elsewhere nothing is changed without --yes and nothing deleted without --delete. 0 if each file is in the
    library as it is now, 1 if not."""
    with interruptible() as cancel, opened(place.ctx) as engine:
        compared = engine.compare_folder(folder, place.target, cancel)
        differing = [each for each in compared.files if each.state not in ("unchanged", "duplicate")]
        for each in differing if output.json else differing[:_LISTED]:
            _show_difference(compared, each, output)
        if len(differing) > _LISTED:
            output.note(f"and {len(differing) - _LISTED:,} more")
        output.note(folder_text(compared))
        if compared.of(*_ADDED) and not (yes or output.confirm("Add, replace and move these?")):
            output.note("Nothing was changed. Give --yes to bring the library in step.")
            return 0
        gone = compared.of("gone")
        if gone and not (delete or output.confirm(f"Delete what is gone ({count(len(gone), 'document')})?")):
            output.note(f"What is gone stays ({count(len(gone), 'document')}); --delete removes it.")
            gone = []
        files = [*compared.of(*_ADDED), *gone]
        counts = Counter[str](each.state for each in differing if each.problem)
        events = engine.sync_files([*files, *compared.of("unchanged")], place.target, cancel)
        names = map(compared.name, files)
        for end in _ends(events, output):
            counts[status := _show(end, end.name if end.attached_to else next(names), output)] += 1
            if status == "removed":
                record_command(engine, place.target, "delete", "document", end.name)
        if cancel.is_set():
            raise CancelledError("It was stopped; the files listed are done.")
    return _conclude(counts, output, "The library is in step with the folder.")


def _show_difference(compared: FolderComparison, each: FolderFile, output: Output) -> None:
    name, size = compared.name(each), format_size(each.size)
    state = f"{output.paint(each.state, _COLOURS.get(each.state, 'red'))}{' ' * (11 - len(each.state))}"
    said = f"{state}{plain(name)}  {output.paint(size, 'dim')}  {each.problem}".rstrip()
    problem = {"problem": each.problem} if each.problem else {}
    output.show({"status": each.state, "file": name, "size": each.size, **problem}, said)


def _follow(events: Iterable[ev.IngestEvent], output: Output) -> Counter[str]:
    """Show what becomes of each web page; how many ended in each way."""
    return Counter(_show(end, end.name, output) for end in _ends(events, output))


def _ends(events: Iterable[ev.IngestEvent], output: Output) -> Iterator[ev.IngestEnd]:
    """What comes of each file; any other event is said."""
    for event in events:
        if isinstance(event, ev.EmbeddingFailed):
            output.note(f"Some documents are found by their words alone: {plain(f'{event.message} {event.remedy}')}")
        elif isinstance(event, ev.IngestStep):
            output.progress(f"{event.name}: {step_text(event)}")
        else:
            yield event


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


def _files(path: Path) -> list[tuple[Path, RealFolder | None]]:
    """What may be documents under a folder, in order of name, and the folder; links below it are left out.

    The path itself where there is none, or it is a file.
    """
    found = [
        each
        for each in path.rglob("*")
        if each.suffix[1:].lower() in ENDINGS and not (each.is_symlink() or each.is_dir())
    ]
    folder = RealFolder.of(str(path)) if found else None
    return [(each, folder) for each in sorted(found, key=lambda file: (file.parent.parts, file.name))] or [(path, None)]


def _show(event: ev.IngestEnd, file: str, output: Output) -> str:
    """One result, as the person or the script wants it; returns its status. `file` is its path or address."""
    result, said = _describe(event)
    status = result["status"]
    line = f"{output.paint(status, _COLOURS.get(status, 'red'))}{' ' * (11 - len(status))}{plain(file)}"
    output.show({"status": status, "file": file, **result}, f"{line}: {said}" if said else line)
    return str(status)


def _describe(event: ev.IngestEnd) -> tuple[dict[str, Any], str]:
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
