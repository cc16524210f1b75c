"""Deleting a workspace with all that it holds: asked twice, and what goes on in it is stopped first."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from crag.core.errors import AccessError, NotFoundError
from ui.access import signed_in, workspace_entry
from ui.app.program import program
from ui.components import problems
from ui.components.safe_text import markdown


def ask(name: str, title: str, then: Callable[[], object]) -> None:
    """Says what goes, and deletes it after a tick and a click."""
    st.caption("Deletes its documents, runs, question sets and links for good. Only a backup can bring them back.")
    sure = st.checkbox(f"Delete all of {markdown(title)}", key=f"delete-sure-{name}")
    if st.button("Delete for good", key=f"delete-{name}", type="primary", disabled=not sure):
        with problems.reported():
            delete(name)
            then()


def delete(name: str) -> None:
    """Ends what is under way there, shuts everybody out and removes the library, for who may. Raises CragError."""
    engine = program().engine
    actor = workspace_entry.enter(engine, signed_in.person_now).actor
    try:
        owner = engine.teams.spaces.get(name).owner
    except NotFoundError:
        owner = ""
    if not actor.manages(name, owner):
        engine.teams.audit.note("workspace", actor.name, workspace=name, what="delete", refused=True)
        raise AccessError("Only the owner of a workspace or an admin can delete it.", "Ask the owner.")
    for job in program().jobs.running(workspace=name):
        job.stop()
    engine.remove(name)  # first of all what is in it: if this ends half-way, it can be done again
    try:
        engine.teams.spaces.delete(name, actor)
    except NotFoundError:  # a library that nobody shared
        engine.teams.audit.note("workspace", actor.name, workspace=name, what="deleted")
    engine.remove(name)  # what somebody was still writing when it began
