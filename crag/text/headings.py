"""Headings: which of them tell what a text is about."""

from __future__ import annotations

import re

from crag.text.words import STOP_WORDS

__all__ = ["telling"]

_LONGEST = 70
_NUMBERED = re.compile(
    r"^(?:(?:note|item|part|section|chapter|appendix) )?(?:\d+[A-Z]?|[IVX]+)(?:\.\d+)*[\s.:)–—-]+", re.I
)
_TORN = re.compile(r"\. ?\.|\d \.\d")
"""Rows of dots, and numbers that were torn apart."""
_WORN = frozenset(
    """acronym acronyms analysis annex appendix chapter conclusion conclusions contents continued date definition
    definitions exhibit exhibits figure fiscal form general history index information introduction item march measure
    milestone milestones note notes number objective overview page part performance progress reference references
    report result results section signature signatures statement summary table target total update value values year
    met january february april may june july august september october november december""".split()
)
"""What headings of any document say."""


def telling(heading: str) -> str:
    """The heading in one line, as "Legal Proceedings"; empty where it tells nothing of its document.

    That is one of a single word, of words that stand in any document, or cut out of a sentence.
    """
    line = _NUMBERED.sub("", " ".join(heading.split())).strip(" .:–—-•")
    spoken = re.findall(r"[^\W\d_]{3,}", line.casefold())
    own = [word for word in spoken if word not in STOP_WORDS and word not in _WORN]
    ends = re.findall(r"\w+", line.casefold())
    if not 4 <= len(line) <= _LONGEST or len(own) < 2 or "|" in line or "; " in line or _TORN.search(line):
        return ""
    return "" if ends[0] in STOP_WORDS or ends[-1] in STOP_WORDS else line
