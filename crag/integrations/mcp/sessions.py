"""The sessions of each token: how many a token may have open, and which one ends for a new one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from crag.runtime.limits import Shares

__all__ = ["Sessions"]


class Sessions:
    """Open sessions by caller. A session is idle while no request of it is under way. Belongs to one event loop."""

    def __init__(self, whole: int, callers: int) -> None:
        self._shares = Shares(whole, callers)
        self._open: dict[int, OrderedDict[str, int]] = {}
        """The requests under way in each session of a caller, the session that was used longest ago first."""

    async def reserve(self, caller: int, end: Callable[[str], Awaitable[None]]) -> bool:
        """Take a place for a new session; the idle ones that were used longest ago `end` for it.

        False where the caller has as many as it may, and all are in use.
        """
        while not self._shares.take(caller):
            idle = next((id for id, requests in self._open.get(caller, {}).items() if not requests), None)
            if idle is None:
                return False
            self.forget(caller, idle)
            await end(idle)
        return True

    def release(self, caller: int) -> None:
        """Free a place that was reserved, where no session was opened."""
        self._shares.give_back(caller)

    def add(self, caller: int, id: str) -> None:
        """The session of this id was opened in the place that was reserved. The request that opens it is under way."""
        self._open.setdefault(caller, OrderedDict())[id] = 1

    def forget(self, caller: int, id: str) -> None:
        """The session has ended. Does nothing for one that is not known."""
        known = self._open.get(caller, OrderedDict())
        if known.pop(id, None) is not None:
            self._shares.give_back(caller)
            if not known:
                del self._open[caller]

    @contextmanager
    def using(self, caller: int, id: str) -> Iterator[None]:
        """A request of the session is under way, until the end of the block. Does nothing for one that is not known."""
        known = self._open.get(caller, OrderedDict())
        counted = id in known
        if counted:
            known[id] += 1
            known.move_to_end(id)
        try:
            yield
        finally:
            if counted:
                self.leave(caller, id)

    def leave(self, caller: int, id: str) -> None:
        """A request of the session has ended. Does nothing for one that has ended meanwhile."""
        known = self._open.get(caller, OrderedDict())
        if id in known:
            known[id] -= 1
