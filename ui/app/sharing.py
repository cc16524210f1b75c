"""Who else may enter a workspace: its members, and links that let read until they end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from urllib.parse import urlsplit

import streamlit as st

from crag.admin.links import LONGEST, Link
from crag.admin.roles import Role
from crag.admin.workspaces import Kind, Member
from crag.core.errors import AccessError, NotFoundError
from crag.engine import Engine
from crag.export.html import elements as h
from crag.export.html.safe_text import markdown
from ui.access import workspace_entry
from ui.access.visitor import Entered
from ui.app import tab
from ui.app.program import program
from ui.components import forms, problems
from ui.components.drawing import draw

MAY: dict[Role, str] = {
    "reader": "read",
    "viewer": "read and ask",
    "editor": "read, ask, and change documents",
    "admin": "do everything",
}
"""What each role may do in a workspace, after "you"."""
_SHORT: dict[Role, str] = {"reader": "Reads", "viewer": "Asks", "editor": "Changes"}
_KINDS: dict[Kind, str] = {"person": "Person", "group": "Group"}


@st.dialog("Share", width="medium")
def dialog() -> None:
    """Members and links of the workspace that is shown; whatever is done in it is asked for each time."""
    with problems.reported():
        engine = program().engine
        entered = workspace_entry.enter(program(), now=True)
        if not entered.manages:
            raise AccessError("Only the owner of a workspace decides who has access.", "Ask the owner.")
        if entered.title:
            with problems.reported():
                _members(engine, entered)
        with problems.reported():
            _links(engine, entered)
        if entered.title:
            _workspace(engine, entered)


def _workspace(engine: Engine, entered: Entered) -> None:
    """Its title, and its end; a personal one is emptied, and there again when its owner comes."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        title = st.text_input("Title", value=entered.title, max_chars=80, key=f"share-title-{entered.workspace}")
        with problems.reported():
            if st.button("Rename", key="share-rename", disabled=title.strip() == entered.title):
                engine.teams.spaces.rename(entered.workspace, title, entered.actor)
                st.rerun()
        with st.popover("Delete…"):
            confirm_deletion(entered.workspace, entered.title, _gone)


def _gone() -> None:
    workspace_entry.go("")
    st.rerun()


def day(at: str) -> str:
    """A moment, as the day that people call it."""
    moment = datetime.fromisoformat(at)
    return f"{moment.day} {moment:%B %Y}"


def address(token: str) -> str:
    """The address that a link is: this app's own, with what lets in."""
    parts = urlsplit(st.context.url or "")
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    start = f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""
    return f"{start}/{base}{'/' if base else ''}?{workspace_entry.LINK}={token}"


def _members(engine: Engine, entered: Entered) -> None:
    members = engine.teams.spaces.members(entered.workspace)
    draw(h.div("cx")[h.p[h.b[entered.title], " is shared with"]])
    if not members:
        st.caption("Nobody yet: it is private to its owner.")
    for member in members:
        _member(engine, entered, member)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        kind = forms.one_of("Share with", _KINDS, "share-kind", label_visibility="visible", persist_state=None)
        label = "E-mail" if kind == "person" else "Group name, as your sign-in provider gives it"
        who = st.text_input(label, key=f"share-who-{tab.page().shares}")
        role: Role = st.selectbox("Role", list(_SHORT), index=1, format_func=_SHORT.__getitem__, key="share-role")
        if st.button("Add", key="share-add", type="primary"):
            engine.teams.spaces.share(entered.workspace, kind, who, role, entered.actor, was=None)
            tab.page().shares += 1
            st.rerun(scope="fragment")
    st.caption("A role in a workspace can't exceed the person's role in the app.")


def _member(engine: Engine, entered: Entered, member: Member) -> None:
    key = f"share-{member.kind}-{member.who}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        group = " (group)" if member.kind == "group" else ""
        with st.container(width="stretch"):
            draw(h.div("cx")[member.shown, group])  # Markdown would make a link of an e-mail
        role: Role = st.selectbox(
            "Role of this member",
            list(_SHORT),
            index=list(_SHORT).index(member.role),
            format_func=_SHORT.__getitem__,
            key=f"{key}-{member.role}",
            label_visibility="collapsed",
            width=120,
        )
        out = st.button("Remove", key=f"{key}-out", type="tertiary")
    if out:
        engine.teams.spaces.unshare(entered.workspace, member.kind, member.who, entered.actor)
        st.rerun(scope="fragment")
    if role != member.role:
        engine.teams.spaces.share(entered.workspace, member.kind, member.who, role, entered.actor, was=member.role)
        st.rerun(scope="fragment")


def _links(engine: Engine, entered: Entered) -> None:
    st.markdown("**Links to read**")
    st.caption(
        "Anyone with such a link can see the documents, runs and exports here, but can't ask or change anything."
    )
    made = tab.page().link
    for link in engine.teams.links.of(entered.workspace):
        _link(engine, entered, link)
        if made is not None and made[0] == link.id:
            st.code(address(made[1]), language=None, wrap_lines=True)
            st.caption("Copy it now: it is not stored and won't be shown again.")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        days = st.number_input("Days until it ends", 1, LONGEST, 7, key="share-days", width=160)
        if st.button("Create a link", key="share-link"):
            link, token = engine.teams.links.issue(entered.workspace, int(days), entered.actor)
            tab.page().link = link.id, token
            st.rerun(scope="fragment")


def _link(engine: Engine, entered: Entered, link: Link) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"Created {_ago(link.made_at)}, ends {day(link.ends_at)}", width="stretch")
        if st.button("End", key=f"link-{link.id}-end", type="tertiary"):
            engine.teams.links.end(link.id, entered.actor)
            st.rerun(scope="fragment")


def _ago(at: str) -> str:
    days = (date.today() - datetime.fromisoformat(at).date()).days
    return "today" if days <= 0 else f"on {day(at)}"


def confirm_deletion(name: str, title: str, then: Callable[[], object]) -> None:
    """Says what goes, and deletes it after a tick and a click."""
    st.caption("Deletes its documents, runs, question sets and links for good. Only a backup can bring them back.")
    sure = st.checkbox(f"Delete all of {markdown(title)}", key=f"delete-sure-{name}")
    if st.button("Delete for good", key=f"delete-{name}", type="primary", disabled=not sure):
        with problems.reported():
            delete_workspace(name)
            then()


def delete_workspace(name: str) -> None:
    """Ends what is under way there, shuts everybody out and removes the library, for who may. Raises CragError."""
    engine = program().engine
    actor = workspace_entry.enter(program(), now=True).actor
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
