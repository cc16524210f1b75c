"""Which sentences of an answer claim something of its subject, and so need a source. When unsure, one does."""

from __future__ import annotations

import re

_LEAD_IN_WORDS = 14
"""A longer line that ends with a colon may say something itself."""

_HEADING = re.compile(r"#{1,6}\s|(?P<bold>\*\*|__)[^*_]{1,80}(?P=bold)[:.]?$")
_SAYS = (
    r"(?:say|state|mention|tell|specify|provide|give|contain|include|answer|address|cover|describe|explain|indicate)"
)
_TEXTS = (
    r"(?:(?:provided|given|available|above|cited|retrieved)\s+)?(?:sources?|passages?|texts?|documents?|excerpts?|"
    r"context|evidence|information|materials?)(?:\s+(?:provided|given|available|above|shown|cited))?"
)
_NOT = r"(?:do(?:es)?\s+not|do(?:es)?n['’]t|did\s+not|didn['’]t|never)"
_SILENT = re.compile(
    rf"(?:(?:unfortunately|sorry|however|but),?\s+)?(?:"
    rf"(?:(?:the|these|those|your|my|none\s+of\s+the)\s+)?{_TEXTS}\s+(?:{_NOT}\s+(?:\w+ly\s+)?)?{_SAYS}s?\b"
    rf"|there\s+(?:is|are|was|were)\s+no\s+(?:(?:further|other|more|specific|direct|explicit)\s+)?"
    rf"(?:information|mention|answer|data|details?|evidence|sources?|passages?)\b"
    rf"|no\s+(?:further\s+|other\s+|specific\s+)?(?:information|sources?|passages?|details?)\s+(?:is|are|was|were|{_SAYS}s?)\b"
    rf"|(?:this|that|it)\s+is\s+(?:not|n['’]t)\s+(?:\w+ly\s+)?(?:stated|mentioned|said|specified|given|covered|provided)\b"
    rf"|i\s+(?:can\s*not|can['’]t|could\s+not|couldn['’]t|do\s+not|don['’]t|am\s+(?:unable|not\s+able)\s+to)\s+"
    rf"(?:find|know|answer|tell|see|determine|say|have)\b)",
    re.IGNORECASE,
)
_DENIES = re.compile(rf"\b{_NOT}\b|\bno(?:ne)?\b|\bnot\b|n['’]t\b|\bcan\s*not\b|\bunable\b", re.IGNORECASE)
_BUT = re.compile(
    r"(?:[;:–—]|\s-)\s|,\s(?:and|it|they|he|she|so|the)\b|"
    r"\b(?:but|however|although|though|while|whereas|except|because|since|instead|only|and\s+(?:it|they|he|she|the))\b",
    re.IGNORECASE,
)
"""What may bring a second statement, which is one of the subject."""
_MANNERS = re.compile(
    r"(?:hello|hi|hey|dear\s+\w+|greetings|good\s+(?:morning|afternoon|evening)|sure|certainly|of\s+course|absolutely|"
    r"thanks?(?:\s+you)?(?:\s+for\s+(?:your|the)\s+question)?|you['’]?(?:re|\s+are)\s+welcome|great\s+question|sorry|"
    r"(?:i\s+)?hope\s+(?:this|that|it)\s+helps?|(?:please\s+)?let\s+me\s+know\s+if\s+.{0,60}|"
    r"(?:please\s+)?feel\s+free\s+to\s+ask.{0,40}|(?:i['’]?m|i\s+am)\s+(?:happy|glad)\s+to\s+help)(?:\s+there)?[\s.!,]*$",
    re.IGNORECASE,
)


def claims(sentence: str) -> bool:
    """Whether a sentence says something of what was asked about: one that does needs a source.

    A greeting, a question, a heading, a line that leads in what follows, and that the sources do not say something
    claim nothing. What says more beside that, as with "but", claims it.
    """
    bare = sentence.strip(" \t\"'“”‘’()*-•–")
    if not any(letter.isalnum() for letter in bare) or bare.endswith("?"):
        return False
    if _HEADING.match(sentence.strip()) or _MANNERS.match(bare):
        return False
    if sentence.rstrip(" *_").endswith(":"):
        return len(bare.split()) > _LEAD_IN_WORDS or any(letter.isdigit() for letter in bare)
    return not _silent(bare)


def _silent(sentence: str) -> bool:
    """Whether all that is said is that the sources do not say something."""
    told = _SILENT.match(sentence)
    if told is None or not _DENIES.search(sentence[: told.end() + 1]):
        return False
    return _BUT.search(sentence, told.end()) is None
