"""Sentences of a passage as the local evaluator reads them: short spans that are scored one by one."""

from __future__ import annotations

import re

__all__ = ["MAX_SENTENCES", "sentence_spans"]

MAX_SENTENCES = 64
"""Later sentences of a passage are not read; a chunk has about ten."""
MAX_WORDS = 60
MIN_WORDS = 4
READ_CHARACTERS = 16_000

_BOUNDARY = re.compile(
    r"(?<!\b[A-Z]\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bSt\.)(?<!\bNo\.)(?<!\bvs\.)"
    r"(?<=[.!?。！？])[\"'”’)\]]{0,2}\s+(?=[\"'“‘(\[]?[A-Z0-9À-Þ一-鿿])|\n+"
)
_WORD = re.compile(r"\S+")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """[start, end) of each sentence, in order; fragments join the sentence after, runs of over 60 words are cut.

    Only the first 16,000 characters and the first 64 sentences are read. No sentence for a text without words.
    """
    text = text[:READ_CHARACTERS]
    spans: list[tuple[int, int]] = []
    start = 0
    for end, following in [(match.start(), match.end()) for match in _BOUNDARY.finditer(text)] + [(len(text),) * 2]:
        words = [match.span() for match in _WORD.finditer(text, start, end)]
        if len(words) >= MIN_WORDS or (words and following == len(text)):
            for first in range(0, len(words), MAX_WORDS):
                last = words[min(first + MAX_WORDS, len(words)) - 1][1]
                spans.append((words[first][0], last))
            start = following
        elif not words:
            start = following
        if len(spans) >= MAX_SENTENCES:
            return spans[:MAX_SENTENCES]
    return spans
