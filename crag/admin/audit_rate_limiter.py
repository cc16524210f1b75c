"""How much strangers may write into the audit log: what comes again and again is counted in place of stored."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from dataclasses import dataclass

__all__ = ["AuditRateLimiter"]

_SAME_SECONDS = 60.0
"""A refusal like the one before it is stored again after so long."""
_MINUTE, _REFUSALS, _STRANGERS = 60.0, 60, 240
"""Of all refusals, and of all that strangers do, so many a minute at most are stored."""
_KINDS = 5000
STRANGER = "visitor"
"""How the log names who has no name: whoever holds the key of a library, or nothing."""


@dataclass(slots=True)
class _Kind:
    at: float
    left_out: int = 0


class AuditRateLimiter:
    """What was stored lately, of this process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kinds: OrderedDict[tuple[str, str, str, bool], _Kind] = OrderedDict()
        self._refusals: deque[float] = deque(maxlen=_REFUSALS)
        self._strangers: deque[float] = deque(maxlen=_STRANGERS)

    def passed(self, who: str, act: str, workspace: str, refused: bool) -> int | None:
        """How many like this were left out before it, which is stored; None where it is left out itself.

        What people with a name do, and are not refused, is always stored.
        """
        stranger = who == STRANGER or who.startswith("link ")
        if not refused and not stranger:
            return 0
        now, key = time.monotonic(), (who, act, "" if stranger else workspace, refused)
        with self._lock:
            kind = self._kinds.get(key)
            all_of_them = self._refusals if refused else self._strangers
            full = len(all_of_them) == all_of_them.maxlen and now - all_of_them[0] < _MINUTE
            again = refused and kind is not None and now - kind.at < _SAME_SECONDS
            if kind is not None and (full or again):
                kind.left_out += 1
                return None
            if full:
                self._remember(key, _Kind(now, 1))
                return None
            all_of_them.append(now)
            left_out = kind.left_out if kind is not None else 0
            self._remember(key, _Kind(now))
            return left_out

    def _remember(self, key: tuple[str, str, str, bool], kind: _Kind) -> None:
        self._kinds[key] = kind
        self._kinds.move_to_end(key)
        while len(self._kinds) > _KINDS:
            self._kinds.popitem(last=False)
