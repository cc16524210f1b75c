"""What a stored run tells of itself under other settings: the action, its round, and what it would use. Pure.

The one place that says what is known without a call: what-if, the ledger and the labelled runs all ask it, so that
they can't disagree. It decides by the live run's own functions. The library, the web and the models count as they
were in the stored run; whatever another setting would have asked of them is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crag.analysis.whatif.entries import Entry, Retrieval
from crag.analysis.whatif.outcome_changes import Documents, Missing, Unknown, Web
from crag.core.policy import (
    acted_on,
    best_chunk,
    chunks_acted_on,
    keeps_chunk,
    loops,
    refines,
    searches_web,
    uses_documents,
)
from crag.core.settings import Settings
from crag.core.types import Action, Decision, Grade
from crag.evaluation.trigger import decide


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run would do. `decision` is None for plain RAG and where only a new run could tell, which `reason` says.

    `round` is the retrieval acted on, from 0. `chunks` are the ids of the chunks it would use, in order of retrieval;
    `cut`: into strips that are scored, or whole. `anchor`: the chunk whose best passage is kept. `open` is what is
    unknown though the action is known.
    """

    decision: Decision | None
    reason: Unknown | None
    round: int
    documents: Documents = "not used"
    chunks: tuple[str, ...] = ()
    cut: bool = False
    anchor: str | None = None
    web: Web = "not needed"
    open: tuple[Unknown, ...] = ()

    @property
    def action(self) -> Action | None:
        return self.decision.action if self.decision else None


class Planner:
    """One stored run, ready to be planned anew under any settings."""

    def __init__(self, entry: Entry) -> None:
        self.entry, self.was = entry, entry.settings
        self._retrieval, self._search = _retrieval(self.was), _search(self.was)
        self._cut, self._judged = _cut(self.was), self.was.strip_judge == "llm"
        self._refined = refines(entry.before, self.was)
        self._sources = frozenset(source.id for source in entry.sources)
        self._empty = frozenset(source.id for source in entry.sources if not source.kept)
        pages = [source for source in entry.sources if source.is_page]
        self._all_read = len(pages) == entry.pages
        self._blank = not any(source.kept for source in pages)
        self._doubtful = any(source.doubtful for source in pages)

    def plan(self, settings: Settings) -> Plan:
        """What this run would do under `settings`."""
        return self.after(*self.decision(settings), settings)

    def after(self, decision: Decision | None, number: int, reason: Unknown | None, settings: Settings) -> Plan:
        """The plan that follows from what `decision` told: of the thresholds only through the action.

        And through the chunks that are used, where relevant ones alone are (`Settings.keep`).
        """
        if reason:
            return Plan(None, reason, number)
        action = decision.action if decision else None
        documents, chunks, cut, about_documents = self._documents(action, number, settings)
        anchor = self._anchor(chunks, number, action, settings) if cut else None
        web, about_web = self._web(action, settings)
        unknown = tuple(filter(None, (about_documents, about_web)))
        return Plan(decision, None, number, documents, chunks, cut, anchor, web, unknown)

    def first(self, settings: Settings) -> Sequence[Grade] | Unknown:
        """The grades of the first retrieval, those of a joint evaluation one; or why they can't be known."""
        if not self.entry.rounds:
            return Unknown(Missing.NO_ROUND)
        if self._retrieval != _retrieval(settings):
            return Unknown(Missing.OTHER_RETRIEVAL)
        return self._grades(self.entry.rounds[0], settings)

    def decision(self, settings: Settings) -> tuple[Decision | None, int, Unknown | None]:
        """The decision that would be acted on, its round, and why there is none where it can't be known."""
        if settings.evaluator == "none":
            return None, 0, None
        if not self.entry.rounds:
            return None, 0, Unknown(Missing.NO_ROUND)
        if self._retrieval != _retrieval(settings):
            return None, 0, Unknown(Missing.OTHER_RETRIEVAL)
        for number, stored in enumerate(self.entry.rounds):
            grades = self._grades(stored, settings)
            if isinstance(grades, Unknown):
                return None, number, grades
            if number and settings.loop_merge != "last":
                grades = [grade for _, grade in self._acted(number, settings, joint=True) if grade is not None]
            decision = decide(grades, upper=settings.upper, lower=settings.lower, aggregation=settings.aggregation)
            if not loops(decision.action, round=number, settings=settings):
                return acted_on(decision, settings), number, None
            if not self._same_loop(stored, settings):
                return None, number, Unknown(Missing.OTHER_LOOP)
            if stored.retried:
                return acted_on(decision, settings), number, None
        return None, number, Unknown(Missing.NO_LOOP)

    def _grades(self, stored: Retrieval, settings: Settings) -> Sequence[Grade] | Unknown:
        """The stored grades that `settings` would look at; or why a new one would be needed."""
        count = len(stored.chunks)
        if settings.k > count == self.was.k:
            return Unknown(Missing.NOT_RETRIEVED, count)
        if not count:
            return ()
        if settings.grade_chars != self.was.grade_chars:
            return Unknown(Missing.OTHER_LENGTH)
        if settings.evaluator == "joint":
            if stored.joint is None:
                return Unknown(Missing.NO_JOINT)
            return [stored.joint] if settings.k >= count else Unknown(Missing.OTHER_JOINT, settings.k)
        grades = [grade for grade in stored.grades[: settings.k] if grade is not None]
        return grades if len(grades) == min(count, settings.k) else Unknown(Missing.NO_GRADES)

    def _acted(self, number: int, settings: Settings, *, joint: bool = False) -> list[tuple[str, Grade | None]]:
        """The chunks acted on after round `number`, with their grades; `joint`: one grade over all, where it is so."""
        rounds = self.entry.rounds[: number + 1]
        graded = [list(zip(each.chunks, each.grades, strict=True))[: settings.k] for each in rounds]
        by_chunk = settings.evaluator == "chunk"
        known = [[(id, grade if by_chunk else None) for id, grade in each] for each in graded]
        places = chunks_acted_on(known, [None if by_chunk else each.joint for each in rounds], settings)
        if joint and not by_chunk:
            return [("joint", rounds[places[0][0]].joint)] if places else []
        return [known[at][place] for at, place in places]

    def _same_loop(self, stored: Retrieval, settings: Settings) -> bool:
        """Whether the query of the next round would be made of the same: the rewriter sees the chunks that failed."""
        return settings.rewrite_keywords == self.was.rewrite_keywords and settings.k >= len(stored.chunks)

    def _documents(
        self, action: Action | None, number: int, settings: Settings
    ) -> tuple[Documents, tuple[str, ...], bool, Unknown | None]:
        """What is known of the documents, the chunks used, whether they are cut, and what is unknown."""
        if not uses_documents(action, settings):
            return "not used", (), False, None
        cut = refines(action, settings)
        if why := self._not_retrieved(settings):
            return "unknown", (), cut, why
        by_chunk = settings.evaluator == "chunk"
        graded = self._acted(number, settings)
        chunks = tuple(id for id, grade in graded if keeps_chunk(grade if by_chunk else None, settings))
        if not cut or not chunks:
            return "known", chunks, cut, None
        if not self._refined or self._cut != _cut(settings) or not self._sources.issuperset(chunks):
            return "unknown", chunks, cut, Unknown(Missing.NOT_SCORED)
        if settings.strip_judge == "llm" and not self._judged and not self._empty.issuperset(chunks):
            return "unknown", chunks, cut, Unknown(Missing.NOT_JUDGED)
        return "known", chunks, cut, None

    def _anchor(self, chunks: tuple[str, ...], number: int, action: Action | None, settings: Settings) -> str | None:
        if not settings.min_passage_words or settings.evaluator != "chunk":
            return None
        return best_chunk([each for each in self._acted(number, settings) if each[0] in chunks], action, settings)

    def _not_retrieved(self, settings: Settings) -> Unknown | None:
        """Why it is unknown what plain RAG would retrieve; None where it is known, as after any known decision."""
        if not self.entry.rounds:
            return Unknown(Missing.NO_ROUND)
        if self._retrieval != _retrieval(settings):
            return Unknown(Missing.OTHER_RETRIEVAL)
        count = len(self.entry.rounds[0].chunks)
        return Unknown(Missing.NO_CHUNKS, count) if settings.k > count == self.was.k else None

    def _web(self, action: Action | None, settings: Settings) -> tuple[Web, Unknown | None]:
        """What is known of the web, and what is unknown."""
        if not searches_web(action, settings):
            return "not needed", None
        if not self.entry.searched:
            return "unknown", Unknown(Missing.NOT_SEARCHED)
        if self._search != _search(settings):
            return "unknown", Unknown(Missing.OTHER_SEARCH)
        if not self.entry.pages:
            return "known", None
        if not self._all_read or _reading(settings) != _reading(self.was):
            return "unknown", Unknown(Missing.PAGES_NOT_SCORED)
        if settings.refine_web and (self._doubtful or self._cut != _cut(settings)):
            return "unknown", Unknown(Missing.PAGES_NOT_SCORED)
        if settings.refine_web and settings.strip_judge == "llm" and not self._judged and not self._blank:
            return "unknown", Unknown(Missing.PAGES_NOT_JUDGED)
        return "known", None


def _retrieval(settings: Settings) -> tuple[float, float, str]:
    """What shapes a retrieval, besides its query and how many chunks it brings."""
    return settings.min_confidence, settings.half_life_days, settings.where


def _search(settings: Settings) -> tuple[int, str, int]:
    """What shapes a web search of the same question."""
    return settings.rewrite_keywords, settings.web_query, settings.web_results


def _reading(settings: Settings) -> tuple[bool, bool]:
    """What shapes how web pages are read."""
    return settings.refine_web, settings.erase_web_injection


def _cut(settings: Settings) -> tuple[str, int, str]:
    """What shapes how a text is cut into strips, and how these are scored."""
    sentences = settings.strip_sentences if settings.strips == "sentences" else 0
    return settings.strips, sentences, settings.strip_reading
