"""Whether a question can be understood only from what was asked before: by its form, and only where that is clear."""

from __future__ import annotations

import re

from crag.generation.periods import PERIOD
from crag.text.names import names_in
from crag.text.words import FUNCTION_WORDS, words

_AUXILIARIES = frozenset("is are was were do does did has have had can could will would should may might must".split())
_PREPOSITIONS = frozenset(
    """of to in at near from outside inside around for by with on as about between over during per than since under
    into until against""".split()
)
_ASKING = frozenset("what which who whom whose when where why how".split())
_SAYING_NOTHING = (
    FUNCTION_WORDS
    | _AUXILIARIES
    | _PREPOSITIONS
    | _ASKING
    | frozenset("many much long often far one ones else exactly happen happened come same too there's".split())
)
"""Words by which no document is found: a question of them alone is about what was asked before."""

OPENED = re.compile(
    r"(?:(?:and|but|so|or|also|plus|then|ok|okay)\b[\s,]*)*(?:(?:what|how) (?:about|of)\b|the (?:same|ones?)\b)?\s*",
    re.IGNORECASE,
)
"""What a follow-up may begin with: "And", "What about"."""
_COURTESY = re.compile(
    r"(?:(?:ok(?:ay)?|i see|thanks?|thank you|great|got it|nice|interesting|sure|yes|no)\b[^.?!]{0,40}[.!] +)+",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"\b(?:it|its|they|their|them|he|she|his|him|her|hers|theirs)\b"
    r"|\b(?:that|those|these|this)(?=$| (?:is|are|was|were)\b| [a-z]+ed\b)"
    r"|(?:(?<=\bdid )|(?<=\bdoes )|(?<=\bwill ))(?:that|this)(?= \w+(?:$| (?:with|to|from|by|in)\b))",
    re.IGNORECASE,
)
_THERE = re.compile(r"(?<!is )(?<!are )(?<!was )(?<!were )\bthere$", re.IGNORECASE)
_EXPLETIVE = re.compile(
    r"\bit (?:true|possible|necessary|that|takes?|took|rains?|snows?)\b|\bit \w+ (?:\w+ )?to\b|\bthey say\b",
    re.IGNORECASE,
)
_BOUNDARY = re.compile(r",|\b(?:that|when|where|if|because|so|while|who|which|and|but|than|before|after|until)\b")
_LEFT_OUT = re.compile(
    r"how many (?:(?:is|are|was|were|have|had|did|do)\b|[\w-]+ (?:were|are) there$)"
    r"|(?:what|who|why|when|where|how \w+) (?:was|were) the [\w-]+(?: like)?$",
    re.IGNORECASE,
)
"""How many of what was asked about before; or what something of it was, and nothing said of what."""
YEAR_BEFORE = re.compile(r"\b(?:in )?(?:the|a) (?:(?:previous|prior|preceding) year|year (?:before|earlier))\b", re.I)
YEAR_AFTER = re.compile(r"\b(?:in )?(?:the|a) (?:(?:following|next) year|year (?:after|later))\b", re.I)
_MOST_WORDS, _MOST_CHARS = 14, 300
_MOST_NEW = 9
"""Words after "What about": more of them are a sentence."""
_MOST_SMALL = 6
"""In a question that starts with a small letter, names look like other words: only a short one is taken for one."""


def without_courtesy(question: str) -> str:
    """The question without what it thanks or agrees with first: "I see, thanks. Why?"."""
    match = _COURTESY.match(question)
    return question[match.end() :] or question if match else question


def says_something(text: str) -> bool:
    """Whether a text has a word or figure by which a document could be found."""
    return any(word not in _SAYING_NOTHING for word in words(text))


def follows_on(question: str) -> bool:
    """True only where the question is clearly incomplete. Speaks English; of other languages it says False."""
    asked = without_courtesy(question).strip().rstrip("?!. ")
    said = words(asked[:_MOST_CHARS])
    if not said or len(said) > _MOST_WORDS or len(asked) > _MOST_CHARS:
        return False
    rest = asked[OPENED.match(asked).end() :]  # type: ignore[union-attr]
    opened, small = len(rest) < len(asked), asked[0].islower() and len(said) > _MOST_SMALL
    if not says_something(rest):
        return bool((_ASKING | _AUXILIARIES | _PREPOSITIONS) & frozenset(words(rest)))
    if opened and not _is_clause(rest):
        new = rest.split()  # as they are written, because of the month of May
        return len(new) <= _MOST_NEW and not _AUXILIARIES & frozenset(new)
    if _is_phrase(asked) or not PERIOD.sub("", asked).strip(" ,"):
        return True
    if small:
        return False
    if _refers(rest):
        return True
    return not names_in(rest) and (opened or _LEFT_OUT.match(rest) is not None)


def _is_clause(text: str) -> bool:
    """Whether it is a question with a verb of its own, not only the words that are new."""
    first = text.split()[0].casefold() if text.split() else ""
    return first in _AUXILIARIES or (first in _ASKING and says_something(text))


def _is_phrase(text: str) -> bool:
    """Whether it begins with a preposition and no verb follows: "From which date?"."""
    said = text.casefold().split()
    asking = bool(_ASKING & frozenset(said))
    short = 1 < len(said) <= (5 if asking else 6) and said[0] in _PREPOSITIONS
    return short and not _AUXILIARIES & frozenset(said) and not (asking and names_in(text))


def _refers(text: str) -> bool:
    """Whether a pronoun in it refers to something before it."""
    if _THERE.search(text) and not names_in(text):
        return True
    match = next((each for each in _PRONOUN.finditer(text) if each.start() == 0 or each.group()[0].islower()), None)
    if match is None or _EXPLETIVE.search(text):
        return False
    before, owning = text[: match.start()], match.group().casefold() in ("its", "their", "his", "her")
    if any(name.start < match.start() for name in names_in(text)) or (owning and _has_subject(text[match.end() :])):
        return False
    edges = list(_BOUNDARY.finditer(before))
    if edges and says_something(before[: edges[-1].start()]):
        return False
    if owning:  # of the subject of its own clause: "How do carriers rate their members?"
        said = before.casefold().split()
        verbs = [place for place, word in enumerate(said) if word in _AUXILIARIES]
        return not verbs or not says_something(" ".join(said[verbs[-1] + 1 :]))
    return True


def _has_subject(text: str) -> bool:
    """Whether a verb with its subject follows: "What share of its energy does the village buy?"."""
    said = text.casefold().split()
    verb = next((place for place, word in enumerate(said) if word in _AUXILIARIES), len(said))
    return any(says_something(word) for word in said[verb + 1 : verb + 3])
