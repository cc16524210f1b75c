"""What the server has to tell one tab that no script of it knows: files that were refused on their way here."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter

import streamlit as st
from streamlit import runtime
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner import get_script_run_ctx

from crag.text.formats import count
from ui.components.safe_text import markdown

_SOON, _TRIES = 1.0, 30
"""Seconds after a refusal until the tab is told, so that it is told of all files of one drop at once; and how often it
is tried while its script runs, which tells it by itself."""
_MOST = 1000
"""Sessions that are waited for; a tab that is gone never asks."""

_waiting: dict[str, Counter[str]] = {}
_lock = threading.Lock()


def put(session: str, line: str) -> None:
    """A file of this session was refused. Its page tells it within seconds. Called on the server's event loop."""
    with _lock:
        new = session not in _waiting
        if new and len(_waiting) >= _MOST:
            del _waiting[next(iter(_waiting))]
        _waiting.setdefault(session, Counter())[line] += 1
    if new and _session(session) is not None:
        asyncio.get_running_loop().call_later(_SOON, _draw, session, _TRIES)


def show() -> None:
    """Tells what there is for this tab, once: it stays until the person closes it."""
    context = get_script_run_ctx()
    with _lock:
        found = _waiting.pop(context.session_id, None) if context is not None else None
    for line, files in (found or {}).items():
        said = f"{count(files, 'file')} {'was' if files == 1 else 'were'} not accepted. {line}"
        st.toast(markdown(said), duration="infinite")


def _draw(session: str, tries: int) -> None:
    """Has the tab drawn anew as it stands, if nothing it did meanwhile has told it yet. Never while its script runs:
    that would end what it is just beginning."""
    found = _session(session)
    if session not in _waiting or found is None:
        return
    if _running(found):
        if tries:
            asyncio.get_running_loop().call_later(_SOON, _draw, session, tries - 1)
        return
    as_it_stands = ClientState()
    as_it_stands.CopyFrom(found._client_state)
    as_it_stands.fragment_id = ""  # the whole page: a piece of it tells nothing
    found.request_rerun(as_it_stands)


def _running(session: AppSession) -> bool:
    return session._scriptrunner is not None


def _session(session: str) -> AppSession | None:
    return runtime.get_instance().get_app_session(session) if runtime.exists() else None
