"""Roles, what they permit, and who acts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crag.core.errors import AccessError

Role = Literal["reader", "viewer", "editor", "admin"]
"""From the least to the most. "reader" has no account: anyone who opens a read-only link."""

Permission = Literal["see", "ask", "edit", "administer"]
"""see: open runs, documents and exports. ask: ask, compare, thumbs. edit: add and delete documents, tags and pages
kept, delete runs, evaluate, apply thresholds. administer: settings of the program, people, all workspaces."""

ROLES: tuple[Role, ...] = ("reader", "viewer", "editor", "admin")
ACTS: tuple[Permission, ...] = ("see", "ask", "edit", "administer")


def may(role: Role, act: Permission) -> bool:
    """Whether who has the role may do this."""
    return ROLES.index(role) >= ACTS.index(act)


def lower(one: Role, other: Role) -> Role:
    """The one that may do less: a role in a workspace never gives more than the person's own."""
    return min(one, other, key=ROLES.index)


def higher(one: Role, other: Role) -> Role:
    """The one that may do more: who is let in by several ways has the best of them."""
    return max(one, other, key=ROLES.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """`name` as the audit log has it; `id` of the person who signed in, if one did.

    `administers`: they run the whole program. `holds`: the library whose key they have, where libraries have keys.
    """

    name: str
    id: str = ""
    administers: bool = False
    holds: str = ""

    def manages(self, workspace: str, owner: str) -> bool:
        """Whether they decide who may enter this workspace, whose owner has this id."""
        return (
            self.administers or (bool(self.id) and self.id == owner) or (bool(self.holds) and self.holds == workspace)
        )


def check(by: Actor, workspace: str, owner: str) -> None:
    """Raises AccessError where somebody else than these wants to change who may enter a workspace."""
    if not by.manages(workspace, owner):
        raise AccessError(
            "Only the owner of a workspace, or who administers, changes it and who may enter it.", "Ask the owner."
        )
