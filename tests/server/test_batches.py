"""What a script draws reaches the server's loop whole and in order, in fewer turns than there were messages."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from streamlit.runtime.app_session import AppSession

from ui.server import batches


class Session:
    """The least of a session that the hand-over knows."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._event_loop, self.turns = loop, 0

    def soon(self, call: Callable[[], None]) -> None:
        self.turns += 1
        self._event_loop.call_soon_threadsafe(call)


def test_streamlit_still_has_the_place_that_is_used() -> None:
    assert callable(getattr(AppSession, batches._HOOK)), (
        "Streamlit has renamed it: find where scripts wake the loop now"
    )
    assert "_event_loop" in AppSession.__init__.__code__.co_names


def test_all_comes_in_order_in_fewer_turns_and_a_fault_stops_nothing() -> None:
    faults: list[str] = []

    async def played() -> tuple[list[int], int]:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: faults.append(str(context["exception"])))
        session, taken, over = Session(loop), [], asyncio.Event()
        give = batches._together(Session.soon)  # type: ignore[arg-type]

        def draw() -> None:
            for number in range(1000):
                give(session, lambda number=number: taken.append(number))  # type: ignore[arg-type, misc]
                if number == 500:
                    give(session, lambda: 1 // 0)  # type: ignore[arg-type, return-value]
            give(session, over.set)  # type: ignore[arg-type]

        script = threading.Thread(target=draw)
        script.start()
        await asyncio.to_thread(script.join)
        await asyncio.wait_for(over.wait(), 30)
        return taken, session.turns

    taken, turns = asyncio.run(played())
    assert taken == list(range(1000)) and turns < 1000
    assert faults == ["integer division or modulo by zero"]
