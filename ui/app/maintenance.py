"""Purges the libraries as it is configured, and ends what can't be undone any more: hourly, in the background."""

from __future__ import annotations

import threading

from crag.engine import Engine

_FIRST, _EVERY = 60.0, 3600.0
"""Seconds before it is done first, when the start is over, and from then on."""


def begin(engine: Engine) -> threading.Event:
    """Tidy this engine's libraries in a thread of its own, until the event that is returned is set."""
    stop = threading.Event()
    threading.Thread(target=_tidy, args=(engine, stop), name="tidying", daemon=True).start()
    return stop


def _tidy(engine: Engine, stop: threading.Event) -> None:
    wait = _FIRST
    while not stop.wait(wait):
        engine.tidy(stop)
        wait = _EVERY
