"""What each role may do: the one place where that is decided."""

from __future__ import annotations

from typing import Literal

__all__ = ["ACTS", "ROLES", "Permission", "Role", "higher", "lower", "may"]

Role = Literal["reader", "viewer", "editor", "admin"]
"""From the least to the most. "reader" has no account: whoever opens a read-only link."""

Permission = Literal["see", "ask", "edit", "administer"]
"""see: open runs, documents and exports. ask: ask, compare, thumbs. edit: add and delete documents, tags and pages
kept, delete runs, evaluate, apply thresholds. administer: settings of the program, people, limits, all workspaces."""

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
