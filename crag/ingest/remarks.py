"""What a person should know of a file beside its pages, as sentences: what was left out of it, and why. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_LEFT_OUT: Mapping[str, tuple[str, str]] = {
    "deleted": ("1 word that its tracked changes delete", "{:,} words that its tracked changes delete"),
    "comments": ("1 comment", "{:,} comments"),
    "remarks": ("1 comment in its source", "{:,} comments in its source"),
    "hidden slides": ("1 hidden slide", "{:,} hidden slides"),
    "hidden sheets": ("1 hidden sheet", "{:,} hidden sheets"),
    "hidden rows": ("1 hidden row", "{:,} hidden rows"),
    "hidden columns": ("1 hidden column", "{:,} hidden columns"),
}


def remarks(notes: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each thing that the reader noted; what it noted as 0 is nothing. Raises ValueError, TypeError."""
    for what, (one, several) in _LEFT_OUT.items():
        count = int(notes.get(what, 0))
        if count > 0:
            was = "it was" if count == 1 else "they were"
            yield f"It holds {one if count == 1 else several.format(count)}: {was} left out."
    if notes.get("macros"):
        yield "It holds macros: they are not run and not read."
    if notes.get("deep"):
        yield "Some of it is nested too deeply to be read."
    if cut := notes.get("cut"):
        yield f"Only its first part is read: what follows {str(cut)[:120]} is over the limits."
