"""Adding documents: the jobs that read and index files, and those that the end of the program cut off."""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from crag.export.html import words
from crag.export.html.safe_text import markdown
from crag.ingest.files import safe_name
from crag.runtime.jobs import Job, JobFunction
from crag.storage.runs import InFlightJob
from ui.app import open_tabs
from ui.app.clicks import requires
from ui.app.program import program
from ui.app.session import Session
from ui.components import problems, script_context
from ui.documents.progress import FilesChosen, UploadEvent
from ui.documents.state import state

_ADDRESS = "upload"
"""Names the session's upload in the address, so that a reload finds it again."""


def start(
    session: Session, files: Sequence[tuple[str, Callable[[], bytes]]], label: str, sizes: Sequence[int] = ()
) -> None:
    """Begin adding files, one after another. `sizes`: their bytes, where known. Raises CragError."""
    engine, workspace = program().engine, session.workspace
    waiting, names = deque(files), tuple(safe_name(name) for name, _ in files)

    def each() -> Iterator[tuple[str, Callable[[], bytes]]]:
        while waiting:
            yield waiting.popleft()  # so that the job, which is kept, holds no file that was read

    index(session, label, names, lambda cancel: engine.add_files(each(), workspace, cancel=cancel), sizes)


def index(
    session: Session,
    label: str,
    names: Sequence[str],
    indexed: Callable[[threading.Event], Iterator[UploadEvent]],
    sizes: Sequence[int] = (),
) -> None:
    """Begin adding or changing what these name, as `indexed` does, which gives the events."""

    def work(cancel: threading.Event, emit: Callable[[UploadEvent], None]) -> None:
        emit(FilesChosen(names=tuple(names), sizes=tuple(sizes)))
        for event in indexed(cancel):
            emit(event)

    begin(session, label, work, names)


def begin(session: Session, label: str, work: JobFunction[UploadEvent], names: Sequence[str] = ()) -> None:
    """Begin any work on the library, in place of what this session followed before. Raises CragError.

    `names`: the files it is of. A note of it stays in the library until it is over: see `show_interrupted`.
    """
    session.require("edit")
    engine, workspace, who = program().engine, session.workspace, session.visitor.person
    noted = InFlightJob(id=secrets.token_hex(8), kind="upload", label=label, names=tuple(names))

    def kept(cancel: threading.Event, emit: Callable[[UploadEvent], None]) -> None:
        in_flight = engine.library(workspace).in_flight
        in_flight.start(noted)
        try:
            work(cancel, emit)
        finally:
            in_flight.finish(noted.id)

    state().upload = program().jobs.start("upload", label, kept, workspace=workspace, who=who).id


def reader(file: UploadedFile) -> Callable[[], bytes]:
    """Reads an uploaded file; from then on Streamlit holds it no longer, which would be until the browser leaves."""
    session, remove = script_context.session_id(), script_context.upload_remover(file.file_id)

    def read() -> bytes:
        data = file.getvalue()
        remove()
        open_tabs.uploads.forget(session, file.file_id)
        return data

    return read


def load_sample(session: Session) -> None:
    """Begin adding the sample's report, and let its pages stand in for the web in this session, unless a web is set."""
    sample = program().engine.sample()
    session.use_sample_web(sample)
    start(session, [(sample.pdf.name, sample.pdf.read_bytes)], "the sample library")


def current(session: Session) -> Job[UploadEvent] | None:
    """The upload of this session, also after a reload, or else one of its library that is under way."""
    id = state().upload or st.query_params.get(_ADDRESS)
    found = program().jobs.get(id, workspace=session.workspace) if id else None
    if found is None or found.kind != "upload":
        found = next(iter(program().jobs.running("upload", workspace=session.workspace)), None)
    return found  # type: ignore[return-value]


def note_address(job: Job[UploadEvent] | None) -> None:
    """Let the address name this upload, or none."""
    if job is not None:
        st.query_params[_ADDRESS] = job.id
    else:
        st.query_params.pop(_ADDRESS, None)


def forget() -> None:
    """Follow no upload any more; one that is under way goes on."""
    state().upload = ""
    note_address(None)


_NAMED = 20
"""Files that are named at once; the others on demand."""


def show_interrupted(session: Session) -> None:
    """One notice for each, until a person has closed it; nothing where nothing was cut off."""
    with problems.reported():
        found = [work for work in session.library.in_flight.cut_off() if work.kind == "upload"]
        added = {each.name: each.added_at for each in session.library.documents.all()} if found else {}
        for work in found:
            began = datetime.fromisoformat(work.at)
            there = {name for name in work.names if name in added and datetime.fromisoformat(added[name]) >= began}
            _notice(session, work, [name for name in work.names if name not in there])


def _notice(session: Session, work: InFlightJob, missing: list[str]) -> None:
    many, what = len(work.names), f"**CRAG Explorer stopped while working on {markdown(work.label)}**"
    if not many:
        said = f"{what}, {words.ago(work.at)}. What was stored before is unchanged. Start it again if you need it."
    elif not missing:
        said = f"{what}, {words.ago(work.at)}. {'It was' if many == 1 else f'All {many:,} were'} stored by then."
    else:
        stored = f"{many - len(missing):,} of {words.count(many, 'file')}"
        said = f"{what}, {words.ago(work.at)}. Stored by then: {stored}. Add again:"
    with st.container(key=f"cut-off-{work.id}"):
        st.warning(f"{said} {', '.join(markdown(name) for name in missing[:_NAMED])}".strip())
        if len(missing) > _NAMED:
            with st.expander(f"{len(missing) - _NAMED:,} more"):
                st.caption(", ".join(markdown(name) for name in missing[_NAMED:]))
        if session.may("edit"):
            st.button(
                "Close",
                key=f"close-cut-off-{work.id}",
                type="tertiary",
                on_click=_close_notice,
                args=(session, work.id),
            )


@requires("edit")
def _close_notice(session: Session, id: str) -> None:
    session.library.in_flight.finish(id)
