"""Whether a question is German."""

from __future__ import annotations

import re

_ENGLISH = frozenset(
    """the of and to that with for from this these those which were are has have had by it its their they would
    could should not been there what how when where who why did does""".split()
)
"""Words that any English text holds; those that are words of other languages too are few among them."""
_GERMAN = frozenset(
    """der die das dem den und im am ist war waren wurde wurden hat hatte haben ein eine einer wie was wer wo wann
    warum welche welcher welches für von nicht sich mit auf es zum zur""".split()
)
"""Words of German questions; an English one that holds two of them holds English ones too."""


def is_german(text: str) -> bool:
    """Whether a question is German, where every noun is written as a name is."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    return sum(word in _GERMAN for word in words) > 1 and not any(word in _ENGLISH for word in words)
