"""Bounds what a browser can make the frameworks write into the log: the length of a line, and lines a minute."""

from __future__ import annotations

import logging
import threading
import traceback

from crag.runtime.limits import Buckets
from ui.components.script_context import session_id

FRAMEWORKS = ("streamlit", "starlette", "uvicorn", "asyncio")
PER_MINUTE, PER_SESSION = 30, 5
"""Lines of each logger, and of one session. A browser that sends a forged state causes one a message, with its
traceback."""
LONGEST = 2_000
"""Characters of a message, and of a traceback, whose end says what failed."""


class BoundedLog(logging.Filter):
    """Shortens each record, and drops those over the rate; the next one that passes says how many. Thread-safe."""

    def __init__(self, buckets: Buckets | None = None, sessions: Buckets | None = None) -> None:
        super().__init__()
        self._buckets = buckets or Buckets(PER_MINUTE)
        self._sessions = sessions or Buckets(PER_SESSION)
        self._dropped: dict[str, int] = {}
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        session = session_id()
        with self._lock:
            if (session and self._sessions.take(session) > 0) or self._buckets.take(record.name) > 0:
                self._dropped[record.name] = self._dropped.get(record.name, 0) + 1
                return False
            dropped = self._dropped.pop(record.name, 0)
        before = f"({dropped:,} messages before this one were left out.) " if dropped else ""
        record.msg, record.args = before + _start(record.getMessage()), None
        if record.exc_info and record.exc_info[1] is not None:
            record.exc_text = _end("".join(traceback.format_exception(record.exc_info[1])).rstrip())
        return True


def bound_logs() -> None:
    """Bound the log of each framework from now on."""
    bounded = BoundedLog()
    for name in [*FRAMEWORKS, *logging.root.manager.loggerDict]:
        logger = logging.getLogger(name)
        if name.partition(".")[0] in FRAMEWORKS and not any(isinstance(each, BoundedLog) for each in logger.filters):
            logger.addFilter(bounded)


def _start(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def _end(text: str) -> str:
    return text if len(text) <= LONGEST else f"… {text[-LONGEST:]}"
