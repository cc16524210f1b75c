"""Help beside an answer that there is none: what came near, and what the web would be asked.

Nothing here calls a model, and only runs without an answer pay for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from crag.core.events import Guidance, Near
from crag.core.types import Chunk, Strip
from crag.retrieval.rewriting import KeywordRewriter
from crag.text.sentences import sentences
from crag.text.words import significant_stems, stem, words
from crag.web.searching import outgoing

NEAR = 3
"""At most this many passages are listed as near."""
QUOTE = 220
"""Characters of a passage that are kept."""


def guide(
    question: str,
    found: Sequence[tuple[Chunk, float | None]],
    strips: Sequence[Strip],
    keywords: int,
    query: str,
    *,
    web: bool,
) -> Guidance:
    """The help for `question`: from the chunks `found`, each once, with their scores, and what was made of them.

    `query` is the one that the web was asked; none: it is made here, by rules, of at most `keywords` words.
    `web`: whether a provider is on.
    """
    nearest = sorted(found, key=lambda each: -1.0 if each[1] is None else each[1], reverse=True)
    near = tuple(_near(question, chunk, score, strips) for chunk, score in nearest[:NEAR])
    query = query or outgoing(KeywordRewriter().rewrite(question, max_keywords=keywords))
    return Guidance(near=near, query=query, web=web)


def _near(question: str, chunk: Chunk, score: float | None, strips: Sequence[Strip]) -> Near:
    """A chunk with its line that says most: its best strip, or the sentence that shares most with the question."""
    own = [each for each in strips if each.source_id == chunk.id and each.score is not None and _has_text(each.text)]
    best = max(own, key=lambda strip: strip.score or 0.0).text if own else _likest(question, chunk.text)
    return Near(chunk_id=chunk.id, source=chunk.source, where=chunk.where, score=score, quote=_short(best))


def _likest(question: str, text: str) -> str:
    wanted = significant_stems(question)
    lines = [text[start:end] for start, end in sentences(text)] or [text]
    return max(lines, key=lambda line: (len(wanted & {stem(word) for word in words(line)}), _has_text(line)))


def _has_text(line: str) -> bool:
    """False for a ruled line or a row of dots."""
    return any(char.isalnum() for char in line)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= QUOTE else line[:QUOTE].rsplit(" ", 1)[0] + " …"
