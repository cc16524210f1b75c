"""Whether a question can be understood only from what was asked before: by its form, and only where that is clear."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from crag.text.words import FUNCTION_WORDS

AUXILIARIES = frozenset("is are was were do does did has have had can could will would should may might must".split())
PLACES = frozenset("in at near from outside inside around".split())
PREPOSITIONS = PLACES | frozenset("of to for by with on as about between over during per than since under into".split())
_ASKING = frozenset("what which who whom whose when where why how".split())
_OPENING = _ASKING | FUNCTION_WORDS | frozenset("name list explain describe tell give show compare find".split())

_CAPITAL = r"(?:[A-Z]\.(?= [A-Z])|[A-Z][\w.&-]*\w|[A-Z]|\d[\w]*-[\w-]*\w|\d{3}[A-Z]?(?![\d,]))"
_JOINED = rf"(?:(?: of(?: the)?| &)? (?={_CAPITAL})|, (?=[A-Z]\w+ & |Inc\b))"
_NAME = re.compile(rf"(?<![\w$.,-]){_CAPITAL}(?:{_JOINED}{_CAPITAL}){{0,7}}(?: of (?:1[5-9]|20)\d\d)?\.?(?=\W|$)")
_BEFORE = 80
"""Characters before a name that say what it is."""
_LEAD = re.compile(
    r"(?:(?:in|at|by|for|on|from|to|with|of) )?"
    r"(?:how (?:much|many|long|old|large|often|far|fast|high|big)|what|which|who|whom|whose|when|where|why|how)\b",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"how (?:much|many)|what|which", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Name:
    """A name at [start, end). `place`: it follows a word like in or near, so it is likely where, not who."""

    text: str
    start: int
    end: int
    place: bool


def sentence(question: str) -> str:
    """The question itself, where instructions stand round it; without white space around it."""
    found = [part for part in re.split(r"(?<=[.?!:]) +(?=[A-Z])", " ".join(question.split())) if part.endswith("?")]
    return found[0] if found else " ".join(question.split())


def names(text: str) -> list[Name]:
    """Capitalised names and such with figures (737, PA-22-150), in order; not years, nor how a sentence begins."""
    taken = [(each.start, each.end) for each in periods(text)]
    ends = [end for _, end in taken]
    found: list[Name] = []
    for match in _NAME.finditer(text):
        start, end = match.span()
        before = text[max(0, start - _BEFORE) : start]
        if start == 0 or before.rstrip().endswith((".", "?", "!")):
            first = match.group().split()[0]
            ordinary = first.casefold() in _OPENING or (
                match.group() == first and not any(letter.isupper() or letter.isdigit() for letter in first[1:])
            )
            if ordinary:
                start += len(first)
                start += len(text[start:end]) - len(text[start:end].lstrip())
        dated = re.search(r" of \d{4}$", match.group()) is not None
        after = bisect_right(ends, start)
        if start >= end or (not dated and after < len(taken) and taken[after][0] < end):
            continue
        said = text[start:end].removesuffix(".") if not text[start:end].endswith("Inc.") else text[start:end]
        found.append(Name(said, start, start + len(said), _is_place(text, start, found)))
    return [each for each in found if each.text.casefold() not in FUNCTION_WORDS]


def _is_place(text: str, start: int, earlier: list[Name]) -> bool:
    words = [word for word in text[max(0, start - _BEFORE) : start].casefold().split() if word != "the"]
    beside = bool(earlier) and earlier[-1].place and text[earlier[-1].end : start] == ", "
    return beside or (bool(words) and words[-1] in PLACES)


def lead(question: str) -> str:
    """The words that ask: "When", "How many", "In which"; empty where none begin it."""
    match = _LEAD.match(question)
    return match.group() if match else ""


def asked_for(question: str) -> tuple[int, int] | None:
    """The span of what is asked for, without its owner: "net income" in "What was Nike's net income in 2019?"."""
    begin = len(lead(question))
    if not begin:
        return None
    match = re.match(r" (?:is|was|are|were) ", question[begin:])
    if match:
        begin += match.end()
        owner = re.match(r"(?:the |an? )|[^?]{1,60}?(?:['’]s|s['’]) ", question[begin:])
        begin += owner.end() if owner else 0
    elif _COUNTED.match(question):
        begin += 1
    else:
        return None
    end = begin
    for word in re.finditer(r"[^\s?]+", question[begin:]):
        said = word.group().strip(",.").casefold()
        inside = said == "of" and end > begin and not _CAPITALISED.match(question[begin + word.end() :].lstrip())
        if (said in AUXILIARIES or said in PREPOSITIONS) and not inside:
            break
        if said.endswith("ed"):
            break
        end = begin + word.end()
    return (begin, end) if end > begin else None


_CAPITALISED = re.compile(r"(?:the )?[A-Z\d]")


def topic(question: str) -> str:
    """What a question is about, as a phrase that can stand where "it" stood: "Nike's net income in 2019"."""
    text = question.rstrip(" ?.!")
    if match := re.match(
        r"(?:what|how many|how much) (?:is|was|are|were) (?!(?:it|that|there)\b)", text, re.IGNORECASE
    ):
        return text[match.end() :]
    if match := re.match(r"what happen(?:s|ed) (?:to|with) ", text, re.IGNORECASE):
        return text[match.end() :]
    if match := re.match(r"(?:[Ww]ho \w+|[Ww]h(?:ich|at) \w+ \w+ed) (?=the |an? |[A-Z])", text):
        return text[match.end() :]
    span = asked_for(question)
    if span and (match := re.match(r"(how many|how much|what|which) ", text, re.IGNORECASE)):
        counted = question[slice(*span)]
        return _extend_noun(
            f"the number of {counted}" if match.group(1).lower() == "how many" else counted, text, span[1]
        )
    words = text[len(lead(text)) :].split()
    verbs = [place for place, word in enumerate(words[:4]) if word.casefold() in AUXILIARIES]
    return " ".join(words[verbs[0] + 1 :] if verbs else words)


def nominal(question: str) -> bool:
    """Whether `topic` is the name of a thing, not a clause without its verb's form."""
    return re.match(r"(?:what|which|how many|how much|who)\b", question, re.IGNORECASE) is not None


def _extend_noun(noun: str, text: str, after: int) -> str:
    """A noun with what follows it in the text: names and a period, or else the words of whom it is said."""
    own = [each for each in names(text) if each.start >= after]
    said = "".join(f" in {each.text}" if each.place else f" of {each.text}" for each in own)
    acting = re.match(r" (?:did|does|do|had|has|have) ([^?,]*?)(?: \w+)?(?= in |$)", text[after:])
    if not own and (match := acting):
        said = f" of {match.group(1)}"
    when = [each for each in periods(text) if each.start >= after]
    return f"{noun}{said}{f' in {when[-1].text}' if when else ''}"


_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_YEAR = r"(?:(?:fiscal(?: year)?|FY|plan year) ?)?(?:19|20)\d\d\b|FY ?\d\d\b"
_QUARTER = r"(?:Q[1-4]|(?:the )?(?:first|second|third|fourth) (?:fiscal )?quarter)"
_PERIOD = re.compile(
    rf"(?:(?:{_MONTHS}) \d{{1,2}},? (?:19|20)\d\d\b|(?:{_MONTHS}) (?:19|20)\d\d\b"
    rf"|{_QUARTER}(?:(?: of)?,? ?(?:{_YEAR}))?|{_YEAR})",
    re.IGNORECASE,
)
_BARE_YEAR = re.compile(r"(?:19|20)\d\d")
_SHIFTS = (
    (re.compile(r"\b(?:the|a) (?:(?:previous|prior|preceding) year|year (?:before|earlier))\b", re.IGNORECASE), -1),
    (re.compile(r"\b(?:the|a) (?:(?:following|next) year|year (?:after|later))\b", re.IGNORECASE), 1),
    (re.compile(r"\b(?:in )?(?:that|the same) (?:fiscal )?(?:year|quarter|period)\b|\bthen$", re.IGNORECASE), 0),
)


@dataclass(frozen=True, slots=True)
class Period:
    """The characters [start, end) of a text that name a time."""

    text: str
    start: int
    end: int


def periods(text: str) -> list[Period]:
    """All of them, in order."""
    return [Period(match.group(), match.start(), match.end()) for match in _PERIOD.finditer(text)]


def relative(text: str) -> bool:
    """Whether it speaks of a year only by its distance from another."""
    return any(form.search(text) for form, shift in _SHIFTS if shift)


def resolve_periods(text: str, base: str) -> str:
    """The text with "the year before", "a year later" or "that year" as what they are, counted from the period `base`.

    Unchanged where `base` holds no year.
    """
    year = _BARE_YEAR.search(base)
    if year is None:
        return text
    for form, shift in _SHIFTS:
        moved = base[: year.start()] + str(int(year.group()) + shift) + base[year.end() :]
        text = form.sub(lambda match, moved=moved: _fit_preposition(match.group(), moved), text)  # type: ignore[misc]
    return text


def _fit_preposition(said: str, period: str) -> str:
    """A period in the place of words that may have brought their own preposition."""
    return f"in {period}" if said.lower().startswith("in ") or said.lower() == "then" else period


def replace_last_period(text: str, to: str) -> str:
    """The text with its last period become `to`, in its own form where `to` is a bare year; with it at the end else."""
    found = periods(text)
    if not found:
        end = len(text.rstrip(" ?"))
        return f"{text[:end]} in {to}{text[end:]}"
    last = found[-1]
    said = to
    if _BARE_YEAR.fullmatch(to) and (year := _BARE_YEAR.search(last.text)):
        said = last.text[: year.start()] + to + last.text[year.end() :]
    return text[: last.start] + said + text[last.end :]


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
"""A question without its verb."""
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
"""In a question that starts with a small letter, names look like other words: only a short one is taken for a
follow-up.
"""


_COURTESY = re.compile(
    r"(?:(?:ok(?:ay)?|i see|thanks?|thank you|great|got it|nice|interesting|sure|yes|no)\b[^.?!]{0,40}[.!] +)+",
    re.IGNORECASE,
)


def without_courtesy(question: str) -> str:
    """The question without what it thanks or agrees with first: "I see, thanks. Why?"."""
    match = _COURTESY.match(question)
    return question[match.end() :] or question if match else question


def follows_on(question: str) -> bool:
    """True only where the question is clearly incomplete. Speaks English; of other languages it says False."""
    asked = question.strip().rstrip("?!. ")
    if not asked or len(asked.split()) > _MOST_WORDS:
        return False
    rest = asked[OPENED.match(asked).end() :]  # type: ignore[union-attr]
    opened = len(rest) < len(asked)
    whole = clause(rest)
    if opened and not whole:
        words = rest.split()  # as they are written, because of the month of May
        return 0 < len(words) <= _MOST_NEW and not AUXILIARIES & frozenset(words)
    if FRAGMENT.match(rest) or _prepositional(rest) or _only_period(rest):
        return True
    small = asked[0].islower() and len(asked.split()) > _MOST_SMALL
    if not small and (_refers(rest) or (relative(rest) and not periods(rest))):
        return True
    if names(rest) or small:
        return False
    return opened or (asked[0].isupper() and misses_verb(rest))


def misses_verb(text: str) -> bool:
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
    """Whether a name behind a possessive is the owner: "What share of its revenue does Boeing earn abroad?"."""
    if pronoun.group().casefold() not in ("its", "their", "his", "her"):
        return False
    before = text[: name.start].casefold().split()
    return bool(before) and before[-1] in AUXILIARIES


def _says(word: str) -> bool:
    return word not in FUNCTION_WORDS and word not in PREPOSITIONS
