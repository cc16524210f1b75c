"""What a question is made of, by form alone: its names, what it is about, what it asks for."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from crag.generation.conversation.periods import periods
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
    """Where what is asked for stands, without whose it is: "net income" in "What was Nike's net income in 2019?"."""
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
