"""People: who signed in or is invited, what they may do, and who may come no more."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from crag.admin.people import GIVEN_ROLES, Person
from crag.admin.roles import Role
from crag.export.html import elements as h
from crag.export.html import words
from ui.app import clicks, tables
from ui.app.program import program
from ui.app.session import Session
from ui.components import problems
from ui.components.drawing import draw
from ui.components.tab_state import tab_state

_STANDINGS = {"here": "", "invited": "invited", "removed": "removed"}
_COLUMNS = {
    "Name": st.column_config.TextColumn(width=180, pinned=True),
    "E-mail": 240,
    "Groups": 200,
}


@dataclass(slots=True)
class AdministrationState:
    """How often something was done with people and with workspaces: their tables and forms begin again then."""

    people: int = 0
    spaces: int = 0


def state() -> AdministrationState:
    """The tab's."""
    return tab_state(AdministrationState)


def show(session: Session) -> None:
    """The table, what is done with the row selected, and an invitation. Raises CragError."""
    found = program().engine.teams.people.all()
    if not found:
        st.caption(
            "Nobody has signed in yet. Set up sign-in in the section [auth] of Streamlit's secrets; "
            "docs/sign-in.md explains how."
        )
    if found:
        key = f"admin-people-{state().people}-{len(found)}"
        rows = tables.picked(list(map(_row, found)), key, "The people who may sign in", _COLUMNS)
        for row in rows:
            _change(session, found[row])
        if not rows:
            st.caption("Select a row to change a role, or to remove somebody.")
    _invite(session)


def _row(person: Person) -> dict[str, str]:
    return {
        "Name": person.name,
        "E-mail": person.email,
        "Role": f"{person.role} ({person.source})" if person.source else person.role,
        "Last seen": words.ago(person.seen_at) if person.seen_at else _STANDINGS[person.standing],
        "Groups": ", ".join(person.groups),
        "Standing": _STANDINGS[person.standing] or "may sign in",
    }


def _change(session: Session, person: Person) -> None:
    people = program().engine.teams.people
    with st.container(border=True):
        draw(h.div("cx")[h.p[h.b[person.called]]])
        if person.standing == "removed":
            st.caption("Removed. Inviting the same e-mail lets them in again.")
            return
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            role: Role = st.selectbox(
                "Role",
                GIVEN_ROLES,
                index=GIVEN_ROLES.index(person.role) if person.role in GIVEN_ROLES else 0,
                key=f"admin-role-{person.id}-{person.role}",
                width=160,
            )
            clicks.button(
                "Change the role",
                "admin-role",
                _give,
                session,
                person.id,
                person.role,
                role,
                disabled=role == person.role,
            )
            with st.popover("Remove…"):
                st.caption("They lose access at once, and what they started is stopped. Their workspaces stay.")
                if st.button("Remove", key="admin-remove", type="primary"):
                    with problems.reported():
                        session.require("administer")
                        people.remove(person.id, by=session.visitor.name)
                        _refresh()


def _give(session: Session, id: str, was: Role, role: Role) -> None:
    """As it was drawn when it was clicked: the page that is drawn next shows what another admin did meanwhile."""
    with problems.reported(by=problems.announce):
        session.require("administer")
        program().engine.teams.people.change_role(id, role, by=session.visitor.name, was=was)
    state().people += 1


def _invite(session: Session) -> None:
    st.header("Invite", anchor=False)
    turn = state().people
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        email = st.text_input("E-mail", key=f"admin-invite-{turn}", placeholder="name@example.org")
        role: Role = st.selectbox("Role", GIVEN_ROLES, key=f"admin-invite-role-{turn}", width=160)
        if st.button("Invite", key="admin-invite", type="primary"):
            with problems.reported():
                session.require("administer")
                program().engine.teams.people.invite(email, role, by=session.visitor.name)
                _refresh()
    st.caption("No e-mail is sent: tell them the app's address. Anyone who signs in with this e-mail gets this role.")


def _refresh() -> None:
    state().people += 1
    st.rerun()
