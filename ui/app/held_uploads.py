"""The uploads that Streamlit holds in memory: counted as they come, until they are read or their tab has gone."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ui.app.open_tabs import tabs


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
