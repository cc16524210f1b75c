"""Sentences about the documents of a library: what is out of date, kept, replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, assert_never, get_args

from crag.core.ingesting import Embedding, IngestStep, ReadingPage, ReadingQueued, RecognisingPage
from crag.text.formats import count

if TYPE_CHECKING:
    from crag.analysis.kept_pages import KeptPage
    from crag.pipeline.folders import FolderComparison
    from crag.pipeline.staleness import Stale
    from crag.storage.unembedded import Standing

_STALE = {
    "vectors": "Another embedding model made its vectors: re-index the library.",
    "chunks": "An earlier version cut its chunks: delete it and add it again.",
    "file": "Its file changed after it was read: delete it and add the file again.",
    "review": "Its review was due by {since}.",
    "replaced": "Its web page or file changed, and the library holds the new text since {since}: ask again.",
    "changed": "Its web page changed after {since}: fetch it again.",
    "duplicate": "Its web page has the text of another document here since {looked}: delete one of them.",
    "gone": "Its web page was gone on {looked}. The text here is from {since}.",
    "refused": "Its web page asked for a sign-in on {looked}. The text here is from {since}.",
    "unreachable": "Its web page could not be reached on {looked}. The text here is from {since}.",
    "unreadable": "Its web page could not be read on {looked}. The text here is from {since}.",
}


def stale_sentences(found: Mapping[str, Sequence[Stale]]) -> dict[str, tuple[str, ...]]:
    """What is out of date of several documents, by id, and what to do."""
    return {
        id: tuple(_STALE[each.reason].format(since=each.since, looked=each.looked) for each in stale)
        for id, stale in found.items()
    }


def waiting_sentence(waiting: Standing) -> str:
    """How far a document's vectors are, and why no more are made."""
    said = f"Searchable by words, {100 * waiting.done // max(1, waiting.total)} % embedded."
    return f"{said} {waiting.why}" if waiting.why else said


def kept_sentence(kept: KeptPage) -> str:
    """What keeping a web page did."""
    name = kept.document.name
    if kept.already:
        return f"It is already in the library, as {name}."
    return f"Kept as a document, unverified until you confirm it: {name}, {count(kept.document.chunks, 'chunk')}."


def step_text(step: IngestStep) -> str:
    """How far a file on its way into a library is, as a part of a sentence."""
    match step:
        case ReadingQueued():
            return f"waits for its turn: {count(step.before, 'file')} before it"
        case ReadingPage():
            return f"reading page {step.page:,} of {step.pages:,}"
        case RecognisingPage():
            return f"recognising page {step.page:,} of {step.pages:,}, {left_text(step.seconds_left)}"
        case Embedding():
            return f"embedding chunk {step.done:,} of {step.total:,}"
        case _:
            assert_never(step)


def lost_text(labels: int, records: int, verified: bool) -> str:
    """What was known of a document's old text and holds for no chunk of the new one; empty where all went over."""
    numbers = {"label": labels, "track record": records, "verification": int(verified)}
    lost = [count(number, what) for what, number in numbers.items() if number]
    return f"lost with the old text: {', '.join(lost)}" if lost else ""


def folder_text(compared: FolderComparison) -> str:
    """What a folder is beside the library, as "3 new, 1 gone, 40 unchanged; skipped: hidden 2"."""
    from crag.pipeline.folders import FileState  # loads the readers of files, which only who adds some needs

    states = Counter(each.state for each in compared.files)
    found = ", ".join(f"{states[state]:,} {state}" for state in get_args(FileState) if states[state])
    skipped = ", ".join(f"{why} {number:,}" for why, number in compared.skipped.items() if number)
    said = found or "The folder holds no file that is read here"
    return f"{said}; skipped: {skipped}" if skipped else said


def left_text(seconds: float) -> str:
    """How much longer something takes, as "about 2 min left"."""
    minutes = round(seconds / 60)
    return f"about {minutes:,} min left" if minutes else "under a minute left"
