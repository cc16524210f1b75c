"""The files of an upload and what becomes of each: waiting, read, indexed, added, or not, and why."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, assert_never

import streamlit as st

from crag.core.ingesting import (
    DocumentAdded,
    DocumentFailed,
    DocumentRefreshed,
    DuplicateFound,
    Embedding,
    EmbeddingFailed,
    Found,
    IngestEnd,
    IngestEvent,
    IngestStep,
    ReadingPage,
    ReadingQueued,
    RecognisingPage,
)
from crag.export.html import words
from crag.export.html.safe_text import markdown
from crag.messages.documents import left_text, lost_text, step_text
from crag.runtime.jobs import Job
from ui.access.current import Presence
from ui.app import clicks, fragments
from ui.components import problems

_LOOKS: Mapping[Found, str] = {
    "unchanged": "unchanged",
    "replaced": "changed and replaced",
    "changed": "changed",
    "duplicate": "like another document",
    "gone": "gone",
    "refused": "only for those who sign in",
    "unreachable": "not reached",
    "unreadable": "not readable",
    "moved": "moved",
    "removed": "deleted",
}

_MEASURED = 3.0
"""Seconds of work after which its rate is worth an estimate."""
_STILL = 2.0
"""Seconds without news after which it is said how long the step has taken."""
_IN_VIEW, _HEIGHT = 8, 300
"""Files that are listed without scrolling, and pixels of a longer list."""
_RENEWED = 3.0
"""Seconds after which the whole page is drawn again while documents are added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesChosen:
    """An upload begins; the files are added in this order, and each ends in one result.

    `sizes`: their bytes, where they are known. `began`: when, by `time.monotonic`.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...] = ()
    began: float = field(default_factory=time.monotonic)


UploadEvent = IngestEvent | FilesChosen


@dataclass
class Progress:
    """The fold over an upload's events, of which it has folded `heard`. Results come in the files' order.

    `step`: of the file that is read; `embedding`: how far the vectors of all are, and `failure`: why no more are made.
    `began` and `since`: when the upload began, and when it was last heard of, by `time.monotonic`.
    """

    names: tuple[str, ...] = ()
    results: list[IngestEnd] = field(default_factory=list)
    step: IngestStep | None = None
    embedding: Embedding | None = None
    failure: EmbeddingFailed | None = None
    sizes: tuple[int, ...] = ()
    began: float | None = None
    since: float = field(default_factory=time.monotonic)
    heard: int = 0

    def apply(self, events: Iterable[UploadEvent], now: float | None = None) -> None:
        for event in events:
            self.heard += 1
            self.since = time.monotonic() if now is None else now
            match event:
                case FilesChosen():
                    self.names, self.sizes, self.began = event.names, event.sizes, event.began
                case DocumentAdded() | DuplicateFound() | DocumentFailed() | DocumentRefreshed():
                    self.results.append(event)
                    self.step = None
                case ReadingQueued() | ReadingPage() | RecognisingPage():
                    self.step = event
                case Embedding():
                    self.embedding = event
                case EmbeddingFailed():
                    self.failure = event
                case _:
                    assert_never(event)

    @property
    def total(self) -> int:
        attached = len(self.results) - self.ended
        return max(len(self.names) + attached, len(self.results) + (self.step is not None))

    @property
    def ended(self) -> int:
        """How many of the files that were given have a result; what came attached to them stands between these."""
        return sum(not result.attached_to for result in self.results)

    @property
    def waiting(self) -> Sequence[str]:
        """The files behind the one under way."""
        return self.names[self.ended + 1 :]

    def share(self) -> float:
        """How much is done, 0..1: reading the files, by their sizes, is half of it, their vectors are the other."""
        embedded = self.embedding.done / max(1, self.embedding.total) if self.embedding else 0.0
        if not self.total:
            return embedded
        sizes = self._weights()
        read = (sum(sizes[: len(self.results)]) + self._under_way(sizes)) / sum(sizes)
        return min(1.0, read) / 2 + embedded / 2

    def seconds_left(self, now: float) -> float | None:
        """How long the reading of several files still takes at the rate so far; None where there is no rate yet.

        Files that were in the library already took no time, so they say nothing of it.
        """
        if self.began is None or self.total < 2 or now - self.began < _MEASURED:
            return None
        sizes = self._weights()
        read = [not isinstance(result, DuplicateFound) for result in self.results]
        here = self._under_way(sizes)
        done = sum(size for size, took in zip(sizes, read, strict=False) if took) + here
        left = sum(sizes[len(read) :]) - here
        return (now - self.began) / done * left if done and left > 0 else None

    def _weights(self) -> Sequence[float]:
        """How much of the work each file is."""
        if len(self.sizes) == self.total:
            return [max(1, size) for size in self.sizes]
        return [1.0] * self.total

    def _under_way(self, sizes: Sequence[float]) -> float:
        """What is done of the file under way."""
        at = len(self.results)
        return _share(self.step) * sizes[at] if at < len(sizes) else 0.0

    def count(self, kind: type[IngestEnd]) -> int:
        return sum(isinstance(result, kind) for result in self.results)


def follow(session: Presence, job: Job[UploadEvent], close: Callable[[], None] | None = None) -> None:
    """Draw progress until the job is over; then the whole page is drawn again, with what came of it.

    After documents or vectors came in, not too often, the whole page is drawn again as well, so that every count on it
    is of one state. `close` is what a person does who has seen the results.
    """
    running, progress, drawn_at = job.running, Progress(), time.monotonic()
    progress.apply(job.events())
    shown = progress.count(DocumentAdded), progress.embedding

    def goes_on() -> bool:
        running = job.running
        progress.apply(job.events()[progress.heard :])
        news = (progress.count(DocumentAdded), progress.embedding) != shown
        renew = news and time.monotonic() - drawn_at > _RENEWED
        return running and not renew

    if running:
        fragments.follow(session, goes_on, partial(_show_live, session, job, progress))
        return
    if progress.total > 1:
        st.markdown(_lead(progress))
    _list(progress, running=False)
    if progress.failure is not None:
        said = f"{progress.failure.message} {progress.failure.remedy}"
        st.warning(markdown(f"Some documents are found by their words alone: {said}"))
    if job.problem:
        problems.show(job.problem)
    elif not progress.results:
        st.success(f"Done: {job.label}.")
    elif close is not None:
        st.button("Close this list", key="upload-close", type="tertiary", on_click=close)


def _show_live(session: Presence, job: Job[UploadEvent], progress: Progress) -> None:
    lead, step = describe(progress, job.label)
    st.progress(progress.share(), lead)
    st.caption(step)
    if session.may("edit"):
        clicks.stop_button(session, [job], "upload-stop", "Files that are already added stay.")
    _list(progress, running=True)


def _list(progress: Progress, *, running: bool) -> None:
    if rows := files(progress, running):
        look: dict[str, Any] = {"border": "horizontal", "hide_index": True, "hide_header": True, "width": "content"}
        st.table(rows, height="content" if len(rows) <= _IN_VIEW else _HEIGHT, alt="The files added", **look)


def describe(progress: Progress, label: str, now: float | None = None) -> tuple[str, str]:
    """How far an upload is, as Markdown: what became of its files, and how long the rest takes; the file under way.

    `now`: by `time.monotonic`.
    """
    now = time.monotonic() if now is None else now
    lead = f"**{markdown(label)}**"
    if progress.total > 1:
        left = progress.seconds_left(now)
        lead = _lead(progress, f"{len(progress.results):,} of ") + (f" · {left_text(left)}" if left is not None else "")
    at = progress.ended
    step = progress.step or (progress.embedding if at >= len(progress.names) else None)
    name = step.name if step else progress.names[at] if at < len(progress.names) else label
    waits = "updating the search index" if 0 < len(progress.names) <= at else "starting"
    said = step_text(step) if step else waits
    still = int(now - progress.since)
    return lead, f"**{markdown(name)}** {said}{f' · {still} s' if still >= _STILL else ''}"


def _lead(progress: Progress, done: str = "") -> str:
    counted = ", ".join(_counts(progress))
    return f"**{done}{words.count(progress.total, 'file')}**{f': {counted}' if counted else ''}"


def _counts(progress: Progress) -> list[str]:
    """What became of the files, in words: the failed first."""
    kinds = ((DocumentFailed, "failed"), (DuplicateFound, "in the library already"), (DocumentAdded, "added"))
    counted = [(progress.count(kind), said) for kind, said in kinds]
    looks = Counter(_LOOKS[each.found] for each in progress.results if isinstance(each, DocumentRefreshed))
    return [
        f"{count:,} {said}" for count, said in [*counted, *((count, said) for said, count in looks.items())] if count
    ]


def _share(step: IngestStep | None) -> float:
    match step:
        case ReadingPage():
            return step.page / max(1, step.pages)
        case RecognisingPage():
            return (step.page - 1) / max(1, step.pages)
        case _:
            return 0.0


def files(progress: Progress, running: bool) -> list[dict[str, str]]:
    """A row for each file: the failed first, then what was not needed, what came in, and what still waits."""
    ended = [_row(event) for event in sorted(progress.results, key=_order)]
    waiting = progress.waiting if running else ()
    return [*ended, *({"File": f"… {markdown(name)}", "Result": "waiting"} for name in waiting)]


def _order(result: IngestEnd) -> int:
    match result:
        case DocumentFailed():
            return 0
        case DuplicateFound() | DocumentRefreshed(found="unchanged"):
            return 2
        case DocumentAdded() | DocumentRefreshed(found="replaced" | "moved" | "removed"):
            return 3
        case _:
            return 1


def _row(event: IngestEnd) -> dict[str, str]:
    sign, said, notes = _result(event)
    result = " ".join(filter(None, (markdown(said), *(f":gray[{markdown(note)}]" for note in notes if note))))
    return {"File": f"{sign} **{markdown(event.name)}**", "Result": result}


def _result(event: IngestEnd) -> tuple[str, str, Sequence[str]]:
    """A sign, what became of the file, and what else is to be said."""
    match event:
        case DocumentAdded():
            found = event.document
            facts = (
                f"{words.count(found.pages, 'page')}, {words.count(found.chunks, 'chunk')}, "
                f"{words.format_duration(found.seconds)}"
            )
            return "✓", f"Added: {facts}", found.warnings
        case DuplicateFound():
            same = "under this name" if event.document.name == event.name else f"as {event.document.name}"
            return "=", f"Already in the library, {same}; nothing was added", ()
        case DocumentFailed():
            return "!", event.message, (event.remedy,)
        case DocumentRefreshed(found="unchanged"):
            return "=", "Unchanged", ()
        case DocumentRefreshed(found="replaced"):
            lost = lost_text(event.lost_labels, event.lost_records, event.lost_verified)
            return "✓", "Changed: the new text replaces the old one", (words.sentence(lost),)
        case DocumentRefreshed(found="moved"):
            return "✓", "Moved: its document has the new path", (event.message,)
        case DocumentRefreshed(found="removed"):
            return "✓", "Deleted: its file is gone", ()
        case DocumentRefreshed():
            return "!", event.message, (event.remedy, "The document stays as it is.")
        case _:
            assert_never(event)
