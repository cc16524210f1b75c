"""Loads what the first question would otherwise wait for, in the background, while the person still reads."""

from __future__ import annotations

import atexit
import gc
import logging
import threading

from crag.core.types import Passage
from crag.engine import Engine

_log = logging.getLogger(__name__)
_PATIENCE = 60.0
"""Seconds that the end of the process waits at most: for what loads just then, on a busy machine."""
_WORDS = "Something to begin with, so long that the whole vocabulary is loaded. " * 32


class Warmup(threading.Thread):
    """The thread of one warm-up. `done`: everything is loaded."""

    def __init__(self, engine: Engine, ending: threading.Event) -> None:
        super().__init__(name="warm-up", daemon=True)
        self._engine, self._ending, self.done = engine, ending, False

    def run(self) -> None:
        self.done = _warm(self._engine, self._ending)


def begin(engine: Engine) -> Warmup:
    """Warm this engine up in a thread of its own, which nothing waits for.

    Only the end of the process does, for a moment: a native library cut off while it loads would end it with a crash.
    """
    ending = threading.Event()
    thread = Warmup(engine, ending)

    def end() -> None:
        ending.set()
        thread.join(_PATIENCE)

    thread.start()
    atexit.register(end)
    return thread


def _warm(engine: Engine, ending: threading.Event) -> bool:
    """Whether everything is loaded."""
    try:
        engine.embedder.embed([_WORDS])
        if ending.is_set():
            return False
        # The local evaluator, whatever is configured: nobody has asked for a call yet.
        for _ in engine.evaluator.grade(_WORDS, [Passage(id="words", text=_WORDS)]):
            pass
    except Exception:  # noqa: BLE001
        # Whatever is missing or broken is shown, with its remedy, by the run or page that needs it.
        _log.debug("The warm-up did not finish", exc_info=True)
        return False
    gc.freeze()  # what is loaded stays: the collector's rounds leave it out, and cost a rerun little
    return True
