"""What becomes of each file and web page, as a line for people or a record for scripts."""

from __future__ import annotations

from typing import Any, assert_never

from crag.cli.output import Colour, Output, plain
from crag.core.ingesting import (
    DocumentAdded,
    DocumentFailed,
    DocumentRefreshed,
    DuplicateFound,
    Found,
    IngestStep,
    ReadingPage,
    ReadingQueued,
    RecognisingPage,
)
from crag.messages.wording import left_text, lost_text

Result = dict[str, Any]
Ended = DocumentAdded | DuplicateFound | DocumentFailed | DocumentRefreshed

DONE = frozenset({"added", "changed", "duplicate", "replaced", "unchanged"})
"""How a file or page can end that is as it should be."""

_COLOURS: dict[Found, Colour] = {"unchanged": "dim", "replaced": "blue", "changed": "amber", "duplicate": "amber"}


def progress(event: IngestStep) -> str:
    if isinstance(event, ReadingQueued):
        return f"{event.name}: waits until {event.before} others are read"
    if isinstance(event, ReadingPage):
        return f"{event.name}: page {event.page} of {event.pages}"
    if isinstance(event, RecognisingPage):
        return f"{event.name}: recognising page {event.page} of {event.pages}, {left_text(event.seconds_left)}"
    return f"{event.name}: chunk {event.done} of {event.total} embedded"


def _record(event: Ended, file: str) -> Result:
    """One file's end as a record."""
    match event:
        case DocumentAdded():
            document = event.document
            return {
                "status": "added",
                "file": file,
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
                "file": file,
                "id": event.document.id,
                "title": event.document.title,
                "duplicate_of": event.document.name,
            }
        case DocumentFailed():
            return {"status": "failed", "file": file, "error": event.message, "remedy": event.remedy}
        case DocumentRefreshed():
            return _result_of_refresh(event, file)
        case _:
            assert_never(event)


def _result_of_refresh(event: DocumentRefreshed, file: str) -> Result:
    result: Result = {
        "status": event.found,
        "file": file,
        "id": event.document.id,
        "title": event.document.title,
        "fetched_at": event.document.fetched_at,
    }
    if event.found == "replaced":
        lost = {"labels": event.lost_labels, "records": event.lost_records, "verified": event.lost_verified}
        return {**result, "replaces": event.document.earlier[0], "lost": lost}
    return {**result, "note": event.message, "remedy": event.remedy}


def show(event: Ended, file: str, output: Output) -> str:
    """One result, as the person or the script wants it; returns its status. `file` is its path or address."""
    result = _record(event, file)
    if output.json:
        output.record(result)
    else:
        output.line(_line(result, output))
    return str(result["status"])


def _line(result: Result, output: Output) -> str:
    name = plain(result["file"])
    match result["status"]:
        case "added":
            size = f"{result['pages']} pages, {result['chunks']} chunks, {result['seconds']:.1f} s"
            warnings = "".join(f"\n           {plain(warning)}" for warning in result["warnings"])
            return f"{output.paint('added', 'blue')}      {name}: {size}{warnings}"
        case "duplicate" if "duplicate_of" in result:
            return f"{output.paint('duplicate', 'amber')}  {name}: same content as {plain(result['duplicate_of'])}"
        case "failed":
            return f"{output.paint('failed', 'red')}     {name}: {plain(result['error'])} {plain(result['remedy'])}"
        case found:
            status = output.paint(found, _COLOURS.get(found, "red"))
            note = lost_text(**result["lost"]) if found == "replaced" else f"{result['note']} {result['remedy']}"
            return f"{status}{' ' * (11 - len(found))}{name}{': ' if note.strip() else ''}{plain(note)}"
