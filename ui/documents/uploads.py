"""Adding documents: jobs that read and index files, their progress by file and page, and a line for each result."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import assert_never

import streamlit as st
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile

from crag.core.ingesting import (
    DocumentAdded,
    DocumentFailed,
    DuplicateFound,
    Embedding,
    IngestEvent,
    ReadingPage,
    ReadingQueued,
    RecognisingPage,
)
from crag.core.wording import left_text
from ui.app.jobs import Job
from ui.app.program import program
from ui.app.session import Session
from ui.kit import html as h
from ui.kit import problems, words
from ui.kit.drawing import draw
from ui.kit.html import Html

Result = DocumentAdded | DuplicateFound | DocumentFailed
Progress = ReadingQueued | ReadingPage | RecognisingPage | Embedding


def start(session: Session, files: Sequence[tuple[str, Callable[[], bytes]]], label: str) -> None:
    """Begin adding files, one after another. Raises CragError."""
    engine, workspace = program().engine, session.workspace
    waiting = deque(files)

    def each() -> Iterator[tuple[str, Callable[[], bytes]]]:
        while waiting:
            yield waiting.popleft()  # so that the job, which is kept, holds no file that was read

    def work(cancel: threading.Event, emit: Callable[[IngestEvent], None]) -> None:
        for event in engine.add_files(each(), workspace, cancel=cancel):
            emit(event)

    job: Job[IngestEvent] = program().jobs.start("upload", label, work, workspace=workspace)
    st.session_state.upload = job.id


def reader(file: UploadedFile) -> Callable[[], bytes]:
    """Reads an uploaded file; from then on Streamlit holds it no longer, which would be until the browser leaves."""
    context = get_script_run_ctx()

    def read() -> bytes:
        data = file.getvalue()
        if context is not None and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
            context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)
        return data

    return read


def load_sample(session: Session) -> None:
    """Begin adding the sample's report, and let its pages stand in for the web in this session, unless a web is set."""
    sample = program().engine.sample()
    session.use_sample_web(sample)
    start(session, [(sample.pdf.name, sample.pdf.read_bytes)], "the sample library")


def current(session: Session) -> Job[IngestEvent] | None:
    """The upload of this session, or one of its library that goes on since before a reload."""
    id = st.session_state.get("upload")
    found = program().jobs.get(id, workspace=session.workspace) if id else None
    if found is None:
        found = next(iter(program().jobs.running("upload", workspace=session.workspace)), None)
    return found  # type: ignore[return-value]


def follow(job: Job[IngestEvent], renew: Callable[[bool], None]) -> None:
    """Draw progress until the job is over, then what came of it.

    `renew` draws what the page shows of the library, and is told whether the job goes on: before anything is waited
    for, so that it can be used meanwhile, and again with every document that came in. Any touch interrupts here and
    harms nothing.
    """
    bar, stop, done, ending = st.empty(), st.empty(), st.empty(), st.empty()
    running = job.running
    if running:
        stop.button(
            "Stop" if not job.stopping else "Stopping…",
            key=f"stop-{job.id}",
            on_click=job.stop,
            disabled=job.stopping,
            help="Files that are already added stay.",
        )
        renew(True)
    latest: Progress | None = None
    finished: list[Result] = []
    for fresh in job.follow():
        before = len(finished)
        for event in fresh:
            if isinstance(event, Progress):
                latest = event
            else:
                finished.append(event)
                latest = None
        draw(_progress(latest, job.label, len(finished)) if job.running else None, bar)
        draw(results(finished), done)
        if running and job.running and any(isinstance(event, DocumentAdded) for event in finished[before:]):
            renew(True)
    stop.empty()
    with ending:
        if job.problem:
            problems.show(job.problem)
        elif not finished:
            st.success(f"Done: {job.label}.")
    renew(False)


def _progress(event: Progress | None, label: str, done: int) -> Html:
    if event is None:
        name, said, share = label, "starting", 0.0
    elif isinstance(event, ReadingQueued):
        name, share = event.name, 0.0
        said = f"waits for its turn: {words.count(event.before, 'file')} before it"
    elif isinstance(event, ReadingPage):
        name, said = event.name, f"reading page {event.page} of {event.pages}"
        share = 0.5 * event.page / max(1, event.pages)
    elif isinstance(event, RecognisingPage):
        name = event.name
        said = f"recognising page {event.page} of {event.pages}, {left_text(event.seconds_left)}"
        share = 0.5 * (event.page - 1) / max(1, event.pages)
    else:
        name, said = event.name, f"indexing chunk {event.done:,} of {event.total:,}"
        share = 0.5 + 0.5 * event.done / max(1, event.total)
    finished = f", {words.count(done, 'file')} done" if done else ""
    return h.div("cx", role="status")[
        h.b[name], " ", h.span("quiet num")[f"{said}{finished}"], h.div("progress")[h.i(style=f"width:{share:.0%}")]
    ]


def results(finished: Sequence[Result]) -> Html:
    """One line for each file: what came of it, and what a person should know."""
    return h.div("cx")[[_result(event) for event in finished]] if finished else Html()


def _result(event: Result) -> Html:
    match event:
        case DocumentAdded():
            found = event.document
            facts = (
                f"{words.count(found.pages, 'page')}, {words.count(found.chunks, 'chunk')}, "
                f"{words.duration(found.seconds)}"
            )
            notes = [(h.br, h.span("quiet")[warning]) for warning in found.warnings]
            return _line("✓", event.name, f"Added: {facts}", notes)
        case DuplicateFound():
            same = "under this name" if event.document.name == event.name else f"as {event.document.name}"
            return _line("=", event.name, f"Already in the library, {same}; nothing was added", "")
        case DocumentFailed():
            return _line("!", event.name, event.message, (h.br, h.span("quiet")[event.remedy]))
        case _:
            assert_never(event)


def _line(icon: str, name: str, said: str, notes: object) -> Html:
    return h.div("result")[h.span("icon", aria_hidden="true")[icon], h.span[h.b[name], h.br, said, notes]]
