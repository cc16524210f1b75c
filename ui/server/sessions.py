"""Sessions whose browser has gone, kept a while in case it comes back: as many as there are files for, and ended well.

Each holds three open files. Streamlit's own store keeps 128 of them whatever the process may open, and leaves it to
chance when the files of those it drops are closed.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from streamlit import runtime
from streamlit.runtime import memory_session_storage
from streamlit.runtime.session_manager import SessionInfo, SessionStorage

_MOST, _LEAST = 128, 4
_SHARE = 16
"""Of so many files that may be open, one session is kept: three of sixteen files at most are theirs."""


def room_for(files: int) -> int:
    """How many sessions are kept by a process that may open so many files."""
    return max(_LEAST, min(_MOST, files // _SHARE))


def keep(most: int) -> Callable[[str], bool]:
    """From now on Streamlit keeps sessions in `KeptSessions`. Returns what says whether there is one of an id."""
    made: list[KeptSessions] = []

    def make(ttl_seconds: float) -> KeptSessions:
        made.append(KeptSessions(most, ttl_seconds))
        return made[-1]

    def alive(session_id: str) -> bool:
        active = runtime.exists() and runtime.get_instance().is_active_session(session_id)
        return active or any(each.knows(session_id) for each in made)

    memory_session_storage.MemorySessionStorage = make  # type: ignore[misc,assignment]
    return alive


class KeptSessions(SessionStorage):
    """The sessions by id, the longest gone first. Used on the server's event loop alone."""

    def __init__(self, most: int, ttl_seconds: float) -> None:
        self._most, self._seconds = most, ttl_seconds
        self._kept: OrderedDict[str, tuple[float, SessionInfo]] = OrderedDict()

    def get(self, session_id: str) -> SessionInfo | None:
        """The session, if its browser has not been gone for too long."""
        self._drop()
        found = self._kept.get(session_id)
        return found[1] if found else None

    def save(self, session_info: SessionInfo) -> None:
        """Keep a session whose browser has just gone."""
        id = session_info.session.id
        self._kept.pop(id, None)
        self._kept[id] = (time.monotonic() + self._seconds, session_info)
        self._drop()

    def knows(self, session_id: str) -> bool:
        """Whether the session is kept; whoever asks takes nothing up."""
        return session_id in self._kept

    def delete(self, session_id: str) -> None:
        """Forget a session: it has been taken up again, or ended."""
        self._kept.pop(session_id, None)

    def list(self) -> list[SessionInfo]:  # the protocol's own name
        """All that are kept, the longest gone first."""
        self._drop()
        return [session for _, session in self._kept.values()]

    def _drop(self) -> None:
        """Ends those that have been gone for too long, and what is too much."""
        now = time.monotonic()
        while self._kept:
            id, (until, session) = next(iter(self._kept.items()))
            if len(self._kept) <= self._most and until > now:
                return
            del self._kept[id]
            session.session.shutdown()
