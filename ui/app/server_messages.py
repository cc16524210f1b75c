"""What the server has to say to one tab that no script of it knows: files that were refused on their way here."""

from __future__ import annotations

import threading
from collections import Counter

import streamlit as st

from crag.text.formats import count
from ui.components import script_context
from ui.components.safe_text import markdown

_SECONDS = 3.0
"""Between two looks of a page where files are dropped."""
_MOST = 1000
"""Sessions that are waited for; a tab that is gone never asks."""

_waiting: dict[str, Counter[str]] = {}
_lock = threading.Lock()


def put(session: str, line: str) -> None:
    """A file of this session was refused: the page where it was dropped says so within seconds."""
    with _lock:
        if session not in _waiting and len(_waiting) >= _MOST:
            del _waiting[next(iter(_waiting))]
        _waiting.setdefault(session, Counter())[line] += 1


def show() -> None:
    """Says what there is for this tab, once: it stays until the person closes it."""
    with _lock:
        found = _waiting.pop(script_context.session_id(), Counter[str]())
    for line, files in found.items():
        said = f"{count(files, 'file')} {'was' if files == 1 else 'were'} not accepted. {line}"
        st.toast(markdown(said), duration="infinite")


@st.fragment(run_every=_SECONDS)
def watch() -> None:
    """Beside a place where files are dropped: says it while nobody touches the page."""
    show()
