"""Which document a text belongs to, over all sets: what the split goes by, so that no text is on both of its sides.

Titles and texts are joined: the same title, or the same text under two titles, is one document. Texts without a title
belong to the document that holds the same text or, if there is none, the same sentence; else each is its own.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache
from urllib.parse import unquote

from crag.text.sentences import sentences

LEAST = 40
"""Letters and digits from which on a sentence tells its document."""


def plain(text: str) -> str:
    """What two copies of a text have in common: lower-case letters and digits."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text).lower())


def _key(text: str) -> str:
    return hashlib.blake2b(plain(text).encode(), digest_size=9).hexdigest()


@cache
def _title(title: str) -> str:
    """The document's title without its section's."""
    return re.sub(r"\s+", " ", unquote(re.split(r"\s+[›—–]\s+", title)[0].replace("_", " "))).strip().lower()


class Documents:
    """Titles and texts joined to documents."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}
        self._sentences: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._keys: dict[str, str] = {}

    def add(self, texts: Sequence[str], title: str = "", name: str = "", *, parts: bool = False) -> None:
        """Texts of one document. `name`: the group is called so; `parts`: their sentences tell it as well."""
        keys = [self._of(text) for text in texts]
        if title:
            keys.append(f"title {_title(title)}")
        for key in keys[1:]:
            self._join(keys[0], key)
        if name and keys:
            self._names[keys[-1]] = name
        if parts:
            for text in texts:
                for start, end in sentences(text):
                    if len(plain(text[start:end])) >= LEAST:
                        self._sentences.setdefault(_key(text[start:end]), self._of(text))

    def add_untitled(self, text: str) -> None:
        """A text of unknown origin: joined to the document that has all or one of its sentences."""
        key = self._of(text)
        for start, end in sentences(text):
            if (held := self._sentences.get(_key(text[start:end]))) is not None:
                self._join(held, key)

    def settle(self) -> None:
        """Gives every document its name: the one it was given, else its first title, else its text's hash."""
        found: dict[str, list[str]] = {}
        for key in self._above:
            found.setdefault(self._root(key), []).append(key)
        given = self._names
        self._names = {}
        for root, keys in found.items():
            named = sorted(given[key] for key in keys if key in given)
            titled = sorted(key for key in keys if key.startswith("title "))
            self._names[root] = (named or [key.removeprefix("title ") for key in titled] or sorted(keys))[0]

    def group(self, text: str, title: str = "") -> str:
        """The name of the document that the text, or else the title, belongs to."""
        for key in (self._of(text) if text else "", f"title {_title(title)}" if title else ""):
            if key in self._above:
                return self._names[self._root(key)]
        return _title(title) if title else _key(text)

    def _of(self, text: str) -> str:
        key = self._keys.get(text)
        if key is None:
            key = self._keys[text] = _key(text)
        return key

    def _root(self, key: str) -> str:
        while (above := self._above.setdefault(key, key)) != key:
            self._above[key] = self._above.setdefault(above, above)
            key = above
        return key

    def _join(self, one: str, other: str) -> None:
        self._root(one)
        self._above[self._root(other)] = self._root(one)


def words(text: str) -> set[str]:
    """Words of four letters and more, and numbers: what two texts must share to be about the same."""
    return set(re.findall(r"\w{4,}|\d+", text.lower()))


def nearest(questions: Sequence[str], texts: Sequence[str]) -> list[list[int]]:
    """For each question the numbers of the texts that share its rarer words, the nearest first."""
    held = [words(text) for text in texts]
    count = Counter(word for each in held for word in each)
    found = []
    for question in questions:
        asked = sorted(words(question))
        shares = [sum(1 / count[word] for word in asked if word in each) for each in held]
        found.append(sorted(range(len(texts)), key=lambda number: -shares[number])[:8])
    return found
