"""A folder on this machine that the library follows: what differs is shown, and brought in step with one press."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import streamlit as st

from crag.core.errors import AccessError
from crag.core.ingesting import DocumentRefreshed, IngestEvent
from crag.export.html import words
from crag.export.html.safe_text import markdown
from crag.messages.documents import folder_text
from crag.pipeline.folders import FileState, FolderComparison, FolderFile
from ui.app import tables
from ui.app.clicks import once, requires
from ui.app.program import program
from ui.app.session import Session
from ui.components import problems
from ui.documents import uploads
from ui.documents.listing import holdings
from ui.documents.state import state

_REMOVE = "folder-remove"
_ADDED: tuple[FileState, ...] = ("new", "changed", "moved")
_WHAT: Mapping[FileState, str] = {
    "new": "New: it will be added",
    "changed": "Changed: its new text will replace the old one",
    "moved": "Moved: its document gets the new path",
    "gone": "Gone: no file in the folder has this content",
    "duplicate": "The same content as another file",
    "unreadable": "It can't be read",
    "too large": "Too large",
}


def panel(session: Session) -> None:
    """Where a folder is named and compared. Only where its owner alone reaches the app: a path tells of the machine."""
    if session.shared or not session.may("edit"):
        return
    with st.expander("Keep a folder in step", key="folder-panel"), problems.reported():
        st.caption("Compares a folder on this machine with the documents that came from it. Comparing changes nothing.")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            typed = st.text_input(
                "Folder on this machine", _usual_folder(session), key="folder-path", placeholder="/path/to/folder"
            )
            look = st.button("Look", key="folder-look", disabled=not typed.strip())
        if look:
            state().folder = None
            _require_owner(session)
            with st.spinner("Looking at the files…"):
                found = program().engine.compare_folder(Path(typed.strip()), session.workspace)
            state().folder = found
        if (compared := state().folder) is not None:
            _preview(session, compared)


def _usual_folder(session: Session) -> str:
    """The folder that holds all documents whose files are known; empty where there is none."""
    places = [os.path.dirname(held.document.path) for held in holdings(session) if held.document.path]
    try:
        return os.path.commonpath(places) if places else ""
    except ValueError:  # of two drives
        return ""


def _require_owner(session: Session) -> None:
    """Raises AccessError."""
    session.require("edit")
    if session.shared:
        raise AccessError("Only the owner of this machine may name a folder of it.", "Add its files above.")


def _preview(session: Session, compared: FolderComparison) -> None:
    """What differs, what may go, and the button that does it."""
    st.markdown(f"**{markdown(compared.folder)}**: {markdown(folder_text(compared))}.")
    differing = compared.of(*_ADDED, "duplicate", "unreadable", "too large")
    if differing:
        tables.plain([_row(compared, each) for each in differing], "folder-files", "The files that differ")
    gone = compared.of("gone")
    if gone:
        tables.plain([_row(compared, each) for each in gone], "folder-gone", "Documents whose files are gone")
        st.checkbox(f"Also delete what is gone ({words.count(len(gone), 'document')})", key=_REMOVE)
    if gone or compared.of(*_ADDED):
        st.button("Update the library", key="folder-bring", type="primary", on_click=once(_bring), args=(session,))
    elif compared.files:
        st.caption("The library is in step with the folder.")


def _row(compared: FolderComparison, file: FolderFile) -> dict[str, str]:
    what = _WHAT[file.state] + (f": {file.problem}" if file.problem else "")
    return {"File": compared.name(file), "What": what, "Size": words.format_size(file.size) if file.size else ""}


@requires("edit")
def _bring(session: Session) -> None:
    """Start adding, replacing and moving; deleting too, where the tick says so."""
    _require_owner(session)
    compared, state().folder = state().folder, None
    if compared is None:
        return
    states = (*_ADDED, "gone") if st.session_state.get(_REMOVE) else _ADDED
    files = [each for wanted in states for each in compared.of(wanted)]
    names = [compared.name(each) for each in files]
    files += compared.of("unchanged")
    audit = program().engine.teams.audit
    deleted = partial(audit.note, "delete", session.visitor.name, workspace=session.workspace, what="document")

    def synced(cancel: threading.Event) -> Iterator[IngestEvent]:
        for event in program().engine.sync_files(files, workspace, cancel):
            if isinstance(event, DocumentRefreshed) and event.found == "removed":
                deleted(detail=event.name)
            yield event

    workspace = session.workspace
    uploads.index(session, words.count(len(names), "file"), names, synced, [each.size for each in files[: len(names)]])
