"""The commands on a library: documents, tag, purge, reindex and verify."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from typer import Argument, Option

from crag.cli.options import Place, find_document, interruptible, record_command
from crag.cli.output import Options, Output, plain
from crag.core.errors import PROGRAM, CragError, SettingsError
from crag.core.filters import filter_of
from crag.core.metadata import read_field, written_field
from crag.core.purging import Conditions
from crag.core.settings import days_of
from crag.core.trace import Track
from crag.messages.documents import stale_sentences, step_text


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
        found, tracks = library.documents.all(), library.documents.tracks()
        why = stale_sentences(engine.stale(place.target))
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
    where: Annotated[
        list[str] | None,
        Option(metavar="CONDITION", help="that meet it, as: confidence < 0.5; may be given again"),
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
    conditions = Conditions(**{**asdict(given), "where": filter_of(given.where) if given.where else None})
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


def reindex(
    place: Place,
    output: Output,
    missing: Annotated[bool, Option("--missing", help="only those that are missing, as after an interruption")] = False,
) -> int:
    """Until a document has its new vectors, it is found by its words."""
    with interruptible() as cancel, place.opened() as (engine, library):
        if not missing:
            library.unembedded.forget_vectors()
        for event in engine.embed_missing(place.existing, cancel):
            output.progress(step_text(event))
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
