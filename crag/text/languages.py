"""Whether a text is in another language than a question, where that can be recognised by script or by English words."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

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
_WORDS, _LETTERS = 12, 10
"""From how many words or letters on an answer tells its language."""
_MOST = 0.02
"""The share of such words up to which a text is not English; in English it is about a quarter."""


def other_language(asked: str, said: str) -> bool:
    """Whether `said` is surely in another language than `asked`. Of two languages in one script only English is known.

    False where it can't be known: for few words, or for a question that is not English.
    """
    if (said_in := _script(said)) and (asked_in := _script(asked)) and said_in != asked_in:
        return True
    words = re.findall(r"[^\W\d_]+", said.casefold())
    if len(words) < _WORDS or _english(re.findall(r"[^\W\d_]+", asked.casefold())) < 0.1:
        return False
    return _english(words) <= _MOST


def is_german(text: str) -> bool:
    """Whether a question is German, where every noun is written as a name is."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    return sum(word in _GERMAN for word in words) > 1 and not any(word in _ENGLISH for word in words)


def _english(words: list[str]) -> float:
    return sum(word in _ENGLISH for word in words) / len(words) if words else 0.0


def _script(text: str) -> str:
    """The script of most letters, as Unicode names it; nothing where there are few, or several."""
    letters = [each for each in text[:4000] if each.isalpha()]
    if len(letters) < _LETTERS:
        return ""
    [(script, count)] = Counter(unicodedata.name(each, "?").split()[0] for each in letters).most_common(1)
    script = "CJK" if script in ("CJK", "HIRAGANA", "KATAKANA") else script
    return script if count > 0.6 * len(letters) else ""
