"""A table's words without its amounts: what an embedding can tell tables apart by. Pure."""

from __future__ import annotations

import re

__all__ = ["amountless", "without_amounts"]

Span = tuple[int, int]

# Each begins where its run of signs or blanks does, so that a long run is looked at once.
_AMOUNT = re.compile(r"(?<![$€£¥(+−-])[$€£¥(+−-]*+(?<!\w)\d[\d.,]*(?!-?\w)[)%]*")
_GAPS = re.compile(r"(?<!\s)\s*+[;:|—–][;:|—–\s]*+")
_EDGES = " \t;:,.$€£¥()%|—–-"


def without_amounts(text: str) -> str:
    """Headings and row labels, parted by semicolons; the text as it is where there is nothing but amounts.

    A row of amounts fills most of a vector's tokens and says nothing that a question asks by; what it is an amount
    of does.
    """
    return amountless(text)[0]


def amountless(text: str) -> tuple[str, list[tuple[Span, Span]]]:
    """`without_amounts`, and where each line of the text stands in it: an empty span of a line that is left out."""
    said: list[str] = []
    places: list[tuple[Span, Span]] = []
    at = length = 0
    for line in text.split("\n"):
        label = " ".join(_GAPS.sub("; ", _AMOUNT.sub(" ", line)).split()).strip(_EDGES)
        if label:
            length += len("; ") if said else 0
            said.append(label)
        places.append(((at, at + len(line)), (length, length + len(label))))
        at, length = at + len(line) + 1, length + len(label)
    return ("; ".join(said), places) if said else (text, [(line, line) for line, _ in places])
