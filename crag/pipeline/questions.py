"""What the library says of a question before it is searched: words typed wrongly, and answers of a whole document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from crag.core.errors import CragError
from crag.core.settings import Settings
from crag.core.types import Answer, Document, RetrievedChunk, Strip
from crag.evaluation.heads import load_head
from crag.evaluation.refinement import make_strip
from crag.generation.citations import build_citation
from crag.generation.conversation.brackets import own_words
from crag.generation.overview import Outline, Overview, write_overview
from crag.generation.whole_questions import OTHER, PART, Wanted, classifier, roots_of
from crag.retrieval.ranking import card_words
from crag.storage.library import Library
from crag.text.words import stem

_WORD = re.compile(r"[^\W\d_]{5,}")
_ONE = re.compile(r"[^?？]*\w[^?？]*[?？]+")
_CANDIDATES = 8
"""Documents that are named where it is asked which one is meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A question as it is read: each word that was typed wrongly with what it is read as, and the questions left."""

    question: str
    words: tuple[tuple[str, str], ...] = ()
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeAnswer:
    """An answer of a document as a whole, with the chunks that it cites, in order, and what is cited of them."""

    answer: Answer
    chunks: tuple[RetrievedChunk, ...] = ()
    strips: tuple[Strip, ...] = ()


@dataclass(frozen=True, slots=True)
class LibraryQuestions:
    """The questions of one run to a library, under its settings. `one_only`: of several questions, the first is asked,
    because what answers quotes for one.
    """

    library: Library
    settings: Settings
    one_only: bool

    def read(self, question: str) -> Reading:
        """Capitals throughout are read as small letters, and a word that no text has as one that texts have.

        Left as they are: names, numbers, words of at most four letters, and words that are known to be right.
        """
        asked = question.capitalize() if question.isupper() and " " in question.strip() else question
        several = _ONE.findall(asked) if self.one_only else []
        asked, left = (several[0].strip(), tuple(map(str.strip, several[1:]))) if len(several) > 1 else (asked, ())
        known = load_head()[1].knows
        typed = [found[0] for found in _WORD.finditer(asked) if not found.start() or found[0].islower()]
        typed = [word for word in dict.fromkeys(typed) if not known(word.lower())]
        try:
            read = self.library.respell(typed) if typed else {}
        except CragError:
            read = {}  # what fails here, the search meets and says
        words = _WORD.sub(lambda found: read.get(found[0], found[0]), asked)
        return Reading(question=words, words=tuple(read.items()), left=left)

    def answer(self, question: str) -> WholeAnswer | None:
        """What a question about a whole document is answered with; None for other ones, and where that has nothing.

        Which document is meant is told by the filter, by its name in the question, or by there being only one; else it
        is asked back.
        """
        layer, own = classifier(), own_words(question)
        documents, total = self.library.meant(question, self.settings.where, self.settings.min_confidence)
        content = layer.content(question)
        known = {each.id: frozenset(map(stem, card_words(f"{each.name} {each.title}"))) for each in documents}
        named = sorted((each for each in documents if content & known[each.id]), key=lambda each: -len(content & known[each.id]))
        names = frozenset[str]().union(*(known[each.id] for each in named))
        tokens = layer.tokens(own, names, ())
        # A heading may stand for any word: the outline is read only where that could make it such a question.
        wanted = layer.wanted([PART if token == OTHER else token for token in tokens])
        if not wanted:
            return None
        best = [each for each in named if len(content & known[each.id]) == len(content & known[named[0].id])]
        meant = best or (documents if total == 1 else [])
        if wanted == "compare":
            meant = named[:2] if len(named) > 1 else documents if total == 2 else meant
        elif len(meant) != 1:
            asks = OTHER not in tokens and layer.wanted(tokens)
            return _ask_back(best or documents, len(best) or total) if asks else None
        outlines = [Outline(each, self.library.documents.chunks(each.id, lines=False)) for each in meant]
        parts = [part.roots for outline in outlines for part in outline.parts]
        wanted = layer.wanted(layer.tokens(own, names, parts))
        return self._write(wanted, outlines, own, total > 1) if wanted and outlines else None

    def _write(self, wanted: Wanted, outlines: Sequence[Outline], asked: str, several: bool) -> WholeAnswer | None:
        number = next((int(found) for found in re.findall(r"\b\d{1,2}\b", asked)), 0)
        made = write_overview(wanted, outlines, roots_of(asked), number, several=several)
        return None if made is None else self._cite(made)

    def _cite(self, made: Overview) -> WholeAnswer:
        ids = list(dict.fromkeys(chunk.id for chunk, *_ in made.cited))
        chunks = {each.id: each for each in self.library.sourced([self.library.documents.chunk(id) for id in ids])}
        strips = [
            make_strip(chunk.id, chunks[chunk.id].text, "internal", start, end, None, kept=True)
            for chunk, start, end in made.cited
        ]
        citations = [
            build_citation(number, strip, chunks[strip.source_id], 0, len(strip.text))
            for number, strip in enumerate(strips, 1)
        ]
        found = (RetrievedChunk(chunk=chunks[id], rank=rank, similarity=0.0) for rank, id in enumerate(ids, 1))
        answer = Answer(text=made.text, by="outline", citations=tuple(citations))
        return WholeAnswer(answer=answer, chunks=tuple(found), strips=tuple(dict.fromkeys(strips)))


def _ask_back(documents: Sequence[Document], total: int) -> WholeAnswer:
    said = [f"- {each.title} ({each.name})" for each in documents[:_CANDIDATES]]
    more = [f"And {total - len(said):,} more."] if said and total > len(said) else []
    text = "\n".join(["Which document do you mean? Name it in the question, or ask of one document alone.", *said, *more])
    return WholeAnswer(answer=replace(Answer(text=text, by="outline"), abstained=True))
