"""Whether a question can be understood only from what was asked before: by its form, and only where that is clear."""

from __future__ import annotations

import re

from crag.generation.conversation.periods import periods, relative
from crag.generation.conversation.phrases import AUXILIARIES, PREPOSITIONS, Name, lead, names
from crag.text.words import FUNCTION_WORDS

OPENED = re.compile(
    r"(?:(?:and|but|so|or|also|plus|then|ok|okay)\b[\s,]*)*"
    r"(?:(?:what|how) (?:about|of)\b|(?:the )?same (?=for|in))?\s*",
    re.IGNORECASE,
)
"""What a follow-up may begin with: "And", "What about"."""
FRAGMENT = re.compile(
    r"(?:why(?: not| so)?|how(?: so| come)?|when|where|who|since when|until when|how (?:much|many|long|often)"
    r"|(?:by|for) how (?:much|long)|which ones?|what else|who else"
    r"|(?:in|at|by|for|on|from|to|with|of) (?:which|what|how many|how much)"
    r"(?: (?!did|does|do|was|were|is|are|has|had)\w+){1,3})$",
    re.IGNORECASE,
)
"""A question that lacks its verb."""
EVENT = re.compile(r"(when|where|why) (?:is|was|did) (?:that|this|it)(?: happen)?$", re.IGNORECASE)
"""A question after the circumstances of what was asked about before."""

PRONOUN = re.compile(
    r"\b(?:it|its|they|their|them|he|she|his|him|her|hers|theirs)\b"
    r"|(?<=\w )(?:that|this|those|these)(?= (?:year|company|firm|agency|amount|figure|number|total)\b"
    r"|$| (?:compare|increase|decrease|change|improve|grow|happen|mean|based|come|include|go)\w*\b)"
    r"|\b(?:of|for|by|from|than|was|is|are|were|did|does) (?:that|those|these|this)(?= [a-z]+ed\b|$| based\b| are\b)",
    re.IGNORECASE,
)
_ENDING = re.compile(r" (?:in|by|at|for|as of|during)$")
_THERE = re.compile(r"(?<!is )(?<!are )(?<!was )(?<!were )\bthere$", re.IGNORECASE)
_EXPLETIVE = re.compile(
    r"\bit (?:true|possible|likely|legal|necessary|that|take|takes|took|rain|snow)\b|\btime is it\b"
    r"|\bit \w+ (?:\w+ )?to\b",
    re.IGNORECASE,
)
_BOUNDARY = re.compile(r",|\b(?:that|when|where|if|because|so|while|who|which|and|but|than|before|after|until)\b")
_RELATION = (
    "target|goal|cause|reason|rate|average|total|result|score|price|cost|amount|share|percentage|size|increase|decrease"
    "|change|difference|margin|purpose|weather|trend|outcome|turnover|objective|program|pilot|survey"
)
_DEFINITE = re.compile(
    rf"(?:what|why|how|when|who|was|were|is|did) (?:[\w-]+ ){{0,4}}the (?:[\w-]+ ){{0,3}}(?:{_RELATION})"
    r"(?: like| met| missed| approved| discontinued| conducted| rate)*$",
    re.IGNORECASE,
)
"""A noun that is always of something, and nothing said of what."""
LACKING = re.compile(r"how (?:many|much) (?:of (?:it|them|those|these)|is|was|are|were|did|does|do)\b", re.IGNORECASE)
"""How many of what was asked about before."""
_COUNTING = re.compile(r"how many (?:[a-z]+ ){1,2}(?:were|was|are) (?:there|[a-z]+ed|built|made|sold)$", re.IGNORECASE)
_MOST_WORDS = 14
_MOST_NEW = 9
"""Words after "What about": more of them are a sentence."""
_MOST_SMALL = 6
"""In a question begun small, names can't be told from other words: only a short one is taken for a follow-up."""


def follows_on(question: str) -> bool:
    """True only where the question is clearly incomplete. Speaks English; of other languages it says False."""
    asked = question.strip().rstrip("?!. ")
    if not asked or len(asked.split()) > _MOST_WORDS:
        return False
    rest = asked[OPENED.match(asked).end() :]  # type: ignore[union-attr]
    opened = len(rest) < len(asked)
    whole = clause(rest)
    if opened and not whole:
        return len(rest.split()) <= _MOST_NEW
    if FRAGMENT.match(rest) or _prepositional(rest) or _only_period(rest):
        return True
    small = asked[0].islower() and len(asked.split()) > _MOST_SMALL
    if not small and (_refers(rest) or (relative(rest) and not periods(rest))):
        return True
    if names(rest) or small:
        return False
    return opened or (asked[0].isupper() and lacks(rest))


def lacks(text: str) -> bool:
    """Whether it asks of something that has to be something's, and does not say of what."""
    bare = text
    for each in reversed(periods(text)):
        bare = _ENDING.sub("", text[: each.start].rstrip()) + text[each.end :]
    return any(form.match(bare) for form in (_DEFINITE, _COUNTING, LACKING))


def clause(text: str) -> bool:
    """Whether it is a question with a verb of its own, not only the words that are new."""
    first = text.split()[0].casefold() if text.split() else ""
    if first in AUXILIARIES:
        return True
    return bool(lead(text)) and not FRAGMENT.match(text.rstrip("?!. "))


def _prepositional(text: str) -> bool:
    words = text.casefold().split()
    if not 1 < len(words) <= 6 or words[0] not in PREPOSITIONS:
        return False
    return not any(word in AUXILIARIES or lead(word) for word in words)


def _only_period(text: str) -> bool:
    found = periods(text)
    return bool(found) and found[0].start == 0 and found[-1].end == len(text)


def _refers(text: str) -> bool:
    """Whether a pronoun in it refers to something before it."""
    if _THERE.search(text) and not names(text):
        return True
    found = (each for each in PRONOUN.finditer(text) if each.start() == 0 or each.group()[0].islower())
    match = next(found, None)
    if match is None or _EXPLETIVE.search(text):
        return False
    before, named = text[: match.start()], names(text)
    if any(each.start < match.start() or _acts(text, each, match) for each in named):
        return False
    edge = list(_BOUNDARY.finditer(before))
    content = [word for word in before[: edge[-1].start() if edge else 0].casefold().split() if _says(word)]
    if content:
        return False
    if match.group().casefold() in ("its", "their", "his", "her"):
        words = before.casefold().split()
        places = [place for place, word in enumerate(words) if word in AUXILIARIES]
        return not places or not any(_says(word) for word in words[places[-1] + 1 :])
    return True


def _acts(text: str, name: Name, pronoun: re.Match[str]) -> bool:
    """Whether a name behind a possessive is whose it is: "What share of its revenue does Boeing earn abroad?"."""
    if pronoun.group().casefold() not in ("its", "their", "his", "her"):
        return False
    before = text[: name.start].casefold().split()
    return bool(before) and before[-1] in AUXILIARIES


def _says(word: str) -> bool:
    return word not in FUNCTION_WORDS and word not in PREPOSITIONS
