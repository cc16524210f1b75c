"""Help beside an answer that there is none: what came near, what else the library answers, what the web would be asked.

Nothing here calls a model that is not part of this program, and only runs without an answer pay for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from crag.core.events import About, Guidance, Near, Suggestion
from crag.core.protocols import RetrievalEvaluator, Retriever
from crag.core.settings import Settings
from crag.core.types import Chunk, Passage, Strip
from crag.generation.suggestions import Proposal, proposals
from crag.retrieval.rewriting import KeywordRewriter
from crag.text.sentences import sentences
from crag.text.words import significant_stems, stem, words
from crag.web.searching import outgoing

NEAR = 3
"""At most this many passages are listed as near."""
QUOTE = 220
"""Characters of a passage, or of what a question is made from, that are kept."""
SOURCES = 12
"""How many of the nearest chunks questions are made from."""
CHECKED = 5
"""At most this many proposals are read by the evaluator, each with some lines of text,"""
SEARCHED = 3
"""and for how many of these the library is searched. That is what the help costs."""
SURE = 0.6
"""A proposal is listed where its text scores this, or the upper threshold where that is higher."""


class Guide:
    """Makes the help of one run. `about` tells what is in the library; `web`: whether a web provider is on.

    `evaluator` reads each proposal with the text that it is made from; it is to be one that costs nothing. What it
    finds good is listed if the `retriever`, asked that question, brings the page of that text first.
    """

    def __init__(
        self, about: Callable[[], About], retriever: Retriever, evaluator: RetrievalEvaluator, *, web: bool
    ) -> None:
        self._about, self._retriever, self._evaluator, self._web = about, retriever, evaluator, web

    def guidance(
        self,
        question: str,
        found: Sequence[tuple[Chunk, float | None]],
        strips: Sequence[Strip],
        settings: Settings,
        query: str = "",
    ) -> Guidance:
        """The help for `question`: from the chunks `found`, each once, with their scores, and what was made of them.

        `query` is the one that the web was asked; none: it is made here, by rules. Raises StorageError.
        """
        nearest = sorted(found, key=lambda each: -1.0 if each[1] is None else each[1], reverse=True)
        about = self._about()
        return Guidance(
            about=about,
            near=tuple(_near(question, chunk, score, strips) for chunk, score in nearest[:NEAR]),
            suggestions=tuple(self._suggestions(question, [chunk for chunk, _ in nearest[:SOURCES]], about, settings)),
            query=query or outgoing(KeywordRewriter().rewrite(question, max_keywords=settings.rewrite_keywords)),
            web=self._web,
        )

    def _suggestions(
        self, question: str, chunks: Sequence[Chunk], about: About, settings: Settings
    ) -> list[Suggestion]:
        """Proposals that the library answers from the text they are made from, the nearest first."""
        least, proposals_kept, searched = max(settings.upper, SURE), list[Suggestion](), 0
        for proposal in _apart(proposals(question, chunks, titled=about.documents > 1)):
            if searched == SEARCHED:
                break
            [grade] = self._evaluator.grade(proposal.question, [Passage(id="proposal", text=proposal.text)])
            if grade.score is not None and grade.score >= least:
                searched += 1
                if self._found(proposal):
                    proposals_kept.append(_suggestion(proposal, grade.score))
        return proposals_kept

    def _found(self, proposal: Proposal) -> bool:
        """Whether the page that a proposal is made from is the first that its question finds; of a section, twice."""
        first = self._retriever.search(proposal.question, 2 if proposal.made_of == "section" else 1)
        places = {(found.chunk.document_id, found.chunk.where) for found in first}
        return places == {(proposal.chunk.document_id, proposal.chunk.where)}


def _apart(made: Sequence[Proposal]) -> list[Proposal]:
    """The first ones of different chunks and questions, then others: as many as are read."""
    first: dict[str, Proposal] = {}
    others: list[Proposal] = []
    for each in made:
        if each.chunk.id in first or each.question in {other.question for other in first.values()}:
            others.append(each)
        else:
            first[each.chunk.id] = each
    return [*first.values(), *others][:CHECKED]


def _suggestion(proposal: Proposal, score: float) -> Suggestion:
    chunk = proposal.chunk
    return Suggestion(
        question=proposal.question,
        made_of=proposal.made_of,
        chunk_id=chunk.id,
        source=chunk.source,
        where=chunk.where,
        quote=_short(proposal.quote),
        score=score,
    )


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
