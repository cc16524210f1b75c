"""The words of a text as an index holds them: lower case, without accents, English endings taken off."""

from __future__ import annotations

from functools import cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

__all__ = ["stems"]

_LONGEST = 200
"""Bytes of the longest word that is looked up; what is longer is no word."""


def stems(text: str) -> list[str]:
    """The stems of a text's words, in order. Any text can be given: halves of pairs and NULs part words."""
    return _analyzer().analyze(text.encode("utf-8", "replace").decode("utf-8"))


@cache
def _analyzer() -> TextAnalyzer:
    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(_LONGEST)).filter(Filter.lowercase())
    return builder.filter(Filter.ascii_fold()).filter(Filter.stemmer("english")).build()
