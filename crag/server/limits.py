"""How much may be asked of the server: sizes, requests a minute of one token, and requests at once."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import ceil
from typing import Any

from crag.core.access import Caller
from crag.core.config import AppConfig
from crag.core.rates import Buckets
from crag.server.problems import Problem

_MB = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one server allows. Sizes in bytes, times in seconds."""

    at_once: int = 8
    """Requests that are worked on side by side."""
    waiting: int = 64
    """Requests that wait for it, of all callers."""
    each: int = 40
    """Requests of one token at once, those that wait included."""
    rate: int = 600
    """Requests a minute of one token; 0: any number."""
    json_bytes: int = 10 * _MB
    upload_bytes: int = 101 * _MB
    idle_seconds: float = 20.0
    """How long a body may stand still."""
    body_seconds: float = 300.0
    """How long it may take in all."""
    grace_seconds: float = 10.0
    """How long requests may go on once the server is told to end."""

    @classmethod
    def of(cls, config: AppConfig, **given: Any) -> Limits:
        """The limits that follow from a configuration; `given` ones, where not None, first."""
        chosen = {name: value for name, value in given.items() if value is not None}
        return cls(**{"at_once": config.runs_at_once, "upload_bytes": (config.max_file_mb + 1) * _MB, **chosen})


class Rates:
    """A bucket of requests for each caller, filled again within a minute."""

    def __init__(self, rate: int, now: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._buckets = rate, Buckets(rate, now)

    def take(self, caller: Caller) -> None:
        """One request of the caller. Raises Problem 429 where none is left, and says when there is one again."""
        if not self._rate:
            return
        if (seconds := self._buckets.take(caller.number)) > 0:
            wait = ceil(seconds)
            said = f"These were more than {self._rate} requests a minute. Try again in {wait} s."
            raise Problem(429, "rate_limit_exceeded", said, headers={"Retry-After": str(wait)})


class Gate:
    """So many requests are worked on at once, so many more wait in their order, and the rest is turned away at once."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self.closing = limits, False
        self._turns = asyncio.Semaphore(limits.at_once)
        self._here: Counter[int] = Counter()

    @asynccontextmanager
    async def passed(self, caller: Caller) -> AsyncIterator[None]:
        """A request's turn. Raises Problem 429 for one too many of a caller, 503 for one too many of all."""
        limits = self._limits
        if self._here[caller.number] >= limits.each and caller.number:
            said = f"This token has {limits.each} requests at once, which is as many as it may."
            raise Problem(429, "too_many_at_once", said, headers={"Retry-After": "1"})
        if self._here.total() >= limits.at_once + limits.waiting:
            raise Problem(503, "busy", "The server has more to do than it may take on.", headers={"Retry-After": "2"})
        self._here[caller.number] += 1
        try:
            self._check_open()
            async with self._turns:
                self._check_open()
                yield
        finally:
            self._here[caller.number] -= 1

    def _check_open(self) -> None:
        if self.closing:
            raise Problem(503, "ending", "The server is about to end.", headers={"Retry-After": "5"})
