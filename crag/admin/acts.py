"""The kinds of acts that the audit log has; apart from it, so that a command's help need not load the database."""

from __future__ import annotations

from typing import Literal

__all__ = ["AuditedAct"]

AuditedAct = Literal[
    "sign-in",
    "sign-out",
    "refused",
    "delete",
    "setting",
    "limit",
    "key",
    "role",
    "remove",
    "workspace",
    "share",
    "link",
    "token",
    "backup",
    "restore",
    "scrape",
]
"""setting: of the program. key: one was entered, forgotten or used for a server; never its value."""
