"""What an endpoint is given: the engine, whose request it is, its body, and threads for what blocks."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from contextlib import ExitStack, aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from crag.admin.access import Access, Arrivals, Caller
from crag.analysis.monitoring.health import Health
from crag.analysis.monitoring.metrics import Metrics, standing
from crag.analysis.monitoring.scraping import Scraping, metrics_token
from crag.engine import Engine
from crag.integrations.http.bodies import B, json_body
from crag.integrations.http.limits import Limits, Rates, RequestLimit
from crag.pipeline.work import Work
from crag.providers.prices import usable
from crag.runtime.shares import Shares
from crag.storage.records import server_at

T = TypeVar("T")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ServerState:
    """One server: its engine, who may use it, how much of it, and what is under way."""

    engine: Engine
    access: Access
    limits: Limits
    requests: RequestLimit
    bodies: Shares
    """Bytes of JSON that are here."""
    uploads: Shares
    """Bytes of forms that are here, on the disk."""
    rates: Rates
    arrivals: Arrivals
    work: Work
    ready: threading.Event
    """The models are loaded."""
    health: Health
    scraping: Scraping
    metrics: Metrics | None
    """Where anybody may read them."""

    @classmethod
    def of(cls, engine: Engine, access: Access, limits: Limits) -> ServerState:
        ready, health = threading.Event(), Health.of(engine.config, server_at(engine.config.database_url))
        scraping = Scraping(engine.config.metrics, metrics_token(), not access.asks, partial(_audit_refusal, engine))
        metrics = None
        if scraping.on:
            sources = standing(lambda: engine, health, ready.is_set)
            metrics = Metrics(lambda: usable(engine.config.prices), sources, engine.circuits.open)
            engine.watchers.append(metrics.watch)
        return cls(
            engine=engine,
            access=access,
            limits=limits,
            requests=RequestLimit(limits, access.callers),
            bodies=Shares(limits.bodies_bytes, access.callers, least=limits.json_bytes),
            uploads=Shares(limits.at_once * limits.upload_bytes, access.callers, least=limits.upload_bytes),
            rates=Rates(limits.rate),
            arrivals=Arrivals(engine.teams.audit.note),
            work=Work(limits.at_once, limits.at_once + limits.waiting, access.callers),
            ready=ready,
            health=health,
            scraping=scraping,
            metrics=metrics,
        )

    def stop(self) -> None:
        """End what is under way."""
        if stopped := self.work.stop():
            _log.info("stopping %d requests that are under way", stopped)


def _audit_refusal(engine: Engine, why: str) -> None:
    engine.teams.audit.note("scrape", "visitor", what="/metrics", detail=why, refused=True)


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request. `cancel` is set when its client has gone, or when the server ends and can wait no longer."""

    serving: ServerState
    request: Request
    caller: Caller
    held: ExitStack = field(default_factory=ExitStack)
    """Frees, once the reply is sent, what the request holds."""
    cancel: threading.Event = field(default_factory=threading.Event)

    @property
    def engine(self) -> Engine:
        return self.serving.engine

    @property
    def workspace(self) -> str:
        """The only one that this request may see."""
        return self.caller.workspace

    def sends_keys(self) -> None:
        """Called before the engine is asked for what may leave the machine with the owner's keys."""
        self.serving.arrivals.sends(self.caller, lambda: self.engine.wiring().keys)

    async def body(self, model: type[B]) -> B:
        """The body, as `model` has it. Raises Problem, BodyError."""
        return await json_body(self.request, self.serving.limits, model, self.hold(self.serving.bodies))

    def hold(self, bytes: Shares) -> Callable[[int], bool]:
        """What counts the bytes of the body that are here until the reply is sent."""
        return self.held.enter_context(bytes.borrow(self.caller.number))

    async def work(self, job: Callable[[], T]) -> T:
        """What `job` returns or raises, done in a thread in the caller's turn: for all that takes the engine longer
        than a moment. The body must be read by then. Raises as `attend` does.
        """
        return await self.attend(self.serving.work.done(job, self.cancel, caller=self.caller.number))

    async def follow(self, run: Iterator[T]) -> AsyncGenerator[T, None]:
        """The events of a run that `cancel` stops, as they come, in the caller's turn. For streamed replies."""
        async with aclosing(self.serving.work.follow(run, self.cancel, caller=self.caller.number)) as events:
            async for event in events:
                yield event

    async def attend(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` returns or raises.

        Where the client goes meanwhile, `cancel` is set, by which the work should end; what still waits for its turn is
        given up, and ClientDisconnect raised.
        """
        working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(self._gone())
        try:
            await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                self._give_up(working)
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            if not working.cancelled():
                raise
            raise ClientDisconnect from None
        finally:
            leaving.cancel()
            if not working.done():
                self._give_up(working)

    def _give_up(self, working: asyncio.Future[T]) -> None:
        self.cancel.set()
        if not self.serving.work.working(self.cancel):
            working.cancel()

    async def _gone(self) -> None:
        """Returns when the client has gone."""
        while (await self.request.receive())["type"] != "http.disconnect":
            pass


Endpoint = Callable[[Call], Awaitable[Response]]
