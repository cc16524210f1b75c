"""What a stored run tells of itself under other settings: the action, its round, and what it would use. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from crag.analysis.whatif.entries import (
    Documents,
    Entry,
    Missing,
    Outcome,
    OutcomeRow,
    Plan,
    Retrieval,
    Unknown,
    Web,
)
from crag.core.filters import Filter
from crag.core.policy import (
    acted_on,
    chunks_acted_on,
    keeps_chunk,
    loops,
    refines,
    searches_web,
    uses_documents,
)
from crag.core.settings import Settings
from crag.core.types import Action, Aggregation, Decision, Grade, KeepReason
from crag.evaluation.strip_dependencies import Need
from crag.evaluation.strip_selection import Facts, Rule, choose
from crag.evaluation.trigger import decide, set_grades
from crag.generation.arithmetic import looks_up

_Rows = dict[tuple[Action | None, int, Unknown | None], OutcomeRow]
"""One run's rows, by what was decided: the action, its round, and why there is none."""
_SETTINGS = 4
"""Settings under which rows are remembered, the latest used."""


class StoredDecisions:
    """All stored runs, ready to be re-decided together; safe to share, nothing in it changes."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple(entries)
        self._rows: dict[Settings, list[_Rows]] = {}
        self._planners = [Planner(entry) for entry in self.entries]

    def redecide(self, settings: Settings) -> Outcome:
        """Every run under `settings`. No model, library or web is asked."""
        known = zip(self._planners, self._known(settings), strict=True)
        return Outcome(rows=tuple(_row(planner, settings, rows) for planner, rows in known))

    def _known(self, settings: Settings) -> list[_Rows]:
        """By run, the rows that were made under these settings: under other thresholds too, where they say no more
        than which action is taken.
        """
        rest = settings.model_copy(update={"lower": 0.0, "upper": 0.0}) if settings.keep == "all" else settings
        known = self._rows.get(rest)
        if known is None:
            known = [{} for _ in self._planners]
            self._rows = {**dict(list(self._rows.items())[1 - _SETTINGS :]), rest: known}
        return known


def _row(planner: Planner, settings: Settings, known: _Rows) -> OutcomeRow:
    """A run under `settings`. `known` is of `StoredDecisions._known`."""
    decision, number, reason = planner.decision(settings)
    key = decision.action if decision else None, number, reason
    if key not in known:
        entry, plan = planner.entry, planner.after(decision, number, reason, settings)
        known[key] = OutcomeRow(
            run_id=entry.run_id,
            before=entry.before,
            plan=plan,
            searched=searches_web(entry.before, entry.settings),
            kept=_count_kept(planner, plan, settings),
            kept_before=sum(sum(source.kept) for source in entry.sources),
        )
    return known[key]


def _count_kept(planner: Planner, plan: Plan, settings: Settings) -> int | None:
    """How many strips of chunks and web pages would be kept; None where that is unknown."""
    if plan.reason or "unknown" in (plan.documents, plan.web):
        return None
    documents = planner.chosen(plan.chunks, settings) if plan.cut else plan.chunks
    pages = tuple(source.id for source in planner.entry.sources if source.is_page) if plan.web == "known" else ()
    return len(documents) + len(planner.chosen(pages, settings) if settings.refine_web else pages)


def _strip_facts(entry: Entry, heeds: bool) -> Facts:
    """The strips of a run; `heeds`: with what a language model said of them."""
    sources: list[str] = []
    needed: list[tuple[Need, ...]] = []
    for source in entry.sources:
        start = len(sources)
        sources += [source.id] * len(source.scores)
        needed += [tuple((start + place, why) for place, why in each) for each in source.needs]
    return Facts.made(
        tuple(sources),
        tuple(score for source in entry.sources for score in source.scores),
        tuple(said if heeds else None for source in entry.sources for said in source.selected),
        tuple(count for source in entry.sources for count in source.words),
        tuple(needed),
    )


class Planner:
    """One stored run, ready to be planned again under any settings."""

    def __init__(self, entry: Entry) -> None:
        self.entry, self.was = entry, entry.settings
        self._search = _search(self.was)
        self._cut, self._judged = _cut(self.was), self.was.strip_judge == "llm"
        self._refined = refines(entry.before, self.was)
        self._sources = frozenset(source.id for source in entry.sources)
        self._empty = frozenset(source.id for source in entry.sources if not source.kept)
        pages = [source for source in entry.sources if source.is_page]
        self._all_read = len(pages) == entry.pages
        self._blank = not any(source.kept for source in pages)
        self._doubtful = any(source.doubtful for source in pages)
        self._same: dict[tuple[object, ...], tuple[bool, bool]] = {}
        self._facts: dict[bool, Facts] = {}

    def _retrieves_otherwise(self, settings: Settings) -> bool:
        """Whether the same query and number of chunks would bring others."""
        return _retrieval(settings) != _retrieval(self.was) or (
            settings.lookup_reach != self.was.lookup_reach
            and (settings.lookup_reach > self.was.lookup_reach or any(each.reached for each in self.entry.rounds))
            and self._looks_up
        )

    @cached_property
    def _looks_up(self) -> bool:
        return looks_up(self.entry.question)

    def chosen(self, sources: tuple[str, ...], settings: Settings) -> Mapping[int, KeepReason]:
        """The strips of these sources that would be kept, by their places among all of the run, and why."""
        heeds = settings.strip_judge == "llm"
        if heeds not in self._facts:
            self._facts[heeds] = _strip_facts(self.entry, heeds)
        return choose(self._facts[heeds], Rule.of(settings), used=sources)

    def plan(self, settings: Settings) -> Plan:
        """What this run would do under `settings`."""
        return self.after(*self.decision(settings), settings)

    def after(self, decision: Decision | None, number: int, reason: Unknown | None, settings: Settings) -> Plan:
        """The plan that follows from what `decision` says: of the thresholds only through the action.

        And through the chunks that are used, where relevant ones alone are (`Settings.keep`).
        """
        if reason:
            return Plan(None, reason, number)
        action = decision.action if decision else None
        documents, chunks, cut, about_documents = self._documents(action, number, settings)
        web, about_web = self._web(action, settings)
        unknown = tuple(filter(None, (about_documents, about_web)))
        return Plan(decision, None, number, documents, chunks, cut, web, unknown)

    def grades(self, number: int, settings: Settings) -> Sequence[Grade] | Unknown:
        """The grades that decide after round `number`, those of a joint evaluation one; or why they can't be known.

        No threshold changes them.
        """
        if not self.entry.rounds:
            return Unknown(Missing.NO_ROUND)
        if self._retrieves_otherwise(settings):
            return Unknown(Missing.OTHER_RETRIEVAL)
        grades = self._grades(self.entry.rounds[number], settings)
        if isinstance(grades, Unknown):
            return grades
        if number and settings.loop_merge != "last":
            grades = [grade for _, grade in self.acted(number, settings, joint=True) if grade is not None]
        return self._together(number, grades, settings)

    def decision(self, settings: Settings) -> tuple[Decision | None, int, Unknown | None]:
        """The decision that would be acted on, its round, and why there is none where it can't be known."""
        if settings.evaluator == "none":
            return None, 0, None
        for number in range(len(self.entry.rounds) or 1):
            grades = self.grades(number, settings)
            if isinstance(grades, Unknown):
                return None, number, grades
            stored = self.entry.rounds[number]
            decision = decide(grades, upper=settings.upper, lower=settings.lower, aggregation=settings.aggregation)
            if not loops(decision.action, round=number, settings=settings):
                return acted_on(decision, settings), number, None
            if not self._same_loop(stored, settings):
                break
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
            return Unknown(Missing.NO_GRADES)
        if settings.evaluator == "joint":
            return Unknown(Missing.NO_GRADES) if stored.joint is None or settings.k < count else [stored.joint]
        grades = [grade for grade in stored.grades[: settings.k] if grade is not None]
        return grades if len(grades) == min(count, settings.k) else Unknown(Missing.NO_GRADES)

    def _together(self, number: int, grades: Sequence[Grade], settings: Settings) -> Sequence[Grade] | Unknown:
        """The grades that decide after round `number`: under `set` the stored one of the same chunks together."""
        if settings.aggregation is not Aggregation.SET or not grades:
            return grades
        stored = self.entry.rounds[number]
        together = stored.together
        if together is None and not stored.decided:
            return Unknown(Missing.NO_SET)
        same, graded = self._as_graded(number, settings)
        if same or (together is None and graded):  # graded, and no score: nothing could tell of any chunks
            return set_grades(grades, together, settings.aggregation)
        return Unknown(Missing.NO_SET)

    def _as_graded(self, number: int, settings: Settings) -> tuple[bool, bool]:
        """Whether `settings` act on the chunks of round `number` that the run acted on, and whether any of those has a
        grade. Remembered: no threshold changes it.
        """
        key = number, settings.k, settings.evaluator, settings.loop_merge
        if key not in self._same:
            acted = self.acted(number, self.was)
            same = {id for id, _ in self.acted(number, settings)} == {id for id, _ in acted}
            self._same[key] = same, any(grade is not None and not grade.failed for _, grade in acted)
        return self._same[key]

    def acted(self, number: int, settings: Settings, *, joint: bool = False) -> list[tuple[str, Grade | None]]:
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
        graded = self.acted(number, settings)
        chunks = tuple(id for id, grade in graded if keeps_chunk(grade if by_chunk else None, settings))
        if not cut or not chunks:
            return "known", chunks, cut, None
        if not self._refined or self._cut != _cut(settings) or not self._sources.issuperset(chunks):
            return "unknown", chunks, cut, Unknown(Missing.NOT_SCORED)
        if settings.strip_judge == "llm" and not self._judged and not self._empty.issuperset(chunks):
            return "unknown", chunks, cut, Unknown(Missing.NOT_SCORED)
        return "known", chunks, cut, None

    def _not_retrieved(self, settings: Settings) -> Unknown | None:
        """Why it is unknown what plain RAG would retrieve; None where it is known, as after any known decision."""
        if not self.entry.rounds:
            return Unknown(Missing.NO_ROUND)
        if self._retrieves_otherwise(settings):
            return Unknown(Missing.OTHER_RETRIEVAL)
        count = len(self.entry.rounds[0].chunks)
        return Unknown(Missing.NOT_RETRIEVED, count) if settings.k > count == self.was.k else None

    def _web(self, action: Action | None, settings: Settings) -> tuple[Web, Unknown | None]:
        """What is known of the web, and what is unknown."""
        if not searches_web(action, settings):
            return "not needed", None
        if not self.entry.searched or self._search != _search(settings):
            return "unknown", Unknown(Missing.NOT_SEARCHED)
        if not self.entry.pages:
            return "known", None
        judges_anew = settings.strip_judge == "llm" and not self._judged and not self._blank
        cuts_anew = settings.refine_web and (self._doubtful or self._cut != _cut(settings) or judges_anew)
        if not self._all_read or _reading(settings) != _reading(self.was) or cuts_anew:
            return "unknown", Unknown(Missing.PAGES_NOT_SCORED)
        return "known", None


def _retrieval(settings: Settings) -> tuple[float, float, Filter]:
    """What shapes a retrieval, besides its query, how many chunks it brings, and how far it reaches for a figure."""
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
