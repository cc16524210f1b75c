"""Notices above a page: a limit that is near, files that were refused."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection

import streamlit as st

from crag.core.errors import CragError
from crag.export.html.safe_text import markdown
from crag.text.formats import count
from ui.app.program import program
from ui.components import script_context

ASKING = ("all_questions_minute", "all_dollars_day")
ADDING = ("all_mb",)
NEAR = 0.8
"""The share of a limit from which on it is near."""


def near(of: Collection[str]) -> None:
    """One quiet line for each of these limits of which four fifths are used; nothing of others."""
    try:
        found = program().engine.teams.quotas.standings()
    except CragError:
        found = []  # what can't be read is said where it matters
    for each in found:
        if each.setting in of and each.share >= NEAR:
            st.caption(markdown(f"{each.title}: {each.text}."))


_LOOK_EVERY = 3.0
"""Between two looks of a page where files are dropped."""
_MOST = 1000
"""Sessions that are waited for; a tab that is gone never asks."""

_waiting: dict[str, Counter[str]] = {}
_lock = threading.Lock()


def put_message(session: str, line: str) -> None:
    """A file of this session was refused: the page where it was dropped says so within seconds."""
    with _lock:
        if session not in _waiting and len(_waiting) >= _MOST:
            del _waiting[next(iter(_waiting))]
        _waiting.setdefault(session, Counter())[line] += 1


def show_messages() -> None:
    """Says what there is for this tab, once: it stays until the person closes it."""
    with _lock:
        found = _waiting.pop(script_context.session_id(), Counter[str]())
    for line, files in found.items():
        said = f"{count(files, 'file')} {'was' if files == 1 else 'were'} not accepted. {line}"
        st.toast(markdown(said), duration="infinite")


@st.fragment(run_every=_LOOK_EVERY)
def watch_messages() -> None:
    """Beside a place where files are dropped: says it while nobody touches the page."""
    show_messages()
