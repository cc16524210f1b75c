"""What a monitor of the app may ask: whether it lives, whether it is ready, and its metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from crag.analysis.monitoring.health import Health
from crag.analysis.monitoring.metrics import Metrics, Sources, standing
from crag.core.errors import CragError
from crag.core.trace import Trace
from crag.integrations.scraping import Scraping
from crag.providers.prices import Prices, usable
from ui.app.program import program
from ui.server.body_limits import Uploads


class Watch:
    """Answers for one process. What may take long is done in threads, so that nobody's page waits for it."""

    def __init__(
        self,
        health: Health,
        scraping: Scraping,
        uploads: Uploads,
        tabs: Callable[[], int],
        most_tabs: Callable[[], int],
    ) -> None:
        """`tabs`: how many are open; `most_tabs`: how many may be at once, 0 for no limit."""
        self._health, self._scraping = health, scraping
        sources = {**_standing(health), **_of_the_app(uploads, tabs, most_tabs)}
        self._metrics = Metrics(_prices, sources) if scraping.on else None

    def begin(self) -> None:
        """From now on runs are counted, where anybody may read the counts."""
        if self._metrics is not None:
            program().watch(self._count)

    async def ready(self) -> Response:
        """200 where it can be asked, else 503 with the names of what is missing. Who asks first begins the loading."""
        lacking = await asyncio.to_thread(self._lacking)
        if lacking:
            return JSONResponse(
                {"status": "not ready", "lacking": lacking}, 503, {"retry-after": "2", "cache-control": "no-store"}
            )
        return JSONResponse({"status": "ready"}, headers={"cache-control": "no-store"})

    async def metrics(self, scope: Scope) -> Response:
        """The metrics, for who may have them."""
        return await asyncio.to_thread(self._scraping.reply, Request(scope), self._metrics)

    def _lacking(self) -> tuple[str, ...]:
        try:
            _ = program().engine
        except CragError:
            return ("settings",)
        return self._health.lacking(models=program().ready)

    def _count(self, trace: Trace) -> None:
        if self._metrics is not None:
            self._metrics.watch(trace)


def audited(why: str) -> None:
    """A refused request for the metrics, noted in the audit log, once there is an engine."""
    engine = program().made
    if engine is not None:
        engine.teams.audit.note("scrape", "visitor", what="/metrics", detail=why, refused=True)


def _prices() -> Prices:
    return usable(program().config.providers.prices)


def _standing(health: Health) -> Sources:
    return standing(lambda: program().made, health, lambda: program().ready)


def _of_the_app(uploads: Uploads, tabs: Callable[[], int], most_tabs: Callable[[], int]) -> Sources:
    return {
        "sessions": ("Browser tabs that are open.", lambda: float(tabs())),
        "sessions_limit": ("Browser tabs that may be open at once; 0 for no limit.", lambda: float(most_tabs())),
        "upload_bytes": ("Bytes of uploads that are on their way or not yet read.", lambda: float(uploads.held)),
    }
