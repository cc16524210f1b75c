"""When Python's collector goes through this process: in rounds of its own, not after every run of the script.

Streamlit would have one after each run, through all that every session holds: most of what a rerun cost, and the more,
the more people were there. It is set not to (`runner.postScriptGC`); what a run leaves behind waits for a round here.
"""

from __future__ import annotations

import gc
import sys
import threading
import time

EVERY = 10.0
"""Seconds from one round to the next, as long as scripts run; 0: this process has none."""
WHOLE = 300.0
"""Seconds from one round through everything to the next; the others leave out what stood already at the last such."""

_lock = threading.Lock()
_modules = 0
"""So many were loaded at the last round through everything."""
_whole_at = 0.0
_due = threading.Event()
"""A script has run since the last round."""
_thread: threading.Thread | None = None


def note_run() -> None:
    """Called by every run of the script: a round is due, within seconds and in a thread of its own.

    The first call has a round through everything at once; once more modules were loaded, the next round is such a one.
    """
    global _thread
    if not EVERY:
        return
    if not _modules:
        with _lock:
            if not _modules:
                _collect(whole=True)
    _due.set()
    if _thread is None:
        with _lock:
            if _thread is None:
                _thread = threading.Thread(target=_rounds, name="collector", daemon=True)
                _thread.start()


def _collect(*, whole: bool) -> None:
    """One round. `whole`: through everything, after which what is left is left out of the rounds that follow."""
    global _modules, _whole_at
    if whole:
        _modules, _whole_at = len(sys.modules), time.monotonic()
        gc.unfreeze()
    gc.collect()
    if whole:
        gc.freeze()


def _rounds() -> None:
    while True:
        _due.wait()
        time.sleep(EVERY)
        _due.clear()
        with _lock:
            _collect(whole=len(sys.modules) > _modules or time.monotonic() - _whole_at > WHOLE)
