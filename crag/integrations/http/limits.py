"""How much may be asked of the server: sizes, requests a minute of one token, and requests at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from crag.admin.access import Caller
from crag.core.config import AppConfig
from crag.integrations.http.problems import Problem
from crag.runtime.rates import Buckets
from crag.runtime.shares import Shares
from crag.runtime.transfer import Pace

_MB = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one server allows. Sizes in bytes, times in seconds."""

    at_once: int = 8
    """Requests that are worked on side by side."""
    waiting: int = 64
    """Requests that are here besides: that send a body, wait for their turn, or are read."""
    each: int = 40
    """Requests of one token at once, whatever they do."""
    rate: int = 600
    """Requests a minute of one token; 0: any number."""
    json_bytes: int = 10 * _MB
    upload_bytes: int = 101 * _MB
    bodies_bytes: int = 256 * _MB
    """Of all bodies of JSON that are here, shared between the tokens."""
    pace: Pace = field(default_factory=Pace)
    """How slowly a client may send and read."""
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


class RequestLimit:
    """Counts the requests that are here: so many of each caller, and so many of all. More are refused at once."""

    def __init__(self, limits: Limits, callers: int = 1) -> None:
        self._limits = limits
        self._here = Shares(limits.at_once + limits.waiting, callers, each=limits.each if callers else 0)

    @contextmanager
    def hold(self, caller: Caller) -> Iterator[None]:
        """Count a request until its reply is sent. Raises Problem 429 for one too many of a caller, 503 of all."""
        limits, number = self._limits, caller.number
        if not self._here.take(number):
            if number and self._here.held(number) >= limits.each:
                said = f"This token has {limits.each} requests at once, which is as many as it may."
                raise Problem(429, "too_many_at_once", said, headers={"Retry-After": "1"})
            raise Problem(503, "busy", "The server has more to do than it may take on.", headers={"Retry-After": "2"})
        try:
            yield
        finally:
            self._here.give_back(number)
