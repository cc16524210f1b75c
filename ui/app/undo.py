"""What was deleted and can be brought back for half a minute. After that nothing holds it any more."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Collection
from typing import NamedTuple

import streamlit as st

from crag.core.errors import CragError
from crag.core.strategies import Strategy
from crag.export.html.safe_text import excerpt, markdown
from crag.storage.deletions import DeletedRuns
from crag.text import memory
from ui.app import clicks, tab
from ui.app.session import Session

SECONDS = 30.0
"""For which a deletion can be undone."""


class Deletion(NamedTuple):
    """What was deleted in a workspace, runs or a saved configuration, and what it was called."""

    workspace: str
    title: str
    gone: DeletedRuns | Strategy


deletions: dict[str, Deletion] = {}
"""Those of the last half minute in this process, by unguessable names."""


@memory.on_deletion
def _forget(gone: Collection[str]) -> None:
    """A workspace was removed: nothing is brought back into it."""
    for name in [name for name, each in deletions.items() if each.workspace in gone]:
        deletions.pop(name, None)


def hold(session: Session, title: str, gone: DeletedRuns | Strategy) -> None:
    """Show none of this any more, and offer to bring it back."""
    name = secrets.token_hex(8)
    deletions[name] = Deletion(session.workspace, title, gone)
    timer = threading.Timer(SECONDS, deletions.pop, (name, None))
    timer.daemon = True
    timer.start()
    if isinstance(gone, DeletedRuns):
        session.forget(gone.ids)
    tab.runs().deleted.append(name)


def bar(session: Session) -> None:
    """What was deleted here a moment ago, with a button that brings it back; nothing once that is over."""
    own = tab.runs().deleted = [name for name in tab.runs().deleted if name in deletions]
    if own:
        st.fragment(_offer, run_every=2.0)(session, len(own))


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
    held = deletions.pop(name, None) if name in tab.runs().deleted else None
    if held is None or held.workspace != session.workspace:
        raise CragError("It is gone for good.", f"A deletion can be undone for {SECONDS:.0f} seconds.")
    if isinstance(held.gone, Strategy):
        session.library.configurations.save(held.title, held.gone.base, held.gone.settings)
        return
    session.library.runs.restore(held.gone)
    session.note("restore", "run", held.gone.ids[-1])
    session.select(held.gone.ids[-1])
