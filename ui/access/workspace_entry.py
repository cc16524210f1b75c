"""Which workspace a tab shows, and to whom: a link's, one of a person's, a key's, or the one of this machine."""

from __future__ import annotations

import streamlit as st

from crag.admin.people import Person
from crag.admin.roles import Actor, Role
from crag.admin.workspaces import Shared, Workspace, own_name
from crag.core.errors import AccessError
from crag.engine import Engine
from crag.storage.places import WORKSPACE_NAME
from ui.access import signed_in, workspaces
from ui.access.signed_in import RunningProgram
from ui.access.visitor import Entered, Visitor, state

WORKSPACE, LINK = "ws", "link"
"""What the address says: the workspace that is shown, and the link by which somebody reads."""
_REFUSED = "You have no access to the workspace in this address. This is your own workspace."
_SHUT = "You no longer have access to that workspace. This is your own workspace."


def enter(program: RunningProgram, *, now: bool = False) -> Entered:
    """The workspace of this browser session, asked for in each run of the script.

    A person with a link need not sign in. `now`: see `signed_in.person`, whose errors it raises; AccessError too for a
    link that lets nobody in.
    """
    engine = program.engine
    if (read := _by_link(engine)) is not None:
        return read
    person = signed_in.person(program, now=now)
    if person is not None:
        return _of_person(engine, person)
    workspace = workspaces.open_workspace(engine)
    if workspaces.shared(engine.config):
        holds = workspace if workspaces.key() else ""
        visitor = Visitor(name="visitor", role="editor", administers=False)
        return Entered(workspace=workspace, visitor=visitor, actor=Actor(name="visitor", holds=holds))
    visitor = Visitor(name="owner", role="admin", administers=True)
    return Entered(workspace=workspace, visitor=visitor, actor=Actor(name="owner", administers=True))


def by_link() -> bool:
    """Whether the tab came by a link, whatever that is worth."""
    return LINK in st.query_params or bool(state().link)


def here() -> dict[str, str]:
    """What an address must say beside its page to lead to the workspace that this tab shows."""
    own = state()
    if own.link:
        return {LINK: own.link}
    if own.person and own.space:
        return {WORKSPACE: own.space}
    return {workspaces.KEY: workspaces.key()} if workspaces.key() else {}


def as_whom() -> tuple[str, str]:
    """The id of the person whose tab this is, or else the link by which it reads; each empty where there is none."""
    own = state()
    return "" if own.link else own.person, own.link


def go(workspace: str) -> None:
    """Show another workspace from now on, or one's own for none; the address says nothing of the one before."""
    state().space = workspace
    st.query_params.clear()
    if workspace:
        st.query_params[WORKSPACE] = workspace


def leave_link() -> None:
    """Read by the link no more."""
    state().link = ""
    st.query_params.clear()


def _by_link(engine: Engine) -> Entered | None:
    """What a link lets read; None where the tab has none."""
    own, wanted = state(), st.query_params.get_all(LINK)
    token = wanted[0] if len(wanted) == 1 else own.link
    if not wanted and not token:
        return None
    try:
        link = engine.teams.links.opened(token)
    except AccessError:
        own.link = ""
        st.query_params[LINK] = token  # so that it says why, and not asked to sign in, until another page is opened
        workspaces.switch_to("")
        raise
    if st.query_params.get(LINK) != token:
        st.query_params[LINK] = token
    own.link = token
    name = f"link {link.id}"
    if link.id not in own.opened:
        own.opened.add(link.id)
        engine.teams.audit.note("link", name, workspace=link.workspace, what="opened")
    for other in (WORKSPACE, workspaces.KEY):
        st.query_params.pop(other, None)
    visitor = Visitor(name=name, role="reader", administers=False)
    return Entered(workspace=workspaces.switch_to(link.workspace), visitor=visitor, actor=Actor(name=name), link=link)


def _of_person(engine: Engine, person: Person) -> Entered:
    here = state()
    if here.person != person.id:
        if here.person:  # somebody else's session before, in the same tab
            here.space = ""
            workspaces.switch_to("")
        engine.teams.spaces.own(person)
        here.person = person.id
    choices = tuple(engine.teams.spaces.of(person))
    own = own_name(person.id)
    if not any(each.workspace.name == own for each in choices):  # removed meanwhile
        engine.teams.spaces.own(person)
        choices = tuple(engine.teams.spaces.of(person))
    administers = person.role == "admin"
    called = person.email or person.name or person.id
    wanted, held = st.query_params.get_all(WORKSPACE), here.space
    name = wanted[0] if len(wanted) == 1 else held or own
    found, refused = _chosen(engine, name, choices, administers), ""
    if found is None:
        known = name if WORKSPACE_NAME.fullmatch(name) else ""
        engine.teams.audit.note("refused", called, workspace=known, what="a workspace in the address", refused=True)
        found, refused = _chosen(engine, own, choices, administers), _SHUT if name == held else _REFUSED
        for gone in list(st.query_params):
            del st.query_params[gone]
    space, role = found if found is not None else (engine.teams.spaces.own(person), person.role)
    if st.query_params.get(WORKSPACE) != space.name:
        st.query_params[WORKSPACE] = space.name
    st.query_params.pop(workspaces.KEY, None)
    here.space = space.name
    engine.teams.spaces.used(space.name)
    return Entered(
        workspace=workspaces.switch_to(space.name),
        visitor=Visitor(name=called, role=role, administers=administers, person=person.id),
        actor=Actor(name=called, id=person.id, administers=administers),
        title=space.title,
        owner=space.owner,
        choices=choices,
        refused=refused,
    )


def _chosen(engine: Engine, name: str, choices: tuple[Shared, ...], administers: bool) -> tuple[Workspace, Role] | None:
    """The workspace of this name and what may be done there; who administers may enter what no person has, too."""
    for each in choices:
        if each.workspace.name == name:
            return each.workspace, each.role
    if administers and WORKSPACE_NAME.fullmatch(name) and engine.private_libraries.holds(name):
        space = Workspace(name=name, title=f"Library {name}"[:60], owner="", made_at="", used_at="")
        return space, "admin"
    return None
