"""The log of refused requests: each of the first ones of a minute, and how many more there were."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable

from starlette.types import Scope

from ui.edge.headers import values

__all__ = ["RefusalLog"]

LOG = logging.getLogger(__name__)
_LOGGED = 20
"""Refusals of a minute that have a line each. Strangers can't fill the log, and never silence it."""
_SECONDS = 60.0


def _later(job: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_later(_SECONDS, job)


class RefusalLog:
    """Belongs to one event loop. `later` calls a function when a minute is over."""

    def __init__(self, later: Callable[[Callable[[], None]], object] = _later) -> None:
        self._later = later
        self._seen = 0
        self._more: Counter[str] = Counter()

    def note(self, scope: Scope, why: str) -> None:
        """A request was refused."""
        self._seen += 1
        if self._seen == 1:
            self._later(self._sum_up)
        if self._seen > _LOGGED:
            self._more[why] += 1
            return
        host, origin = (" ".join(values(scope, name))[:100] for name in (b"host", b"origin"))
        LOG.warning("Refused: host %r, origin %r. %s", host, origin, why)

    def _sum_up(self) -> None:
        for why, count in self._more.items():
            LOG.warning("Refused within a minute: %d more requests. %s", count, why)
        self._seen = 0
        self._more.clear()
