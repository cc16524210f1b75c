"""Adding documents: where they are dropped, and the jobs that read and index them."""

from __future__ import annotations

import secrets
import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from pathlib import PurePosixPath

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from crag.core.metadata import kept_from_web
from crag.export.html import words
from crag.export.html.safe_text import markdown
from crag.ingest.files import ENDINGS, safe_name
from crag.messages.providers import embedding_sentence
from crag.runtime.jobs import Job, JobFunction
from crag.storage.in_flight import InFlightJob
from ui.app import clicks, guide, notices, open_tabs
from ui.app.clicks import once, requires
from ui.app.program import program
from ui.app.session import REFUSALS, Session
from ui.components import problems, script_context
from ui.documents.listing import Held
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
    """Begin adding the sample's report. Raises CragError."""
    sample = program().engine.sample()
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
        said = f"{what}, {words.ago(work.at)}. Stored by then: {stored}. Add these again:"
    with st.container(key=f"cut-off-{work.id}"):
        st.warning(f"{said} {', '.join(markdown(name) for name in missing[:_NAMED])}".strip())
        if len(missing) > _NAMED:
            with st.expander(f"{len(missing) - _NAMED:,} more"):
                st.caption(", ".join(markdown(name) for name in missing[_NAMED:]))
        if session.may("edit"):
            clicks.button("Close", f"close-cut-off-{work.id}", _close_notice, session, work.id, type="tertiary")


@requires("edit")
def _close_notice(session: Session, id: str) -> None:
    session.library.in_flight.finish(id)


_HOW = "drop-how"
_FILES, _FOLDER, _PAGES = "Files", "A folder", "Web pages"


def drop_zone(session: Session) -> None:
    """Files, or a folder with all that is in it, of which only what can be read is sent; or web pages.

    It says so to a person who may not add documents.
    """
    if not session.may("edit"):
        if not guide.stuck(session):  # where it is, the page says it
            st.caption(REFUSALS["edit"])
        return
    # A tab that came back still shows the files of its lost session: a place of this session's own shows none.
    turn = state().turns.setdefault("drop", secrets.randbelow(10**9))
    with problems.reported():
        most = min(program().config.limits.max_file_mb, int(st.get_option("server.maxUploadSize")))
        if said := embedding_sentence(session.resolve_providers()):
            st.caption(markdown(said))
        how = st.segmented_control(
            "Add", [_FILES, _FOLDER, _PAGES], default=_FILES, required=True, key=_HOW, label_visibility="collapsed"
        )
        if how == _PAGES:
            page_box(session)
            return
        notices.near(notices.ADDING)
        notices.watch_messages()
        dropped = st.file_uploader(
            f"Add documents, up to {most} MB each" if how == _FILES else f"Add a folder, files up to {most} MB each",
            type=list(ENDINGS),
            accept_multiple_files=True if how == _FILES else "directory",
            max_upload_size=most,
            key=f"drop-{turn}-{how}",
        )
        if dropped:
            there = {document.name for document in session.library.documents.all()}
            names = distinguish([file.name for file in dropped], there)
            files = [(name, reader(file)) for name, file in zip(names, dropped, strict=True)]
            start(session, files, words.count(len(files), "file"), [file.size for file in dropped])
            state().turns["drop"] += 1
            st.rerun()


def distinguish(paths: Sequence[str], there: Collection[str] = ()) -> list[str]:
    """A name for each path: that of the file, with as many of the folders around it as tell it from the others.

    `there`: names that are taken already.
    """
    parts = [PurePosixPath(path.replace("\\", "/")).parts or (path,) for path in paths]
    depths = [1] * len(parts)
    while True:
        names = [_name(each[-depth:]) for each, depth in zip(parts, depths, strict=True)]
        counts = Counter(names)
        more = [
            at for at, name in enumerate(names) if (counts[name] > 1 or name in there) and depths[at] < len(parts[at])
        ]
        if not more:
            return names
        for at in more:
            depths[at] += 1


def _name(parts: Sequence[str]) -> str:
    return " - ".join(safe_name(part) for part in parts)


_TYPED = "page-addresses"


def page_box(session: Session) -> None:
    """Where addresses are typed or pasted, one a line; a click fetches them."""
    with st.form("add-pages", border=True, clear_on_submit=True):
        typed = st.text_area(
            "Add web pages",
            key=_TYPED,
            height=110,
            placeholder="https://example.org/report\nhttps://example.org/help",
            help="One address per line. CRAG Explorer fetches each now and reads it as a page, a PDF or text. "
            "Scripts are not run.",
        )
        if st.form_submit_button("Fetch and add", type="primary"):
            addresses = list(dict.fromkeys(line.strip() for line in typed.splitlines() if line.strip()))
            if addresses:
                with problems.reported():
                    _add(session, addresses)
                    st.rerun()


def refetch_button(session: Session, selected: Sequence[Held]) -> None:
    """Fetches the selected documents that are what stands at an address again; nothing where none is."""
    found = [held.document for held in selected if held.document.url and not kept_from_web(held.given)]
    if not found:
        return
    clicks.button(
        "Fetch again" if len(found) == len(selected) else f"Fetch {words.count(len(found), 'web page')} again",
        "documents-again",
        once(_again),
        session,
        [document.id for document in found],
        [document.name for document in found],
        help="Checks whether the page has changed, and replaces this text if it has.",
    )


def _add(session: Session, addresses: Sequence[str]) -> None:
    pages, workspace = program().engine.pages, session.workspace
    label = words.count(len(addresses), "web page")
    index(session, label, addresses, lambda cancel: pages.add(addresses, workspace, cancel=cancel))


@requires("edit")
def _again(session: Session, ids: Sequence[str], names: Sequence[str]) -> None:
    pages, workspace = program().engine.pages, session.workspace
    label = words.count(len(ids), "web page")
    index(session, label, names, lambda cancel: pages.refresh(workspace, ids, cancel=cancel))
