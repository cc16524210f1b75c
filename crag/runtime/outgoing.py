"""What a query looks like when it leaves this machine: shown, remembered and sent in one form."""

from __future__ import annotations

import unicodedata

__all__ = ["MAX_QUERY", "outgoing"]

MAX_QUERY = 400
"""Tavily refuses longer queries."""


def outgoing(query: str) -> str:
    """The query as it is sent: one line of at most 400 characters, without control characters."""
    plain = "".join(" " if unicodedata.category(each) in ("Cc", "Cs") else each for each in query)
    return " ".join(plain.split())[:MAX_QUERY].rstrip()
