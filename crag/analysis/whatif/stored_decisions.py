"""All stored runs of a workspace, each reduced to what re-deciding needs, re-decided at once.

Every run comes out as `whatif.redecide` has it for one trace, by the same pure functions; only the counting of strips
is done over all runs together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from crag.analysis.whatif.entries import Entry, Stage
from crag.analysis.whatif.outcome_changes import FlipRow, Outcome, Saved, Unknown
from crag.analysis.whatif.replay_plan import Plan, Planner
from crag.core.policy import loops, refines, searches_web, uses_documents
from crag.core.settings import Settings
from crag.core.types import Action
from crag.evaluation.keeping import Facts, Rule, choose
from crag.evaluation.strip_dependencies import Need


class _Strips:
    """The strips of all runs side by side: how many of each source pass, for any floor."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.place: list[dict[str, int]] = []
        """By run: where each of its sources stands in what `passing` returns."""
        scores: list[float] = []
        selected: list[int] = []
        owner: list[int] = []
        count = 0
        for entry in entries:
            own: dict[str, int] = {}
            self.place.append(own)
            for source in entry.sources:
                own[source.id] = count
                scores += [np.nan if score is None else score for score in source.scores]
                selected += [-1 if chosen is None else int(chosen) for chosen in source.selected]
                owner += [count] * len(source.scores)
                count += 1
        self.count: int = count
        self._scores = np.array(scores, dtype=np.float64)
        self._selected, self._owner = np.array(selected, dtype=np.int8), np.array(owner, dtype=np.int64)
        scored = ~np.isnan(self._scores)
        some = np.bincount(self._owner[scored], minlength=count) > 0
        self._fills = ~scored & ~some[self._owner]
        """Unscored strips of sources where nothing is scored."""

    def passing(self, settings: Settings) -> list[int]:
        """By source: how many of its strips `filter_strips` would keep if there were room for all."""
        passes = (self._scores >= settings.strip_filter) | self._fills
        if settings.strip_judge == "llm":
            passes = np.where(self._selected < 0, passes, self._selected == 1)
        found: list[int] = np.bincount(self._owner[passes], minlength=self.count).tolist()
        return found


_Rows = dict[tuple[Action | None, int, Unknown | None], FlipRow]
"""One run's rows, by what was decided: the action, its round, and why there is none."""
_SETTINGS = 4
"""Settings under which rows are remembered, the latest used."""


class StoredDecisions:
    """All stored runs, ready to be re-decided together; safe to share, nothing in it changes."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple(entries)
        self._strips = _Strips(self.entries)
        self._rows: dict[Settings, list[_Rows]] = {}
        self._facts = [_Facts(entry, place) for entry, place in zip(self.entries, self._strips.place, strict=True)]

    def redecide(self, settings: Settings) -> Outcome:
        """Every run under `settings`. No model, library or web is asked."""
        passing, known = self._strips.passing(settings), self._known(settings)
        rows = (facts.row(settings, passing, rows) for facts, rows in zip(self._facts, known, strict=True))
        return Outcome(rows=tuple(rows))

    def _known(self, settings: Settings) -> list[_Rows]:
        """By run, the rows that were made under these settings: under other thresholds too, where they say no more
        than which action is taken.
        """
        rest = settings.model_copy(update={"lower": 0.0, "upper": 0.0}) if settings.keep == "all" else settings
        known = self._rows.get(rest)
        if known is None:
            known = [{} for _ in self._facts]
            self._rows = {**dict(list(self._rows.items())[1 - _SETTINGS :]), rest: known}
        return known


_COUNTS = 16
"""So many counts of strips are remembered of a run."""


class _Facts:
    """One run with what no setting changes about it worked out."""

    def __init__(self, entry: Entry, place: dict[str, int]) -> None:
        self.entry, self.place, self.planner = entry, place, Planner(entry)
        self.pages = tuple(place[source.id] for source in entry.sources if source.is_page)
        self._facts: dict[bool, Facts] = {}
        self._counts: dict[tuple[object, ...], int] = {}
        self.kept = sum(sum(source.kept) for source in entry.sources)
        was, before = entry.settings, entry.before
        self.meant_web = searches_web(before, was)
        self.meant_refine = refines(before, was) and uses_documents(before, was)

    def row(self, settings: Settings, passing: list[int], known: _Rows) -> FlipRow:
        """This run under `settings`. `passing` is of the strips of all runs, `known` of `StoredDecisions._known`."""
        decision, number, reason = self.planner.decision(settings)
        key = decision.action if decision else None, number, reason
        if key not in known:
            known[key] = self._made(self.planner.after(decision, number, reason, settings), settings, passing)
        return known[key]

    def _made(self, plan: Plan, settings: Settings, passing: list[int]) -> FlipRow:
        after = plan.action
        return FlipRow(
            run_id=self.entry.run_id,
            before=self.entry.before,
            after=after,
            becomes="unknown" if plan.reason else after or "none",
            reason=plan.reason,
            open=plan.open,
            round=plan.round,
            documents=plan.documents,
            web=plan.web,
            documents_kept=self._documents_kept(plan, settings, passing),
            pages_kept=self._pages_kept(plan, settings, passing),
            kept_before=self.kept,
            saved=_NOTHING if plan.reason else self._saved(after, plan.round, settings),
            searches=plan.web == "unknown" and not self.entry.searched and not self.meant_web,
            refines=plan.documents == "unknown" and plan.cut and not self.meant_refine,
        )

    def _documents_kept(self, plan: Plan, settings: Settings, passing: list[int]) -> int | None:
        """Strips kept of the round's chunks; None where unknown."""
        if plan.documents == "unknown":
            return None
        if not plan.cut:
            return len(plan.chunks)
        if not Rule.of(settings).counts_alone:
            return self._chosen(frozenset(plan.chunks), settings, plan.anchor)
        return _room(sum(passing[self.place[id]] for id in plan.chunks), settings)

    def _pages_kept(self, plan: Plan, settings: Settings, passing: list[int]) -> int | None:
        """Strips kept of web pages; None where unknown."""
        if plan.web != "known":
            return 0 if plan.web == "not needed" else None
        if not settings.refine_web:
            return len(self.pages)
        if not Rule.of(settings).counts_alone:
            return self._chosen(frozenset(source.id for source in self.entry.sources if source.is_page), settings)
        return _room(sum(passing[place] for place in self.pages), settings)

    def _chosen(self, used: frozenset[str], settings: Settings, anchor: str | None = None) -> int:
        """How many strips of these sources `choose` keeps; remembered, because a moved threshold changes none of it."""
        heeds, rule = settings.strip_judge == "llm", Rule.of(settings)
        key = used, rule, anchor, heeds
        found = self._counts.get(key)
        if found is None:
            facts = self._facts.get(heeds) or self._facts.setdefault(heeds, _facts_of(self.entry, heeds))
            found = len(choose(facts, rule, used=used, anchor=anchor))
            if len(self._counts) >= _COUNTS:
                self._counts = {}
            self._counts[key] = found
        return found

    def _saved(self, action: Action | None, number: int, settings: Settings) -> Saved:
        """What the stages took that would not be taken."""
        left = [stage.took for stage in self.entry.stages if not _takes(stage, action, number, settings)]
        return Saved.of(left) if left else _NOTHING


_NOTHING = Saved()


def _facts_of(entry: Entry, heeds: bool) -> Facts:
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


def _takes(stage: Stage, action: Action | None, number: int, settings: Settings) -> bool:
    """Whether a run that acts on round `number` takes this stage."""
    match stage.kind:
        case "retrieve":
            return stage.round <= number
        case "grade":
            return stage.round <= number and action is not None
        case "retry":
            return stage.round < number or (action is not None and loops(action, round=stage.round, settings=settings))
        case "documents":
            return uses_documents(action, settings) and refines(action, settings)
        case "query" | "search":
            return searches_web(action, settings)
        case "pages":
            return searches_web(action, settings) and settings.refine_web


def _room(passing: int, settings: Settings) -> int:
    """Of the strips that pass, as many as there is room for."""
    return min(passing, settings.strip_top_k) if settings.strip_top_k else passing
