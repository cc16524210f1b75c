"""The words of a text as an index holds them: lower case, without accents, English endings taken off."""

from __future__ import annotations

import unicodedata
from functools import cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from crag.text.words import few_marks

_LONGEST = 200
"""Bytes of the longest word that is kept: no person writes a longer one, and base64 is no word."""


def stems(text: str) -> list[str]:
    """The stems of a text's words, in order. Any text can be given: halves of pairs and NULs part words."""
    return analyzer().analyze(plain(text))


def plain(text: str) -> str:
    """The text with each character in one form, and none that can't be written as UTF-8."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", few_marks(text)).encode("utf-8", "replace").decode()


@cache
def analyzer() -> TextAnalyzer:
    """What parts a plain text into stems."""
    builder = TextAnalyzerBuilder(Tokenizer.regex(r"[^\W_]+"))
    for each in (Filter.remove_long(_LONGEST), Filter.lowercase(), Filter.ascii_fold(), Filter.stemmer("english")):
        builder = builder.filter(each)
    return builder.build()
