"""Who is at this browser tab, what they may do in the workspace that it shows, and what the tab remembers of that."""

from __future__ import annotations

from dataclasses import dataclass, field

from crag.admin.links import Link
from crag.admin.people import Person
from crag.admin.roles import Actor, Permission, Role, may
from crag.admin.workspaces import Shared
from ui.access import oidc
from ui.components.tab_state import tab_state


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """`name` as the audit log has it: "owner" at this machine, "visitor" behind a key, an e-mail of who signed in.

    `role` is what they may do in this workspace, and `administers` whether they run the whole program. `person` is the
    id of who signed in.
    """

    name: str
    role: Role
    administers: bool
    person: str = ""

    def may(self, act: Permission) -> bool:
        """Whether they may do this here; administering is of the whole program."""
        return self.administers if act == "administer" else may(self.role, act)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Who signed in, by what their provider said, and when that was asked."""

    person: Person
    signed: oidc.Signed
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """The name of the library, who sees it, and as whom they change who may enter it.

    `title` is empty where there are no people who signed in; `choices` are the workspaces a person may enter. `link`:
    they read by it. `refused` says why another workspace is shown than the address named.
    """

    workspace: str
    visitor: Visitor
    actor: Actor
    title: str = ""
    owner: str = ""
    choices: tuple[Shared, ...] = ()
    link: Link | None = None
    refused: str = ""

    @property
    def manages(self) -> bool:
        """Whether who is here decides who else may enter."""
        return self.link is None and self.actor.manages(self.workspace, self.owner)


@dataclass(slots=True)
class AccessState:
    """What a tab remembers of its access.

    `browser`: its browser's own cookie. `key`: what opens a library without sign-in; `sent`: whether an address brought
    it; `refused`: whether another one was refused. `space`: the workspace of a person that is shown; `link`: the one it
    is read by; `person`: whose tab it is; `opened`: the links that were noted as opened. `seen`: who signed in, asked
    last; `refusal`: why somebody was refused, as noted last; `left`: somebody has signed out here. `arrived`: what was
    entered in this run of the script, and when, from what is on every page to the page itself.
    """

    browser: str = ""
    key: str = ""
    sent: bool | None = None
    refused: bool = False
    space: str = ""
    link: str = ""
    person: str = ""
    opened: set[str] = field(default_factory=set)
    seen: Seen | None = None
    refusal: str = ""
    left: bool = False
    arrived: tuple[Entered, float] | None = None


def state() -> AccessState:
    """The tab's."""
    return tab_state(AccessState)
