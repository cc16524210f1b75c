"""Clicks that change something: each asks for permission at the moment of the click, and says where it is refused.

A button is drawn for who may press it, and may be pressed after their role was changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec

import streamlit as st

from crag.admin.roles import Permission
from crag.runtime.jobs import Job
from ui.access.current import REFUSALS, Presence
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
                session = next((each for each in args if isinstance(each, Presence)), None) or Presence(program())
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


def button(label: str, key: str, work: Callable[..., None], *given: Any, **look: Any) -> None:
    """A button that does `work` with what is `given`; grey, with the reason, for who may not do what that asks for."""
    act = CLICKS.get(f"{work.__module__}.{work.__qualname__}")
    session = next((each for each in given if isinstance(each, Presence)), None)
    if act is not None and session is not None and not session.may(act):
        look |= {"disabled": True, "help": REFUSALS[act]}
    st.button(label, key=key, on_click=work, args=given, **look)


def stop(session: Presence, *jobs: str) -> None:
    """End work of the session's workspace, for who may begin it.

    `jobs`: their ids. Streamlit keeps what a callback is given while the tab is open, also of a button that is gone.
    """
    with problems.reported(by=problems.announce):
        for job in jobs:
            if (found := program().jobs.get(job, workspace=session.workspace)) is not None:
                session.stop(found)


def stop_button(session: Presence, jobs: Sequence[Job[Any]], key: str, help: str, label: str = "Stop") -> None:
    """A button that ends these jobs of one kind, for who may begin them."""
    stopping = all(job.stopping for job in jobs)
    allowed = session.may("ask" if jobs[0].kind == "run" else "edit")
    st.button(
        "Stopping…" if stopping else label,
        key=key,
        on_click=stop,
        args=(session, *(job.id for job in jobs)),
        disabled=stopping or not allowed,
        help=help,
    )


def confirm(title: str, said: str, key: str, work: Callable[P, None], *args: P.args, **given: P.kwargs) -> None:
    """A button that says in Markdown what it will do, and does it at a second click. `work` asks: see `requires`."""
    assert f"{work.__module__}.{work.__qualname__}" in CLICKS
    with st.popover(f"{title}…"):
        st.markdown(said)
        st.button(title, key=key, type="primary", on_click=once(work), args=args, kwargs=given)


def answer(session: Presence, job: str, number: int, yes: bool) -> None:
    """Answer what work of the session's workspace waits for, for who may begin it. `job`: an id, as in `stop`."""
    with problems.reported(by=problems.announce):
        if (found := program().jobs.get(job, workspace=session.workspace)) is not None:
            session.answer(found, number, yes)
