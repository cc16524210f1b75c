"""What the library says of a question beside a search: words typed wrongly, and answers of a whole document."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import NamedTuple

from crag.core.errors import CragError
from crag.core.protocols import SearchQuery
from crag.core.settings import Settings
from crag.core.types import Answer, Chunk, Citation, RetrievedChunk, Standalone, Strip, WebPage
from crag.evaluation.heads import load_head
from crag.evaluation.refinement import make_strip
from crag.generation.citations import build_citation
from crag.generation.conversation.brackets import own_words
from crag.generation.overview import Outline, Overview, heading_of, write_overview
from crag.generation.reading import Text
from crag.generation.whole_questions import NAME, OTHER, PART, Roots, roots_of, tokens_of, wanted_by
from crag.retrieval.ranking import card_words
from crag.storage.library import Library
from crag.text.sentences import sentences
from crag.text.words import stem

_WORD, _BEHIND = re.compile(r"[^\W\d_]{5,}"), re.compile(r"(?<=[?？])(?![?？])")
_LOOKED_AT, _HAVING = 20, 2
"""Chunks in which a word is looked for that was typed wrongly, and how many of them must have it."""


class WholeAnswer(NamedTuple):
    """An answer of a document as a whole, with the chunks that it cites, in order, and what is cited of them.

    `text`: what a language model reads to answer in its place; None where it would say no more.
    """

    answer: Answer
    chunks: tuple[RetrievedChunk, ...] = ()
    strips: tuple[Strip, ...] = ()
    text: Text | None = None


@dataclass(frozen=True, slots=True)
class LibraryQuestions:
    """The questions of one run to a library, under its settings.

    `one_only`: no model writes. Of several questions the first is asked, and of a whole document nothing is to be read.
    """

    library: Library
    settings: Settings
    one_only: bool

    def read(self, question: str) -> Standalone:
        """Capitals throughout are read as small letters, and a word that no text has as one that texts have.

        One letter may be wrong, missing or too many, but the first and the last, and the texts share other words of the
        question. Names, numbers and short words stay, and words that are known to be right.
        """
        asked = question.capitalize() if question.isupper() and " " in question.strip() else question
        pieces = [piece.strip() for piece in _BEHIND.split(asked)] if self.one_only else []
        several = [piece for piece in pieces if piece[-1:] in ("?", "？") and len(piece) > 1]
        asked, left = (several[0], tuple(several[1:])) if len(several) > 1 else (asked, ())
        typed = [found[0] for found in _WORD.finditer(asked) if not found.start() or found[0].islower()]
        try:
            read = self._respell([word for word in typed if not load_head()[1].knows(word.lower())], asked)
        except CragError:
            read = {}  # what fails here, the search meets and says
        meant = _WORD.sub(lambda found: read.get(found[0], found[0]), asked)
        return Standalone(question=meant, read=tuple(read.items()), left=left)

    def _respell(self, typed: Sequence[str], question: str) -> dict[str, str]:
        absent = [word for word in typed if not self._having(word, 1)]
        query = replace(SearchQuery.under(self.settings, question, _LOOKED_AT, "bm25"), by_words=True)
        texts = [found.chunk.text for found in self.library.find(query)] if absent else []
        words, read = {word for text in texts for word in _WORD.findall(text)}, dict[str, str]()
        for word in absent:
            size, ends = range(len(word) - 1, len(word) + 2), (word[0].lower(), word[-1])
            alike = sorted(each for each in words if len(each) in size and (each[0].lower(), each[-1]) == ends)
            near = get_close_matches(word, alike, 1, 1 - 1.01 / len(word))
            if near and self._having(near[0], _HAVING) == _HAVING:
                read[word] = near[0]
        return read

    def _having(self, word: str, most: int) -> int:
        """How many chunks have a word, `most` of them counted."""
        return len(self.library.find(SearchQuery(word, most, "bm25", by_words=True)))

    def answer(self, question: str, found: Sequence[RetrievedChunk]) -> WholeAnswer | None:
        """What a question about a whole document is answered with; None for other ones, and where that has nothing.

        Which document is meant is told by its name in the question, or by all chunks `found` being of one; else it is
        asked back.
        """
        own, heads = own_words(question), {each.chunk.document_id: each.chunk for each in reversed(found)}
        known = {id: frozenset(map(stem, card_words(f"{each.source} {each.title}"))) for id, each in heads.items()}
        shared = {id: tokens_of(question, roots).count(NAME) for id, roots in known.items()}
        named = sorted((id for id in heads if shared[id]), key=lambda id: -shared[id])
        names = frozenset[str]().union(*(known[id] for id in named))
        tokens = tokens_of(own, names)
        # A heading may stand for any word: the outline is read only where that could make it such a question.
        wanted = wanted_by([PART if token == OTHER else token for token in tokens])
        if not wanted:
            return None
        best = [id for id in named if shared[id] == shared[named[0]]]
        only = len(heads) == 1 and (bool(self.settings.where) or self.library.documents.count() == 1)
        meant = best or (list(heads) if len(heads) == 1 else _under_heading(found, roots_of(own)))
        if wanted == "compare":
            meant = named[:2] if len(named) > 1 else list(heads) if len(heads) == 2 else meant
        if not meant or (len(meant) > 1 and wanted != "compare"):
            said = [f"- {heads[id].title} ({heads[id].source})" for id in best or heads]
            text = "\n".join(["Which document do you mean? Name it, or ask of one document alone.", *said])
            back = WholeAnswer(Answer(text=text, by="outline", abstained=True), tuple(found))
            return back if wanted_by(tokens) else None
        documents = self.library.documents
        outlines = [Outline(documents.get(id), documents.chunks(id, lines=False)) for id in meant]
        # Among several, a document is rather meant than its part of that name.
        asked = roots_of(own) - (frozenset() if only else names)
        parts = [part.roots for outline in outlines for part in outline.parts if part.roots <= asked]
        wanted = wanted_by(tokens_of(own, names, parts))
        number = next((int(each) for each in re.findall(r"\b\d{1,2}\b", own)), 0)
        made = write_overview(wanted, outlines, asked, number, several=not only)
        if made is None:
            return None
        # Lists, names, dates and counts are what the records say, whoever words them.
        reads = not self.one_only and wanted in ("about", "compare")
        return self._cite(made, heads, self._text_of(outlines, asked, number, heads) if reads else None)

    def _text_of(self, outlines: Sequence[Outline], asked: Roots, number: int, heads: Mapping[str, Chunk]) -> Text:
        """The outlines, and the text of the parts that are asked for, else of all; strips are sentences."""
        strips, listed, sources = list[Strip](), list[str](), dict[str, Chunk | WebPage]()
        for outline in outlines:
            parts = outline.named(asked, number) if len(outlines) == 1 else []
            body = [span for part in parts for span in part.body]
            for chunk, opens, closes in dict.fromkeys(body or [(each, 0, len(each.text)) for each in outline.chunks]):
                sources[chunk.id] = chunk
                for start, end in sentences(chunk.text[opens:closes]):
                    span = (opens + start, opens + end)
                    strips.append(make_strip(chunk.id, chunk.text, "internal", *span, None, kept=True))
            for whole in self.library.documents.chunks(outline.document.id):  # with the lines that citations point to
                if whole.id in sources:
                    sources[whole.id] = _of_document(whole, heads)
            listed += [outline.document.title, *(f"- {part.title}" for part in outline.parts)]
        return Text("\n".join(listed), tuple(strips), sources)

    def _cite(self, made: Overview, heads: Mapping[str, Chunk], text: Text | None) -> WholeAnswer:
        chunks, strips, citations = dict[str, RetrievedChunk](), list[Strip](), list[Citation]()
        for number, (chunk, start, end) in enumerate(made.cited, 1):
            if chunk.id not in chunks:
                whole = _of_document(self.library.documents.chunk(chunk.id), heads)
                chunks[chunk.id] = RetrievedChunk(chunk=whole, rank=len(chunks) + 1, similarity=0.0)
            strips.append(make_strip(chunk.id, chunk.text, "internal", start, end, None, kept=True))
            citations.append(build_citation(number, strips[-1], chunks[chunk.id].chunk, 0, end - start))
        answer = Answer(text=made.text, by="outline", citations=tuple(citations))
        return WholeAnswer(answer, tuple(chunks.values()), tuple(strips), text)


def _of_document(chunk: Chunk, heads: Mapping[str, Chunk]) -> Chunk:
    """The chunk with what is known of its document, as one that a search found says it."""
    head = heads[chunk.document_id]
    return replace(chunk, url=head.url, from_web=head.from_web, dated=head.dated)


def _under_heading(found: Sequence[RetrievedChunk], asked: Roots) -> list[str]:
    """The documents of chunks that stand under a heading which a question names."""
    headed = [(each.chunk.document_id, roots_of(heading_of(each.chunk))) for each in found]
    return list(dict.fromkeys(id for id, roots in headed if roots and roots <= asked))
