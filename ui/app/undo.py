"""What was deleted and can be brought back for half a minute. After that nothing holds it any more."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Collection
from typing import NamedTuple

import streamlit as st

from crag.core.errors import CragError
from crag.export.html.safe_text import excerpt, markdown
from crag.storage.deletions import DeletedRuns
from crag.text import memory
from ui.app import clicks, tab
from ui.app.session import Session

SECONDS = 30.0
"""For which a deletion can be undone."""
_LOOK = 2.0
"""Seconds between two looks whether it still can."""


class Deletion(NamedTuple):
    """What was deleted in a workspace, and what it was called."""

    workspace: str
    title: str
    gone: DeletedRuns


def _begin_timer(seconds: float, work: Callable[[], object]) -> None:
    timer = threading.Timer(seconds, work)
    timer.daemon = True
    timer.start()


class Deletions:
    """Those of the last half minute, by unguessable names. Thread-safe."""

    def __init__(self, after: Callable[[float, Callable[[], object]], None] = _begin_timer) -> None:
        """`after` does work once so many seconds have gone by."""
        self._after, self._lock = after, threading.Lock()
        self._held: dict[str, Deletion] = {}
        memory.on_deletion(self.forget)

    def hold(self, deletion: Deletion) -> str:
        """Keep it for `SECONDS`; the name under which it is found."""
        name = secrets.token_hex(8)
        with self._lock:
            self._held[name] = deletion
        self._after(SECONDS, lambda: self.drop(name))
        return name

    def get(self, name: str) -> Deletion | None:
        """What is held under this name."""
        with self._lock:
            return self._held.get(name)

    def drop(self, name: str) -> Deletion | None:
        """Hold it no longer: what was held."""
        with self._lock:
            return self._held.pop(name, None)

    def forget(self, gone: Collection[str]) -> None:
        """A workspace was removed: nothing is brought back into it."""
        with self._lock:
            self._held = {name: each for name, each in self._held.items() if each.workspace not in gone}


deletions = Deletions()
"""Of this process."""


def hold(session: Session, title: str, gone: DeletedRuns) -> None:
    """Show none of these runs any more, and offer to bring them back."""
    session.forget(gone.ids)
    tab.runs().deleted.append(deletions.hold(Deletion(session.workspace, title, gone)))


def bar(session: Session) -> None:
    """What was deleted here a moment ago, with a button that brings it back; nothing once that is over."""
    own = tab.runs().deleted = [name for name in tab.runs().deleted if deletions.get(name)]
    if own:
        st.fragment(_offer, run_every=_LOOK)(session, len(own))


def _offer(session: Session, shown: int) -> None:
    held = {name: found for name in tab.runs().deleted if (found := deletions.get(name))}
    if len(held) < shown:
        st.rerun()
    for name, each in held.items():
        with st.container(key=f"undo-{name}", horizontal=True, vertical_alignment="center", border=True):
            st.markdown(f"Deleted “{markdown(excerpt(each.title, 60))}”.", width="content")
            clicks.button("Undo", f"undo-delete-{name}", _bring_back, session, name)
            st.caption(f"After {SECONDS:.0f} seconds it is gone for good.", width="content")


@clicks.requires("edit")
def _bring_back(session: Session, name: str) -> None:
    held = deletions.drop(name) if name in tab.runs().deleted else None
    if held is None or held.workspace != session.workspace:
        raise CragError("It is gone for good.", f"A deletion can be undone for {SECONDS:.0f} seconds.")
    session.library.runs.restore(held.gone)
    session.note("restore", "run", held.gone.ids[-1])
    session.select(held.gone.ids[-1])
