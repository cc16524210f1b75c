"""What a question names, and which sources concern it: an answer quotes no other subject beside the one asked about.

By form alone: names, codes and years of the question are looked for in what is known of a document, which is its title
and every text of it that was found. A word that no source has tells none of them apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from crag.core.types import Chunk, WebPage
from crag.text.languages import is_german
from crag.text.names import GENERIC, fold
from crag.text.words import STOP_WORDS, keywords, stem

MAX_CHARACTERS = 40_000
"""So much of a source is looked at."""
MAX_QUESTION = 2_000
MAX_NAMES = 24
"""Names of a question that are looked for, the first ones."""

_YEAR = re.compile(r"(?<!\d)((?:19|20)\d\d)(?!\d)")
_SHORT_YEAR = re.compile(r"\b(?:FY|CY|fiscal)\s?'?(\d\d)(?!\d)", re.IGNORECASE)
_PART = re.compile(r"[^\W\d_]+|\d+")
_TOKEN = re.compile(r"[^\W_]+")
_ACRONYM = re.compile(r"[A-Z](?:[A-Z&.]|n(?=[A-Z])){1,5}s?")
_RUN = re.compile(r"[A-Z][\w'’]{0,60}(?:[ \-](?:(?:of|the|for|and|on|&) )*[A-Z][\w'’]{0,60})+")
_PLAIN_NAME = re.compile(r"[^\W\d_]{4,}")


@dataclass(frozen=True, slots=True)
class Name:
    """Something that a question insists on: `text` as it is written there, `parts` what is looked for.

    `proper`: a name written as one, which nothing else can be meant by; not a year, a code or an abbreviation.
    """

    text: str
    parts: tuple[str, ...]
    proper: bool = False


@dataclass(frozen=True, slots=True)
class Subjects:
    """`foreign` are ids of sources without what another source has; `unnamed` is what not one of them names."""

    foreign: frozenset[str] = frozenset()
    unnamed: tuple[str, ...] = ()


def subjects_of(question: str, kept: Iterable[str], sources: Mapping[str, Chunk | WebPage]) -> Subjects:
    """How the sources stand to what the question names. `kept` are the ids of those that may be quoted.

    Chunks of one document are one source. It is foreign if what it meets is a part of what another kept one meets.
    """
    names = names_of(question)
    if not names:
        return Subjects()
    documents: dict[str, list[Chunk | WebPage]] = {}
    for source in sources.values():
        documents.setdefault(_document(source), []).append(source)
    known = {id: _Known.of(parts) for id, parts in documents.items()}
    met = {id: frozenset(name for name in names if each.meets(name)) for id, each in known.items()}
    here = {id: _document(sources[id]) for id in kept if id in sources}
    best = {met[document] for document in here.values()}
    foreign = frozenset(id for id, document in here.items() if any(met[document] < other for other in best))
    found = frozenset[Name]().union(*met.values()) if met else frozenset(names)
    unnamed = dict.fromkeys(name.text for name in names if name.proper and name not in found)
    return Subjects(foreign, tuple(unnamed))


def names_of(question: str) -> tuple[Name, ...]:
    """The names, codes and years of a question, in order; none where all its words are capitalised."""
    question = question[:MAX_QUESTION]
    spoken = re.findall(r"[^\W\d_]{2,}", question)
    if sum(word[0].isupper() for word in spoken) > max(3, 0.6 * len(spoken)):
        return tuple(_years(question))
    found: list[Name] = []
    nouns = is_german(question)
    for keyword in keywords(question):
        if not keyword.fixed or not any(letter.isupper() for letter in keyword.text):
            continue
        for text in re.split(r"\s(?:and|or|&|vs\.?|versus)\s|['’]s?\s", keyword.text):
            bare = _SHORT_YEAR.sub(" ", _YEAR.sub(" ", text))
            parts = tuple(part for part in _tokens(bare) if part not in GENERIC and part not in STOP_WORDS)
            if any(len(part) > 1 for part in parts):
                # Only words written with a capital and lower-case letters are sure to be a name, but in German.
                proper = not nouns and all(
                    _PLAIN_NAME.fullmatch(word) and word[0].isupper() and not word.isupper()
                    for word in _TOKEN.findall(bare)
                    if fold(word) in parts
                )
                found.append(Name(" ".join(bare.split()).strip(" -,'’"), parts, proper))
    return tuple(dict.fromkeys([*found, *_years(question)]))[:MAX_NAMES]


def years_of(text: str) -> frozenset[str]:
    """The years that a text names; FY18 is 2018."""
    short = (f"20{match[1]}" for match in _SHORT_YEAR.finditer(text))
    return frozenset([*(match[1] for match in _YEAR.finditer(text)), *short])


def _years(question: str) -> Iterable[Name]:
    return (Name(year, (year,)) for year in sorted(years_of(question)))


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a document: its words and their stems, its years, initials of its names, its squeezed title."""

    tokens: frozenset[str]
    initials: tuple[str, ...]
    title: str

    @classmethod
    def of(cls, parts: Iterable[Chunk | WebPage]) -> _Known:
        titles, texts = set[str](), list[str]()
        for part in parts:
            match part:
                case Chunk():
                    titles.update((part.title, part.source))
                    texts += (part.context, part.text)
                case WebPage():
                    titles.add(part.title)
                    texts.append(part.text[:MAX_CHARACTERS])
        whole = "\n".join([*sorted(titles), *texts])[:MAX_CHARACTERS]
        tokens = set(_tokens(whole))
        tokens |= {part for token in tokens if not token.isalpha() for part in _PART.findall(token)}
        whole = whole.replace("_", " ")
        tokens |= {stem(token) for token in tokens} | years_of(whole)
        runs = {"".join(word[0] for word in re.findall(r"\b[A-Z]", run)) for run in _RUN.findall(whole)}
        return cls(frozenset(tokens), tuple(sorted(runs)), "".join(_tokens(" ".join(sorted(titles)))))

    def meets(self, name: Name) -> bool:
        """Whether the document has the last part of the name and at least half of all, or writes it shorter."""
        has = [self._has(part) for part in name.parts]
        if has[-1] and 2 * sum(has) >= len(has):
            return True
        squeezed = "".join(name.parts)
        if len(squeezed) > 3 and squeezed in self.title:
            return True
        if _ACRONYM.fullmatch(name.text):
            letters = re.sub(r"[^A-Z]", "", name.text)
            return any(letters == run or (len(letters) > 2 and letters in run) for run in self.initials)
        capitals = re.sub(r"[^A-Z]", "", name.text).casefold()
        return len(capitals) > 2 and capitals in self.tokens

    def _has(self, part: str) -> bool:
        if part in self.tokens or stem(part) in self.tokens:
            return True
        prefix = part[: max(5, len(part) - 2)]  # American for America
        return len(part) > 5 and part.isalpha() and any(token.startswith(prefix) for token in self.tokens)


def _document(source: Chunk | WebPage) -> str:
    return source.document_id if isinstance(source, Chunk) else source.id


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(fold(text))
