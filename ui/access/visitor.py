"""Who is at this browser tab, and what they may do in the workspace that it shows."""

from __future__ import annotations

from dataclasses import dataclass

from crag.admin.roles import Permission, Role, may


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
