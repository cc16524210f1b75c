"""Proper names in a text, by their capitals alone, and whether another text holds them. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from crag.text.words import STOP_WORDS, few_marks, stem

GENERIC = frozenset(
    """act agency airport annual bank board bureau chief city co commission committee company congress corp corporation
    county court department director division doctor dr fiscal fy government group inc incorporated international lake
    limited llc ltd minister mount mr mrs ms national north office officer plc president prime professor program
    programme report river secretary section senator service services south states state street table united
    university usd west east january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday
    adjusted average basic capital cash change comparable consolidated core current deferred diluted fair free gross
    growth income margin net nominal operating organic profit quarterly rate ratio real revenue sales segment
    total""".split()
)
"""Words that many names have, or that reports write with a capital: by themselves they name nothing."""

_SAME = {"us": "unitedstates", "usa": "unitedstates", "america": "unitedstates", "american": "unitedstates"}
_SAME |= {"uk": "unitedkingdom", "britain": "unitedkingdom", "british": "unitedkingdom"}
_TOKEN = re.compile(r"[^\W_]+")
_WORD = re.compile(r"(?:[^\W\d_]\.){2,}|[^\W_](?>(?:[\w&]|['’.-](?=\w))*)")
_JOINING = frozenset({"de", "la", "le", "du", "des", "van", "von", "der", "da", "di", "al"})
_OPENS = re.compile(r"[.!?:;•\"“‘(\[]\s*[\"“‘(]?\s*$|^\W*$")
_POSSESSIVE = re.compile(r"['’](?:s|S)?$")
_ROMAN = re.compile(r"[ivx]+")
_SHORT = re.compile(r"(?:[A-Z]\.?){2,5}s?|[^\W\d_]*+\d\w*+|[^\W_]{1,3}\W?")
"""An abbreviation, a code or a letter or two: a sentence may well make them of words that are written out."""
_MOST_WORDS = 12
_SHOUTED = 0.85
"""The share of words in capitals from which capitals say nothing."""


@dataclass(frozen=True, slots=True)
class Name:
    """The characters [start, end) of a text, and the `parts` of the name by which it is looked for."""

    start: int
    end: int
    text: str
    parts: tuple[str, ...]


def names_in(text: str) -> list[Name]:
    """The names of a text, in order; none where nearly all its words are capitalised.

    A word that begins a sentence is a part of a name only where another capitalised one follows it.
    """
    words = list(_WORD.finditer(text))
    spoken = [match.group() for match in words if match.group()[0].isalpha()]
    if sum(word[0].isupper() for word in spoken) > max(4, _SHOUTED * len(spoken)):
        return []
    return [name for run in _runs(text, words) if (name := _name(text, run)) is not None]


def _runs(text: str, words: list[re.Match[str]]) -> Iterator[list[re.Match[str]]]:
    """Capitalised words one after another, with the small words between them that names have."""
    run: list[re.Match[str]] = []
    joining = 0
    for match in words:
        word = match.group()
        beside = bool(run) and len(run) < _MOST_WORDS and text[run[-1].end() : match.start()] in (" ", " & ")
        beside = beside and not _POSSESSIVE.search(run[-1].group())
        if word[0].isupper():
            if run and not beside:
                yield run[: len(run) - joining]
                run = []
            run, joining = [*run, match], 0
        elif beside and word in _JOINING and joining < 2:
            run, joining = [*run, match], joining + 1
        elif run:
            yield run[: len(run) - joining]
            run, joining = [], 0
    if run:
        yield run[: len(run) - joining]


def _name(text: str, run: list[re.Match[str]]) -> Name | None:
    """A run of words as a name; None where it may be an ordinary word, or says nothing by itself."""
    if _OPENS.search(text, max(0, run[0].start() - 8), run[0].start()):
        first = run[0].group()
        if fold(_POSSESSIVE.sub("", first)) in STOP_WORDS or len(first) == 1:
            run = run[1:]
        elif len(run) == 1 and not (first.isupper() and len(first) > 1) and not any(map(str.isupper, first[1:])):
            return None
    while run and (run[0].group() in _JOINING or fold(run[0].group()) in STOP_WORDS):
        run = run[1:]
    if not run:
        return None
    start, end = run[0].start(), run[-1].end()
    end -= len(found.group()) if (found := _POSSESSIVE.search(run[-1].group())) else 0
    said = text[start:end]
    parts = tuple(part for part in tokens_of(said) if part not in GENERIC and part not in STOP_WORDS and len(part) > 1)
    parts = tuple(part for part in parts if not part.isdigit() and not _ROMAN.fullmatch(part))
    return Name(start, end, said, parts) if parts and not _SHORT.fullmatch(said) else None


class Names:
    """What a text holds, so that names can be looked for in it: words, their stems, and initials of its own names."""

    def __init__(self, text: str) -> None:
        folded = tokens_of(text)
        self._tokens = frozenset(folded) | {stem(token) for token in folded}
        self._prefixes = frozenset(
            token[:size] for token in self._tokens for size in (5, 6, 7, 8) if len(token) >= size
        )
        self._squeezed = "".join(folded)
        words = list(_WORD.finditer(text))
        runs = [[match.group()[0] for match in run] for run in _runs(text, words)]
        self._initials = {"".join(run).casefold() for run in runs if len(run) > 1}
        self._initials |= {"".join(each for each in run if each.isupper()).casefold() for run in runs}
        self._same = {_SAME[token] for token in self._tokens if token in _SAME}

    def holds(self, name: Name) -> bool:
        """Whether the name stands there: half of its parts, the last one of two among them; or shorter or longer.

        "UN" stands where "United Nations" does, and "American" where "America" does.
        """
        parts = name.parts
        squeezed = "".join(tokens_of(name.text))
        if len(squeezed) > 3 and squeezed in self._squeezed:
            return True
        has = [self._has(part) for part in parts]
        least = 1 if len(has) < 3 and not has[-1] else 0
        if 2 * sum(has) >= len(has) + least:
            return True
        if squeezed in self._initials and 2 <= len(squeezed) <= 8:
            return True
        initials = "".join(re.findall(r"\b[A-Z]", name.text)).casefold()
        if len(initials) > 1 and initials in self._tokens:
            return True
        meant = {_SAME.get(part, part) for part in parts} | {squeezed}
        return bool(meant & self._same) or any(_SAME.get(part) and _SAME[part] in self._squeezed for part in parts)

    def _has(self, part: str) -> bool:
        if part in self._tokens or stem(part) in self._tokens or part.rstrip("s") in self._tokens:
            return True
        prefix = part[: min(8, max(5, len(part) - 2))]  # American for America
        return len(part) > 5 and part.isalpha() and prefix in self._prefixes


def tokens_of(text: str) -> list[str]:
    """The runs of letters and digits of a text, folded; initials parted by points are one."""
    return _TOKEN.findall(fold(re.sub(r"(?<=\b[^\W\d_])\.(?=[^\W\d_]\b)", "", _POSSESSIVE_INSIDE.sub("", text))))


_POSSESSIVE_INSIDE = re.compile(r"['’]s\b", re.IGNORECASE)


def fold(text: str) -> str:
    """The text in small letters without accents."""
    if text.isascii():
        return text.casefold()
    plain = unicodedata.normalize("NFKD", few_marks(text))
    return "".join(letter for letter in plain if not unicodedata.combining(letter)).casefold()
