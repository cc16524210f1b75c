"""Clicks that change something: each asks for permission at the moment of the click, and says where it is refused.

A button is drawn for who may press it, and may be pressed after their role was changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from crag.admin.roles import Permission
from ui.access.current import Presence
from ui.app.program import program
from ui.components import problems

P = ParamSpec("P")

CLICKS: dict[str, Permission] = {}
"""What each callback that `requires` decorates asks for, by its module and name."""


def requires(act: Permission) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Let a callback do its work for who may do this, and show the refusal to others.

    It asks for the session that the callback is given, else for the tab. What fails of the work is shown as well.
    """

    def decorate(work: Callable[P, None]) -> Callable[P, None]:
        @wraps(work)
        def clicked(*args: P.args, **given: P.kwargs) -> None:
            with problems.reported(by=problems.announce):
                session = next((each for each in args if isinstance(each, Presence)), None) or Presence()
                session.require(act, work.__name__.strip("_").replace("_", " "))
                work(*args, **given)

        CLICKS[f"{work.__module__}.{work.__qualname__}"] = act
        return clicked

    return decorate


def once(work: Callable[P, None]) -> Callable[P, None]:
    """`work` as the callback of a button that is drawn now: pressed once, it is done once.

    While a fragment of the page is drawn again and again, Streamlit's page sends a click with the fragment's request,
    and once more with its own (seen with 1.67). This is for work that must not be done twice.
    """
    pressed = False

    @wraps(work)
    def clicked(*args: P.args, **given: P.kwargs) -> None:
        nonlocal pressed
        if not pressed:
            pressed = True
            work(*args, **given)

    return clicked


def stop(session: Presence, job: str) -> None:
    """End work of the session's workspace, for who may begin it.

    `job`: its id. Streamlit keeps what a callback is given as long as the tab is open, also of a button that is gone.
    """
    with problems.reported(by=problems.announce):
        if (found := program().jobs.get(job, workspace=session.workspace)) is not None:
            session.stop(found)


def answer(session: Presence, job: str, number: int, yes: bool) -> None:
    """Answer what work of the session's workspace waits for, for who may begin it. `job`: as in `stop`."""
    with problems.reported(by=problems.announce):
        if (found := program().jobs.get(job, workspace=session.workspace)) is not None:
            session.answer(found, number, yes)
