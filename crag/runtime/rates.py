"""So many requests a minute for each who makes them: a bucket each, filled again within a minute."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

__all__ = ["Buckets"]

_MOST = 10_000
"""Those who came longest ago are forgotten: their buckets are full again."""


class Buckets:
    """Thread-safe. `harsh`: who goes on asking while refused waits until they have stopped for a moment."""

    def __init__(self, rate: int, now: Callable[[], float] = time.monotonic, *, harsh: bool = False) -> None:
        self._rate, self._now, self._harsh = rate, now, harsh
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, who: Hashable) -> float:
        """One request: 0 where it may be made, else the seconds until one may."""
        with self._lock:
            at = self._now()
            left, since = self._left.pop(who, (float(self._rate), at))
            left = min(float(self._rate), left + (at - since) * self._rate / 60)
            free = left >= 1
            self._left[who] = (left - 1 if free else 0.0 if self._harsh else left), at
            if len(self._left) > _MOST:
                self._left.popitem(last=False)
            return 0.0 if free else (1 - left) * 60 / self._rate
