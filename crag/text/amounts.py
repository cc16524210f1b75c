"""A table's words without its amounts: what an embedding can tell tables apart by. Pure."""

from __future__ import annotations

import re

__all__ = ["without_amounts"]

# Each begins where its run of signs or blanks does, so that a long run is looked at once.
_AMOUNT = re.compile(r"(?<![$€£¥(+−-])[$€£¥(+−-]*+(?<!\w)\d[\d.,]*(?!-?\w)[)%]*")
_GAPS = re.compile(r"(?<!\s)\s*+[;:|—–][;:|—–\s]*+")
_EDGES = " \t;:,.$€£¥()%|—–-"


def without_amounts(text: str) -> str:
    """Headings and row labels, parted by semicolons; the text as it is where there is nothing but amounts.

    A row of amounts fills most of a vector's tokens and says nothing that a question asks by; what it is an amount
    of does.
    """
    labels = (_GAPS.sub("; ", _AMOUNT.sub(" ", line)) for line in text.split("\n"))
    said = (" ".join(label.split()).strip(_EDGES) for label in labels)
    return "; ".join(label for label in said if label) or text
