"""The log of refused requests: each of the first ones of a minute, and how many more there were."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable

from starlette.types import Scope

from crag.runtime.origins import Foreign
from ui.server.headers import values

LOG = logging.getLogger(__name__)
_LOGGED = 20
"""Refusals of a minute that have a line each. Strangers can't fill the log, and never silence it."""
_SECONDS = 60.0
_REMEDIES = {
    Foreign.HOST: "Behind a proxy set CRAG_WORKSPACES=private, or name all hosts in STREAMLIT_SERVER_ALLOWED_HOSTS, "
    "blanks between them; then start again.",
    Foreign.PAGE: "Its owner can name theirs in STREAMLIT_SERVER_CORS_ALLOWED_ORIGINS.",
    Foreign.NETWORK: "To serve others, start it with --server.address.",
}


def explain(why: Foreign | None) -> str:
    """The refusal, and what the server's owner can do; "" where there is none."""
    return f"{why} {_REMEDIES[why]}" if why else ""


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
