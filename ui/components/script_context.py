"""What Streamlit knows of the script that runs: the one place where its own context of a run is read.

Streamlit documents its functions for threads and promises nothing of them. `missing` says at the start of the server
what an upgrade has taken away.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import ScriptRunContext, StopException, add_script_run_ctx, get_script_run_ctx

T = TypeVar("T")

Interrupted = StopException
"""Raised in a script that ends early: a touch of the page took its place."""
_READ = ("session_id", "uploaded_file_mgr", "is_history_navigation")


def missing() -> str:
    """What of a script's context is no longer there, in a line for the log; "" for nothing."""
    gone = [name for name in _READ if name not in ScriptRunContext.__dataclass_fields__]
    gone += [] if hasattr(MemoryUploadedFileManager, "remove_file") else ["uploaded_file_mgr.remove_file"]
    return f"the context of a script has no {' and no '.join(gone)}" if gone else ""


def session_id() -> str:
    """Streamlit's name for the session whose script runs; "" outside of a script."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context is not None else ""


def moved_in_history() -> bool:
    """Whether the browser's Back or Forward led to the address that this run of the script was given."""
    context = get_script_run_ctx(suppress_warning=True)
    return context is not None and context.is_history_navigation


class Tab:
    """The tab of the script that runs: what is done in it later counts as done by the person who is in it then."""

    def __init__(self) -> None:
        self._context = get_script_run_ctx(suppress_warning=True)

    def do(self, work: Callable[[], T]) -> T:
        """Do work outside of the script, in a thread of its own, as if the script did it."""
        with ThreadPoolExecutor(1, initializer=self._enter) as thread:
            return thread.submit(work).result()

    def _enter(self) -> None:
        add_script_run_ctx(threading.current_thread(), self._context)


def upload_remover(file: str) -> Callable[[], None]:
    """Makes Streamlit let go of an uploaded file of this tab, which it would hold until the browser leaves."""
    context = get_script_run_ctx(suppress_warning=True)

    def remove() -> None:
        if context is not None:
            manager: Any = context.uploaded_file_mgr
            manager.remove_file(context.session_id, file)

    return remove
