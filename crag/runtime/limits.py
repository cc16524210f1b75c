"""Limits in memory: a token bucket, and places that callers share."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable

_MOST = 10_000
"""Those who came longest ago are forgotten: their buckets are full again."""


class Buckets:
    """Thread-safe. `rate`: requests a minute, which may change.

    `harsh`: who goes on asking while refused waits until they have stopped for a moment.
    """

    def __init__(self, rate: int, now: Callable[[], float] = time.monotonic, *, harsh: bool = False) -> None:
        self.rate, self._now, self._harsh = rate, now, harsh
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, who: Hashable) -> float:
        """One request: 0 where it may be made, else the seconds until one may."""
        with self._lock:
            left = self._refilled(who)
            free = left >= 1
            self._left[who] = (left - 1 if free else 0.0 if self._harsh else left), self._now()
            self._left.move_to_end(who)
            if len(self._left) > _MOST:
                self._left.popitem(last=False)
            return 0.0 if free else (1 - left) * 60 / self.rate

    def left(self, who: Hashable) -> float:
        """How many requests may be made now."""
        with self._lock:
            return self._refilled(who)

    def _refilled(self, who: Hashable) -> float:
        at = self._now()
        left, since = self._left.get(who, (float(self.rate), at))
        return min(float(self.rate), left + (at - since) * self.rate / 60)


class Shares:
    """Places that callers hold for a while. Belongs to one event loop.

    A caller may use what the others leave free. Its own part, an equal part of the whole, is always free for it:
    where one caller holds everything, the others still get their parts. So all together never hold twice the whole,
    or one for each caller if that is more.
    """

    def __init__(self, whole: int, callers: int = 1) -> None:
        self._whole, self._part = whole, max(1, whole // max(1, callers))
        self._held: Counter[Hashable] = Counter()

    def held(self, caller: Hashable) -> int:
        """What a caller holds now."""
        return self._held[caller]

    def take(self, caller: Hashable) -> bool:
        """Take one more for a caller; False where that is too much, and nothing is taken."""
        own = self._held[caller] + 1
        if own > self._part and self._held.total() >= self._whole:
            return False
        self._held[caller] = own
        return True

    def give_back(self, caller: Hashable) -> None:
        """Free one that a caller took."""
        self._held[caller] -= 1
        if not self._held[caller]:
            del self._held[caller]
