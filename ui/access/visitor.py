"""Who is at this browser tab, what they may do in the workspace that it shows, and what the tab remembers of that."""

from __future__ import annotations

from dataclasses import dataclass, field

from crag.admin.roles import Permission, Role, may
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


@dataclass(slots=True)
class AccessState:
    """What a tab remembers of the workspace that it shows, and of who may see it.

    `browser`: its browser's own cookie. `key`: what opens a library without sign-in; `sent`: whether an address brought
    it; `refused`: whether another one was refused. `space`: the workspace of a person that is shown; `link`: the one it
    is read by; `person`: whose tab it is; `opened`: the links that were noted as opened.
    """

    browser: str = ""
    key: str = ""
    sent: bool | None = None
    refused: bool = False
    space: str = ""
    link: str = ""
    person: str = ""
    opened: set[str] = field(default_factory=set)


def state() -> AccessState:
    """The tab's."""
    return tab_state(AccessState)
