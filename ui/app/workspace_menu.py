"""What every page begins with where people sign in or read by a link: the workspace that is shown, and the others."""

from __future__ import annotations

import streamlit as st

from crag.admin.roles import may
from crag.admin.workspaces import own_name
from crag.core.errors import AccessError, CragError
from crag.export.html.safe_text import markdown, visible
from ui.access import workspace_entry
from ui.access.visitor import Entered
from ui.app import sharing
from ui.app.program import program
from ui.components import problems

_CHOSEN, _TITLE = "ws-choice", "ws-title"
_FEW = 60
"""Characters of a title that the menu's button shows."""


def show(entered: Entered | CragError) -> None:
    """The workspace's name, which opens the menu; nothing where there are neither people nor links.

    A link that lets nobody in ends the page here. What else fails is shown by the page itself.
    """
    if isinstance(entered, AccessError):
        problems.show(entered)
        st.stop()
    if isinstance(entered, CragError):
        return
    if entered.link is not None:
        _by_link(entered)
    elif entered.title:
        _of_person(entered)
    elif entered.actor.holds:
        _of_key(entered)


def _by_link(entered: Entered) -> None:
    link = entered.link
    assert link is not None
    by = f" by {markdown(link.made_by)}" if link.made_by and link.made_by != "visitor" else ""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="whose-alone"):
        st.caption(f"Shared with you{by}, to read, until {sharing.day(link.ends_at)}.", width="content")
        st.button("Leave", key="link-leave", type="tertiary", on_click=workspace_entry.leave_link)


def _of_key(entered: Entered) -> None:
    """Who has the key of a library may let others read it without the key, once it holds anything."""
    with problems.reported():
        if not program().engine.library(entered.workspace).exists:
            return
        with st.container(horizontal=True, horizontal_alignment="right", key="whose-alone"):
            if st.button("Share to read…", key="share", type="tertiary"):
                sharing.dialog()


def _of_person(entered: Entered) -> None:
    row = st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center", key="whose")
    with row:
        with st.popover(markdown(called(entered.workspace, entered.title, entered.actor.id)[:_FEW]), type="tertiary"):
            _menu(entered)
        # Beside the menu, which would lie above what is opened from within it.
        if entered.manages and st.button("Share…", key="share", type="tertiary"):
            sharing.dialog()
    if entered.refused:
        st.warning(entered.refused)


def _menu(entered: Entered) -> None:
    found = {each.workspace.name: each.workspace.title for each in entered.choices}
    found.setdefault(entered.workspace, entered.title)
    titles = {name: called(name, title, entered.actor.id) for name, title in found.items()}
    if len(titles) > 1:
        st.selectbox(
            "Workspace",
            list(titles),
            index=list(titles).index(entered.workspace),
            format_func=titles.__getitem__,
            key=f"{_CHOSEN}-{entered.workspace}",
            on_change=_chose,
            args=(entered.workspace,),
        )
    st.caption(f"Your access: {sharing.MAY[entered.visitor.role]}.")
    if _may_make(entered):
        with st.expander("New workspace"):
            st.text_input("Title", key=_TITLE, max_chars=80)
            st.button("Create workspace", key="ws-make", on_click=_make)


def called(name: str, title: str, id: str) -> str:
    """A workspace as its menu names it: everybody's own is theirs, whatever others call it."""
    return "My workspace" if name == own_name(id) else visible(title)


def _chose(before: str) -> None:
    workspace_entry.go(st.session_state[f"{_CHOSEN}-{before}"])


def _may_make(entered: Entered) -> bool:
    """Who may edit anywhere may make workspaces; a viewer has no use for an empty one."""
    return entered.visitor.administers or any(may(each.role, "edit") for each in entered.choices)


def _make() -> None:
    with problems.reported(by=problems.announce):
        entered = workspace_entry.enter(program(), now=True)
        if not _may_make(entered):
            raise AccessError("Your role does not let you create a workspace.", "Ask an admin for the editor role.")
        workspace_entry.go(program().engine.teams.spaces.make(st.session_state[_TITLE], entered.actor).name)
        st.session_state[_TITLE] = ""
