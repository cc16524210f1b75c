"""The commands on a library: index, refresh, documents, tag, purge, reindex, verify, gaps, keep."""

from __future__ import annotations

import re
import shlex
import stat
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from crag.analysis import gaps as analysis
from crag.cli.options import Place, find_document, interruptible, latest_run, opened, record_command
from crag.cli.output import Colour, Options, Output, plain
from crag.core import ingesting as ev
from crag.core.errors import PROGRAM, CancelledError, CragError, DocumentError, LimitError, NotFoundError, SettingsError
from crag.core.fields import days_of
from crag.core.filters.where import parse
from crag.core.metadata import KEPT_CONFIDENCE, read_field, written_field
from crag.core.purging import Conditions
from crag.core.trace import Track
from crag.core.types import Document
from crag.ingest.files import ENDINGS
from crag.messages.answers import origins_text
from crag.messages.documents import kept_sentence, left_text, lost_text, stale_sentences
from crag.text.formats import count


def documents(
    place: Place,
    output: Output,
    stale: Annotated[
        bool, Option("--stale", help="those out of date (vectors, chunks, file, web page, review_by), and why")
    ] = False,
    purged: Annotated[bool, Option("--purged", help="those that a purge took out and --undo brings back")] = False,
) -> int:
    """One line a document, oldest first."""
    with place.opened() as (engine, library):
        if purged:
            for gone in library.purges.undoable():
                said = f"{plain(gone.name)}  {gone.id[:12]}  purged {gone.at[:16]}: {plain(gone.why)}"
                output.show(asdict(gone), said)
            return 0
        found, tracks, why = (
            library.documents.all(),
            library.documents.tracks(),
            stale_sentences(engine.stale(place.target)),
        )
        citing = library.facts.citing(found)
    if stale:
        found = [document for document in found if document.id in why]
    if not found and not output.json:
        output.note("No document is stale." if stale else f"No documents yet. Add some: {PROGRAM} index FILE.pdf")
    width = max((len(plain(document.name)) for document in found), default=0)
    for document in found:
        reasons = why.get(document.id, ())
        lines = [
            f"{plain(document.name):<{width}}  {document.pages:>5} pages  {document.chunks:>6} chunks  "
            f"{document.size / 1024:>8,.0f} KB  {document.added_at[:10]}  {output.paint(plain(document.title), 'dim')}",
            *(f"{output.paint('  stale', 'amber')}  {each}" for each in reasons),
        ]
        track = _track_fields(tracks.get(document.id, Track()))
        record = {**asdict(document), **track, "cited": citing[document.id], "stale": list(reasons)}
        output.show(record, "\n".join(lines))
    return 0


def _track_fields(track: Track) -> dict[str, Any]:
    """What runs said of a document, for scripts."""
    used = {"retrieved": track.retrieved, "used": track.used, "last_used": track.last_used or None}
    return {**used, "mean_score": track.mean_score}


def tag(
    document: Annotated[str, Argument(metavar="DOCUMENT", help="its name, or the beginning of its id")],
    place: Place,
    output: Output,
    fields: Annotated[
        list[str] | None, Argument(metavar="NAME=VALUE", help="none: show the fields that it has")
    ] = None,
) -> int:
    """All fields are read before any is stored."""
    given = dict(read_field(each) for each in fields or ())
    with place.opened() as (_, library):
        stored = library.documents
        found = find_document(document, stored.all())
        held = stored.describe(found.id, given) if given else stored.fields(found.id)
    if output.json:
        output.record({"id": found.id, "name": found.name, "fields": held})
    else:
        for name, value in held.items():
            output.line(written_field(name, value))
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given(Options):
    """The conditions of a purge, as `Conditions` of `crag.core.purging` takes them."""

    older_than: Annotated[
        int | None, Option(parser=days_of, metavar="DAYS", help="added longer ago than this: 30d, 8w")
    ] = None
    not_used_for: Annotated[
        int | None, Option(parser=days_of, metavar="DAYS", help="in no answer's evidence for so long: 30d")
    ] = None
    confidence_below: Annotated[float | None, Option(min=0, max=1, help="trusted less than this")] = None
    score_below: Annotated[float | None, Option(min=0, max=1, help="graded worse than this on average")] = None
    unverified: Annotated[bool, Option("--unverified", help="not marked with verified=true")] = False
    where: Annotated[
        str | None, Option(metavar="FILTER", help="only documents that match it, as: source = news.example.org")
    ] = None


def purge(
    given: _Given,
    place: Place,
    output: Output,
    document: Annotated[
        str | None, Argument(metavar="DOCUMENT", help="with --undo: its name, or the beginning of its id")
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="show what would go and why, and take nothing out")] = False,
    undo: Annotated[
        bool, Option("--undo", help="bring back what was purged within a day: this document, or all")
    ] = False,
) -> int:
    """One line a document, oldest first. A document goes that meets all conditions; at least one must be given."""
    if undo:
        if given != _Given() or dry_run:
            raise SettingsError("--undo takes no conditions.", "Name the document to bring back, or none for all.")
        return _undo_purge(document, place, output)
    if document is not None:
        raise SettingsError("A document is named with --undo alone.", "Give conditions for what is to go.")
    conditions = Conditions(**{**asdict(given), "where": parse(given.where) if given.where else None})
    with place.opened() as (engine, library):
        purges = library.purges
        found = purges.due(conditions) if dry_run else purges.purge(conditions)
        if not dry_run:
            for each in found:
                record_command(engine, place.target, "delete", "document purged", f"{each.document.name}: {each.why}")
    for each in found:
        _show_purged("due" if dry_run else "purged", each.document.id, each.document.name, each.why, output)
    if not found:
        output.note("No document meets these conditions.")
    elif not dry_run:
        output.note(f"{len(found)} purged; within a day {PROGRAM} purge --undo brings them back.")
    return 0


def _undo_purge(document: str | None, place: Place, output: Output) -> int:
    """0 if all came back, 1 if some did not."""
    failed = 0
    with place.opened() as (engine, library):
        purges = library.purges
        found = purges.undoable()
        for each in [find_document(document, found)] if document else found:
            try:
                purges.undo(each.id)
                record_command(engine, place.target, "delete", "purge undone", each.name)
            except CragError as error:
                failed += 1
                _show_purged("failed", each.id, each.name, str(error), output)
            else:
                _show_purged("restored", each.id, each.name, "", output)
    if not found:
        output.note("Nothing was purged within a day.")
    return int(failed > 0)


def _show_purged(status: str, id: str, name: str, why: str, output: Output) -> None:
    said = f": {plain(why)}" if why else ""
    line = f"{output.paint(status, 'red' if status == 'failed' else 'amber')}  {plain(name)}{said}"
    output.show({"status": status, "id": id, "name": name, **({"why": why} if why else {})}, line)


def reindex(place: Place, output: Output) -> int:
    """All or nothing: until the end, and if it is interrupted, the library stays as it was."""
    with interruptible() as cancel, place.opened() as (_, library):
        library.reindex(lambda done, total: output.progress(f"chunk {done} of {total} embedded"), cancel)
        count, chunks = library.size
    record = {"status": "reindexed", "documents": count, "chunks": chunks}
    output.show(record, f"reindexed {count} documents, {chunks} chunks")
    return 0


def verify(
    place: Place,
    output: Output,
    repair: Annotated[bool, Option("--repair", help="where the index differs from the records, rebuild it")] = False,
) -> int:
    """0 where everything fits, or was mended; 1 where the index differs."""
    with place.opened() as (_, library):
        found = library.verify(repair=repair)
        count, chunks = library.size
    status, missing, foreign = "whole", len(found.missing), len(found.foreign)
    said = f"{count} documents and {chunks} chunks are whole, and the index fits them"
    if found:
        status = "repaired" if repair else "differs"
        said = f"{missing} chunks were missing in the index, {foreign} in it alone"
        said += "; it was rebuilt" if repair else ": run it again with --repair"
    counts = {"documents": count, "chunks": chunks, "missing": missing, "foreign": foreign}
    output.show({"status": status, **counts}, said)
    return int(status == "differs")


def gaps(
    place: Place,
    output: Output,
    closed: Annotated[bool, Option("--closed", help="those too that the documents have answered since")] = False,
) -> int:
    """The open gaps, those asked most often first, each with its pages."""
    with place.opened() as (engine, library):
        found = [gap for gap in analysis.gaps(library, engine.embedder) if closed or not gap.closed_by]
        pages = [analysis.found_pages(library, gap) for gap in found]
    for gap, kept in zip(found, pages, strict=True):
        records = [
            {"run": run, "url": page.url, "title": page.title, "kept_as": document.name if document else None}
            for run, page, document in ((each.run, each.page, each.document) for each in kept)
        ]
        output.show({**asdict(gap), "pages": records}, "\n".join(_lines(gap, kept, output)))
    if not found:
        output.note("No gap: every question of the latest runs was answered from the documents.")
    return 0


def _lines(gap: analysis.Gap, pages: list[analysis.FoundPage], output: Output) -> Iterator[str]:
    yield output.paint(plain(gap.question), "bold")
    through = f", {said}" if (said := origins_text(gap.vias)) else ""
    state = "answered since" if gap.closed_by else "open"
    yield f"    asked {count(gap.asked, 'time')}, last {gap.last[:16]}{through}, {state}"
    yield from (f"    also: {plain(other)}" for other in gap.others)
    for each in pages:
        yield f"    {plain(each.page.title or each.page.url)}"
        if each.document:
            yield f"        kept as {plain(each.document.name)}; ask again to close the gap"
        else:
            command = f"{PROGRAM} keep {shlex.quote(each.run)} {shlex.quote(plain(each.page.url))}"
            yield output.paint(f"        {command}", "dim")


def keep(
    run: Annotated[str, Argument(metavar="RUN", help='a run\'s id, as ask --json and gaps say it; "last": the latest')],
    place: Place,
    output: Output,
    pages: Annotated[
        list[str] | None,
        Argument(
            metavar="URL", help='the address of a page that it found; "all", or none: those that its answer cites'
        ),
    ] = None,
    confidence: Annotated[float, Option(help="how far these pages are trusted, from 0 to 1")] = KEPT_CONFIDENCE,
) -> int:
    """One line a page. 0 if every page is in the library now, 1 if some are not."""
    failed = 0
    with interruptible() as cancel, place.opened() as (engine, library):
        trace = library.runs.trace(latest_run(library) if run == "last" else run)
        found = {page.id: page for said in pages or ["all"] for page in analysis.pages_named(trace, said)}
        for page in found.values():
            try:
                kept = analysis.keep(page, trace.meant, library, engine, confidence=confidence, cancel=cancel)
            except CragError as error:
                failed += 1
                output.message(f"failed: {plain(page.url)}: {error}")
                continue
            status = "already there" if kept.already else "kept"
            record = {"status": status, "url": page.url, "id": kept.document.id, "name": kept.document.name}
            output.show(record, f"{plain(page.url)}: {plain(kept_sentence(kept))}")
    return 1 if failed else 0


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
