"""The browser tabs that this process serves, and which show which workspace, so that one's do not take every place."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import streamlit as st

from ui.components import script_context

HEADER = "x-crag-tab"
"""The server adds it to the request that opens a tab's connection; its script reads it there."""


def _kept_seconds() -> float:
    return float(st.get_option("server.disconnectedSessionTTL"))


class OpenTabs:
    """Thread-safe. `kept`: seconds for which Streamlit keeps a session whose tab has gone."""

    def __init__(self, kept: Callable[[], float] = _kept_seconds, now: Callable[[], float] = time.monotonic) -> None:
        self._kept, self._now, self._lock = kept, now, threading.Lock()
        self._sessions: dict[str, str] = {}
        """By open tab its session; "" until its script has run."""
        self._left: dict[str, float] = {}
        """The sessions whose tab has gone, and until when they are kept."""

    @contextmanager
    def opened(self) -> Iterator[str]:
        """The name of a new tab, for as long as it is open."""
        tab = secrets.token_hex(16)
        with self._lock:
            self._sessions[tab] = ""
        try:
            yield tab
        finally:
            with self._lock:
                now = self._now()
                self._left = {session: until for session, until in self._left.items() if until > now}
                if session := self._sessions.pop(tab):
                    self._left[session] = now + self._kept()

    def note(self) -> None:
        """Called by each script: which session its tab shows."""
        tab, session = current(), script_context.session_id()
        with self._lock:
            if tab in self._sessions:
                self._sessions[tab] = session

    def alive(self, session: str) -> bool:
        """Whether the session of this id is shown by a tab, or kept for one that may come back."""
        with self._lock:
            return session in self._sessions.values() or self._left.get(session, 0.0) > self._now()


def current() -> str:
    """The tab whose script runs; "" outside of a server."""
    return str(st.context.headers.get(HEADER) or "")


tabs = OpenTabs()
"""Of this process."""


class HeldUploads:
    """Bytes by session and file. Thread-safe. `alive` says whether there is still a session of this id."""

    def __init__(self, alive: Callable[[str], bool] = tabs.alive) -> None:
        self._alive, self._lock = alive, threading.Lock()
        self._files: dict[str, dict[str, int]] = {}

    def keep(self, session: str, file: str, size: int) -> None:
        """Streamlit has taken this file in."""
        with self._lock:
            self._files.setdefault(session, {})[file] = size

    def forget(self, session: str, file: str) -> None:
        """Streamlit holds this file no longer."""
        with self._lock:
            self._files.get(session, {}).pop(file, None)

    def bytes(self, session: str = "") -> int:
        """What is held for one session, or for all."""
        with self._lock:
            self._files = {id: files for id, files in self._files.items() if files and self._alive(id)}
            chosen = [self._files.get(session, {})] if session else self._files.values()
            return sum(size for files in chosen for size in files.values())


uploads = HeldUploads()
"""Of this process."""
