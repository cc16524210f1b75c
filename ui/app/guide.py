"""For somebody who can do nothing in an empty workspace: what their role lets them do, whom to ask, what is shared."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from crag.admin.roles import Role
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.elements import Html
from crag.export.html.safe_text import markdown
from ui.access import signed_in, workspace_entry
from ui.access.visitor import Entered
from ui.app import clicks, navigation
from ui.app.program import program
from ui.app.session import Session
from ui.app.sharing import MAY
from ui.app.workspace_menu import called
from ui.components.drawing import draw

MEANS: dict[Role, str] = {
    "reader": "Read-only: you can open documents, answers and reports. You can't ask questions or change anything.",
    "viewer": "View-only: you can read documents, answers and reports, and ask questions about the documents. You "
    "can't add, change or delete documents.",
    "editor": "You can ask, add and change documents, tune and evaluate.",
    "admin": "You can do everything, including changing settings, people and all workspaces.",
}
"""What each role lets a person do in a workspace."""
_WIDE = 620
"""Pixels of a line that is read well."""
_MOST = 10
"""Workspaces that have a button; all of them are in the menu."""


def stuck(session: Session) -> bool:
    """Whether there is nothing to ask about, and who is here can't add anything. Raises CragError."""
    return not session.may("edit") and session.library.documents.count() == 0


def show(session: Session) -> None:
    """In place of a page that is empty and stays so. Raises CragError."""
    entered = session.entered
    with st.container(width=_WIDE):
        if not entered.actor.id:
            st.title("This workspace is empty", anchor=False)
            st.markdown("There is nothing to read yet. Ask the person who shared it with you to add documents.")
            return
        st.title("There are no documents here yet", anchor=False)
        draw(_role(entered))
        _shared(entered)
        st.header("Your admins", anchor=False)
        draw(_admins())


def empty(session: Session, said: str, more: str = "", key: str = "", **pages: str) -> None:
    """In place of a page with nothing on it: what it is for, as Markdown, and buttons to `pages`, their labels by page.

    To somebody who can do nothing about it, what they can do instead. Raises CragError.
    """
    if stuck(session):
        show(session)
        return
    st.markdown(said, width=_WIDE)
    if more:
        st.caption(more, width=_WIDE)
    with st.container(horizontal=True):
        for place, (page, label) in enumerate(pages.items()):
            kind: Literal["primary", "secondary"] = "secondary" if place else "primary"
            if session.may("ask" if page == "ask" else "edit"):
                st.button(label, key=f"{key}-to-{page}", type=kind, on_click=navigation.go, args=(page,))


def unverified() -> Html | None:
    """That an e-mail gives its person nothing, and what to do; nothing where it counts, or there is none."""
    email = signed_in.unverified()
    if not email:
        return None
    return h.fragment(
        h.p["Your sign-in provider does not confirm your e-mail address ", h.b[email], "."],
        h.p[
            "Roles, invitations and workspaces that are given to this address do not reach you. Verify the address at "
            "the provider, then sign in again. If it is verified there, ask an admin to check how this app trusts "
            "the provider's e-mails."
        ],
    )


def _role(entered: Entered) -> Html:
    own = called(entered.workspace, entered.title, entered.actor.id)
    notice = unverified()
    return h.div("cx")[
        h.p[h.b[own], " is empty, and your role does not let you add documents."],
        h.p["Your role: ", h.b[entered.visitor.role], ". ", MEANS[entered.visitor.role]],
        notice and h.div("note")[notice],
    ]


def _shared(entered: Entered) -> None:
    st.header("Shared with you", anchor=False)
    others = [each for each in entered.choices if each.workspace.name != entered.workspace]
    if not others:
        how = (
            "A workspace can be shared with one of your groups, or with your e-mail address once it is confirmed."
            if signed_in.unverified()
            else f"Ask an admin or a colleague to share one with {entered.visitor.name}: it appears here."
        )
        draw(h.div("cx")[h.p["No workspace is shared with you yet. ", how]])  # Markdown would make a link of an e-mail
    for each in others[:_MOST]:
        title = called(each.workspace.name, each.workspace.title, entered.actor.id)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            clicks.button(
                markdown(f"Open {title}"),
                f"guide-{each.workspace.name}",
                workspace_entry.go,
                each.workspace.name,
                type="primary",
            )
            st.caption(f"You can {MAY[each.role]}.", width="content")
    if len(others) > _MOST:
        st.caption(f"{words.count(len(others) - _MOST, 'more workspace')} in the menu at the top.")


def _admins() -> Html:
    found = admins()
    ask = "To add documents, ask for the editor role. To see other people's documents, ask them to share a workspace."
    return h.div("cx")[
        h.ul[[h.li[h.b[name], f", {email}" if name and email else email] for name, email in found]]
        if found
        else h.p["Ask the person who gave you the address of this app."],
        h.p("small")[ask],
    ]


def admins() -> list[tuple[str, str]]:
    """Names and e-mails of those who administer; none where the settings say not to show them. Raises StorageError."""
    config = program().config
    if not config.people.show_admins:
        return []
    here = [each for each in program().engine.teams.people.all() if each.welcome and each.role == "admin"]
    known = {each.email for each in here}
    named = [each.strip().lower() for each in config.people.admins if "@" in each]
    return [
        *((each.name or each.email or each.subject, each.email if each.name else "") for each in here),
        *(("", email) for email in named if email not in known),
    ]
