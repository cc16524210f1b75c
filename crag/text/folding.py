"""A text as it is meant to be read, to be compared with words: without tricks of letters, every place known."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_ODD_WORD = re.compile(r"(?<![\w@$!|])(?:[a-z]++(?:\d|[@$!|](?=\w))|\d++[a-z])\w*(?:[@$!|]+\w+)*")
_ALPHABETS = re.compile("[\u0370-\u052f]")
_LATIN = re.compile("[a-z]")
_WORD = re.compile(r"(?>(?:[^\W\d_]|[\u0370-\u052f])+)")
_SPELLED = re.compile(r"(?<!\w)\w(?:(?:[ ][ ]?|[.\-_*|·+]|[ ][.\-_*|·][ ])\w(?!\w)){4,}(?:[.*|·](?=\s\w))?")
_TAGS = range(0xE0020, 0xE007F)
"""Invisible copies of ASCII's signs, at this distance from them."""
_LOOKALIKES = dict(
    zip(
        "абвгезикмнопрстухьѕіјԁһԛԝѵαβγεηικνορτυχωАВЕЗІЈКМНОРСТУХЅҮΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
        "a6bre3ukmhonpctyxbsijdhqwvabyenikvoptuxwabe3ijkmhopctyxsyabezhikmnoptyx",
        strict=True,
    )
)
_NUMERALS = str.maketrans("01345789@$!|", "oieastbgasil")


@dataclass(frozen=True, slots=True)
class Folded:
    """`text` is lower case, without accents, invisible signs and look-alikes. `places`: where each character stood.

    `places` is None where none has moved.
    """

    text: str
    places: tuple[int, ...] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The characters of the original that became [start, end), which are some."""
        return (start, end) if self.places is None else (self.places[start], self.places[end - 1] + 1)


def fold_text(text: str) -> Folded:
    """The text folded. Takes time by its length."""
    plain = text.lower() if text.isascii() else ""
    if plain and not _ODD_WORD.search(plain) and not _SPELLED.search(plain):
        return Folded(plain)
    signs, places = ([*plain], [*range(len(plain))]) if plain else _signs(text)
    joined = "".join(signs)
    for match in _mixed(joined) if _ALPHABETS.search(joined) else ():
        signs[match.start() : match.end()] = [_LOOKALIKES.get(sign, sign) for sign in match[0]]
    joined = "".join(signs)
    for match in _ODD_WORD.finditer(joined):
        signs[match.start() : match.end()] = match[0].translate(_NUMERALS)
    joined = "".join(signs)
    parts, kept, end = [], [], 0
    for match in _SPELLED.finditer(joined):
        within = [at for at in range(*match.span()) if _stays(joined, at, match.end())]
        parts += [joined[end : match.start()], *(" " if joined[at].isspace() else joined[at] for at in within)]
        kept += [*places[end : match.start()], *(places[at] for at in within)]
        end = match.end()
    return Folded("".join([*parts, joined[end:]]), (*kept, *places[end:]))


def _signs(text: str) -> tuple[list[str], list[int]]:
    """The characters one by one in their plain form, and where each stood."""
    signs: list[str] = []
    places: list[int] = []
    at = 0
    for match in _FOREIGN.finditer(text):
        signs += text[at : match.start()].lower()
        places += range(at, match.start())
        for place in range(match.start(), match.end()):
            plain = _plain(text[place])
            signs += plain
            places += [place] * len(plain)
        at = match.end()
    signs += text[at:].lower()
    places += range(at, len(text))
    return signs, places


@lru_cache(maxsize=4096)
def _plain(sign: str) -> str:
    """One character without accent, in lower case; nothing of one that nobody sees."""
    if ord(sign) in _TAGS:
        return chr(ord(sign) - 0xE0000).lower()
    if unicodedata.category(sign) == "Cf" or "\u0300" <= sign <= "\u036f" or "\ufe00" <= sign <= "\ufe0f":
        return ""
    whole = unicodedata.normalize("NFKC", sign).lower()
    parts = unicodedata.normalize("NFKD", whole)
    bare = "".join(part for part in parts if not unicodedata.combining(part))
    return bare if bare.isascii() and bare else whole


def _mixed(text: str) -> Iterator[re.Match[str]]:
    """Words of Latin and other letters together."""
    for match in _WORD.finditer(text):
        if _ALPHABETS.search(match[0]) and _LATIN.search(match[0]):
            yield match


def _stays(text: str, at: int, end: int) -> bool:
    """Whether a sign of a word that is spelled out is a letter of it, or the second of two blanks, which ends it."""
    if text[at].isalnum():
        return True
    return text[at].isspace() and text[at - 1].isspace() and at + 1 < end
