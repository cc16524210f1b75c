"""What an endpoint is given: the engine, whose request it is, its body, and threads for what blocks."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from crag.core.access import Access, Arrivals, Caller
from crag.engine import Engine
from crag.library.records import server_at
from crag.monitoring.health import Health
from crag.monitoring.metrics import Metrics, standing
from crag.monitoring.scraping import Scraping, metrics_token
from crag.run.following import followed
from crag.server.bodies import B, json_body
from crag.server.limits import Gate, Limits, Rates
from crag.spending.prices import usable

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Work:
    """The work that is under way in threads, so that it can be stopped and waited for when the server ends."""

    def __init__(self, at_once: int) -> None:
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="crag-serve")
        self._changed = threading.Condition()
        self._running: set[threading.Event] = set()

    def begun(self, cancel: threading.Event) -> None:
        """Work is under way that `cancel` stops."""
        with self._changed:
            self._running.add(cancel)

    def ended(self, cancel: threading.Event) -> None:
        """That work has ended."""
        with self._changed:
            self._running.discard(cancel)
            self._changed.notify_all()

    async def done(self, job: Callable[[], T]) -> T:
        """What `job` returns, from a thread of the pool."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, job)

    def stop(self) -> None:
        """Ask all that is under way to end."""
        with self._changed:
            for cancel in self._running:
                cancel.set()
            if self._running:
                _log.info("stopping %d requests that are under way", len(self._running))

    def wait(self) -> None:
        """Until nothing is under way any more."""
        with self._changed:
            self._changed.wait_for(lambda: not self._running)
        self._pool.shutdown()


@dataclass(frozen=True, kw_only=True)
class Serving:
    """One server: its engine, who may use it, how much of it, and what is under way."""

    engine: Engine
    access: Access
    limits: Limits
    gate: Gate
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
    def of(cls, engine: Engine, access: Access, limits: Limits) -> Serving:
        ready, health = threading.Event(), Health.of(engine.config, server_at(engine.config.database_url))
        scraping = Scraping(engine.config.metrics, metrics_token(), not access.asks, partial(_audited, engine))
        metrics = None
        if scraping.on:
            sources = standing(lambda: engine, health, ready.is_set)
            metrics = Metrics(lambda: usable(engine.config.prices), sources, engine.circuits.open)
            engine.watchers.append(metrics.watch)
        return cls(
            engine=engine,
            access=access,
            limits=limits,
            gate=Gate(limits),
            rates=Rates(limits.rate),
            arrivals=Arrivals(engine.teams.audit.note),
            work=Work(limits.at_once),
            ready=ready,
            health=health,
            scraping=scraping,
            metrics=metrics,
        )

    def close(self) -> None:
        """From now on no request is begun; those that wait are told."""
        self.gate.closing = True


def _audited(engine: Engine, why: str) -> None:
    engine.teams.audit.note("scrape", "visitor", what="/metrics", detail=why, refused=True)


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request. `cancel` is set when its client has gone, or when the server ends and can wait no longer."""

    serving: Serving
    request: Request
    caller: Caller
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
        """The body, as `model` has it. Raises Problem."""
        return await json_body(self.request, self.serving.limits, model)

    async def work(self, job: Callable[[], T]) -> T:
        """What `job` returns or raises, done in a thread: for all that takes the engine longer than a moment.

        Where the client goes meanwhile, `cancel` is set, by which the job should end. The body must be read by then.
        """
        self.serving.work.begun(self.cancel)
        working = asyncio.ensure_future(self.serving.work.done(job))
        working.add_done_callback(lambda _: self.serving.work.ended(self.cancel))
        leaving = asyncio.ensure_future(self._gone())
        try:
            await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                self.cancel.set()
            return await asyncio.shield(working)
        finally:
            leaving.cancel()
            if not working.done():
                self.cancel.set()

    async def follow(self, run: Iterator[T]) -> AsyncGenerator[T, None]:
        """The events of a run that `cancel` stops, as they come: see `followed`. For streamed replies."""
        self.serving.work.begun(self.cancel)
        async with aclosing(followed(run, self.cancel, lambda: self.serving.work.ended(self.cancel))) as events:
            async for event in events:
                yield event

    async def _gone(self) -> None:
        """Returns when the client has gone."""
        while (await self.request.receive())["type"] != "http.disconnect":
            pass


Endpoint = Callable[[Call], Awaitable[Response]]
