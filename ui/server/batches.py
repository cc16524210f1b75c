"""What a running script draws is handed to the server's loop in batches: whatever has come by when the loop gets to it.

Streamlit wakes the loop for every element. Each time the script's thread lets go of the interpreter and has to get it
back, among the threads of all other sessions: with many at once that took longer than the drawing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from streamlit.runtime.app_session import AppSession

_Call = Callable[[], None]
_HOOK = "_call_soon_on_event_loop"
_lock = threading.Lock()


def hand_over_together() -> None:
    """From now on, in every session of this process. Nothing is lost where Streamlit has no such place any more."""
    if hasattr(AppSession, _HOOK) and not hasattr(getattr(AppSession, _HOOK), "one_by_one"):
        setattr(AppSession, _HOOK, _together(getattr(AppSession, _HOOK)))


def _together(one_by_one: Callable[[AppSession, _Call], None]) -> Callable[[AppSession, _Call], None]:
    def together(session: AppSession, call: _Call) -> None:
        with _lock:
            waiting: list[_Call] = session.__dict__.setdefault("_crag_waiting", [])
            waiting.append(call)
            first = len(waiting) == 1
        if first:
            one_by_one(session, lambda: _run(session))

    together.one_by_one = one_by_one  # type: ignore[attr-defined]
    return together


def _run(session: AppSession) -> None:
    """On the loop, all that has come, in its order."""
    with _lock:
        calls, session.__dict__["_crag_waiting"] = session.__dict__["_crag_waiting"], []
    for call in calls:
        try:
            call()
        except Exception as error:  # noqa: BLE001  as the loop does with each of its calls
            session._event_loop.call_exception_handler(
                {"message": "a script's event was not taken in", "exception": error}
            )
