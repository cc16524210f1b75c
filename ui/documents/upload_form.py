"""Where files and folders are dropped, or addresses of web pages given; a drop starts adding at once."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import PurePosixPath

import streamlit as st

from crag.core.metadata import kept_from_web
from crag.export.html import words
from crag.ingest.files import ENDINGS, safe_name
from ui.app import guide, notices
from ui.app.clicks import once, requires
from ui.app.program import program
from ui.app.session import REFUSALS, Session
from ui.components import problems
from ui.documents import uploads
from ui.documents.listing import Held
from ui.documents.state import state

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
    if "drop" not in state().turns:
        # A tab that came back still shows the files of its lost session: a new place for files shows none.
        state().turns["drop"] = secrets.randbelow(10**9) if notices.returned() else 0
    turn = state().turns["drop"]
    with problems.reported():
        most = min(program().config.limits.max_file_mb, int(st.get_option("server.maxUploadSize")))
        how = st.segmented_control(
            "Add", [_FILES, _FOLDER, _PAGES], default=_FILES, required=True, key=_HOW, label_visibility="collapsed"
        )
        if how == _PAGES:
            page_box(session)
            return
        notices.near(session, notices.ADDING)
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
            files = [(name, uploads.reader(file)) for name, file in zip(names, dropped, strict=True)]
            uploads.start(session, files, words.count(len(files), "file"), [file.size for file in dropped])
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
    st.button(
        "Fetch again" if len(found) == len(selected) else f"Fetch {words.count(len(found), 'web page')} again",
        key="documents-again",
        on_click=once(_again),
        args=(session, [document.id for document in found], [document.name for document in found]),
        help="Checks whether the page has changed, and replaces this text if it has.",
    )


def _add(session: Session, addresses: Sequence[str]) -> None:
    pages, workspace = program().engine.pages, session.workspace
    label = words.count(len(addresses), "web page")
    uploads.index(session, label, addresses, lambda cancel: pages.add(addresses, workspace, cancel=cancel))


@requires("edit")
def _again(session: Session, ids: Sequence[str], names: Sequence[str]) -> None:
    pages, workspace = program().engine.pages, session.workspace
    label = words.count(len(ids), "web page")
    uploads.index(session, label, names, lambda cancel: pages.refresh(workspace, ids, cancel=cancel))
