"""Where files and folders are dropped, or addresses of web pages given; a drop starts adding at once."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import PurePosixPath

import streamlit as st

from crag.ingest.files import ENDINGS, safe_name
from ui.app import guide, limits, server_messages, session_reset
from ui.app.program import program
from ui.app.session import REFUSALS, Session
from ui.components import problems, words
from ui.documents import addresses, uploads
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
        state().turns["drop"] = secrets.randbelow(10**9) if session_reset.returned() else 0
    turn = state().turns["drop"]
    with problems.reported():
        most = min(program().config.limits.max_file_mb, int(st.get_option("server.maxUploadSize")))
        how = st.segmented_control(
            "Add", [_FILES, _FOLDER, _PAGES], default=_FILES, required=True, key=_HOW, label_visibility="collapsed"
        )
        if how == _PAGES:
            addresses.box(session)
            return
        limits.near(session, limits.ADDING)
        server_messages.watch()
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
