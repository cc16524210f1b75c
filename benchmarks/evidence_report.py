"""The figures of benchmarks.evidence, from kept runs, and their page. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import mean
from typing import Any, Literal

from corpora.answer_questions import Part
from crag.analysis.metrics.metrics import chunk_place, pages_of
from crag.analysis.questions.matching import asked_scale, checkable, holds
from crag.analysis.questions.sets import Question
from crag.analysis.whatif.entries import Entry
from crag.analysis.whatif.replay_plan import Planner
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from crag.core.types import Action, Strip
from crag.evaluation.strip_selection import Facts, Rule, choose

STAGES = ("retrieved", "graded", "kept", "held", "said")
GOAL, WORDS_GOAL = 0.97, 0.5
"""Of the pages that plain RAG keeps, and of its words."""
Cause = Literal["the action is INCORRECT", "not among the chunks acted on", "below the strip filter", "no room"]


@dataclass(frozen=True, slots=True)
class FunnelRow:
    """How far the gold page of one question came. `graded`: above the lower threshold; None where nothing is graded.
    `held`: what is kept of it holds the accepted answer; None where no text can be compared with that.
    `said`: cited by the answer; None where no answer was written."""

    retrieved: bool
    graded: bool | None
    kept: bool
    held: bool | None
    said: bool | None
    words: int


@dataclass(frozen=True)
class AskedQuestion:
    """One question with its runs by the strategy's name; "open" is the one in which every chunk was refined."""

    group: str
    part: Part
    question: Question
    traces: Mapping[str, Trace]

    @cached_property
    def gold(self) -> frozenset[str]:
        """The ids of all chunks of the open run that are of a gold page."""
        places = pages_of(self.question)
        found = (found.chunk for each in self.traces["open"].rounds for found in each.chunks)
        return frozenset(chunk.id for chunk in found if chunk_place(chunk) in places)

    @cached_property
    def planner(self) -> Planner:
        return Planner(Entry.of(self.traces["open"]))

    @cached_property
    def _strips(self) -> list[Strip]:
        return [strip for strips in self.traces["open"].strips.values() for strip in strips]

    @cached_property
    def facts(self) -> Facts:
        return Facts.of(self._strips)

    def _held(self, kept: Iterable[str]) -> bool | None:
        accepted = checkable(self.question.answers)
        return holds("\n".join(kept), accepted, scale=asked_scale(self.question.question)) if accepted else None

    def row(self, name: str) -> FunnelRow:
        """The funnel of a run as it was."""
        trace, places = self.traces[name], pages_of(self.question)
        settings = STRATEGIES[name].settings
        chunks = {found.chunk.id: found.chunk for each in trace.rounds for found in each.chunks}
        gold = {id for id, chunk in chunks.items() if chunk_place(chunk) in places}
        grades = {id: grade.score or 0.0 for each in trace.rounds for id, grade in each.grades.items()}
        kept = trace.kept("internal")
        cited = {each.source_id for each in trace.answer.citations} if trace.answer else set()
        return FunnelRow(
            retrieved=bool(gold),
            graded=any(grades.get(id, 0.0) >= settings.lower for id in gold) if grades else None,
            kept=any(strip.source_id in gold for strip in kept),
            held=self._held(strip.text for strip in kept if strip.source_id in gold),
            said=bool(cited & gold),
            words=sum(len(strip.text.split()) for strip in kept),
        )

    def decided(self, settings: Settings) -> tuple[FunnelRow, Cause | None]:
        """The funnel under other settings, and why the gold page is not kept; None where it is, or was not retrieved.

        Raises ValueError where only a new run could tell.
        """
        plan = self.planner.plan(settings)
        if plan.reason or plan.documents == "unknown":
            raise ValueError(f"{self.question.id}: the kept run can't be decided under these settings")
        kept = choose(self.facts, Rule.of(settings), used=plan.chunks)
        if not plan.chunks:
            kept = {}
        grades = {id: grade.score or 0.0 for each in self.traces["open"].rounds for id, grade in each.grades.items()}
        row = FunnelRow(
            retrieved=bool(self.gold),
            graded=any(grades[id] >= settings.lower for id in self.gold),
            kept=any(self.facts.sources[place] in self.gold for place in kept),
            held=self._held(
                self._strips[place].text for place in sorted(kept) if self.facts.sources[place] in self.gold
            ),
            said=None,
            words=sum(self.facts.words[place] for place in kept),
        )
        return row, None if row.kept or not self.gold else self._cause(plan.action, plan.chunks, settings)

    def _cause(self, action: Action | None, chunks: Sequence[str], settings: Settings) -> Cause:
        if action not in settings.internal_on:
            return "the action is INCORRECT"
        own = self.gold.intersection(chunks)
        if not own:
            return "not among the chunks acted on"
        scores = [
            score or 0.0 for score, source in zip(self.facts.scores, self.facts.sources, strict=True) if source in own
        ]
        return "no room" if max(scores, default=0.0) >= settings.strip_filter else "below the strip filter"

    @property
    def rank(self) -> int | None:
        """Where the gold page stands in the first retrieval, from 1."""
        first = self.traces["open"].rounds[0].chunks
        return next((place for place, found in enumerate(first, start=1) if found.chunk.id in self.gold), None)


def summarise(asked: Sequence[AskedQuestion], version: str, tried: Mapping[str, Settings]) -> dict[str, Any]:
    """All figures, by group and half."""
    groups: dict[str, list[AskedQuestion]] = {}
    for each in asked:
        for name in (f"{each.group}, {each.part}", f"all, {each.part}"):
            groups.setdefault(name, []).append(each)
    parts = sorted({each.part for each in asked})
    names = [name for name in asked[0].traces if name != "open"]
    variants = {"balanced": STRATEGIES["balanced"].settings, **tried}
    return {
        "version": version,
        "questions": len(asked),
        "groups": {
            name: {each: funnel([one.row(each) for one in own]) for each in names} for name, own in groups.items()
        },
        "causes": {part: causes([each for each in asked if each.part == part]) for part in parts},
        "tried": {
            name: {part: against([each for each in asked if each.part == part], settings) for part in parts}
            for name, settings in variants.items()
        },
    }


def funnel(rows: Sequence[FunnelRow]) -> dict[str, Any]:
    """Shares of the questions, and mean words kept."""
    found: dict[str, Any] = {"questions": len(rows), "words": mean(row.words for row in rows)}
    for stage in STAGES:
        known = [value for row in rows if (value := getattr(row, stage)) is not None]
        found[stage] = mean(known) if known else None
    return found


def causes(asked: Sequence[AskedQuestion]) -> dict[str, Any]:
    """Why `balanced` loses pages that plain RAG keeps, and how many of them stood among the first three chunks."""
    counts: Counter[str] = Counter()
    first: Counter[str] = Counter()
    for each in asked:
        _, cause = each.decided(STRATEGIES["balanced"].settings)
        if cause and each.row("plain-rag").kept:
            counts[cause] += 1
            first[cause] += (each.rank or 99) <= 3
    return {cause: {"questions": count, "first three": first[cause]} for cause, count in counts.most_common()}


def against(asked: Sequence[AskedQuestion], settings: Settings) -> dict[str, float]:
    """Gold pages and words under some settings, as shares of plain RAG's; means over the groups count alike."""
    found = []
    for group in sorted({each.group for each in asked}):
        own = [each for each in asked if each.group == group]
        plain, rows = [each.row("plain-rag") for each in own], [each.decided(settings)[0] for each in own]
        found.append((_mean(row.kept for row in rows), _mean(row.kept for row in plain), *_words(rows, plain)))
    kept, plain_kept, words, plain_words = (mean(column) for column in zip(*found, strict=True))
    return {"kept": kept, "plain": plain_kept, "of plain": kept / plain_kept, "words": words / plain_words}


def _words(rows: Sequence[FunnelRow], plain: Sequence[FunnelRow]) -> tuple[float, float]:
    return _mean(row.words for row in rows), _mean(row.words for row in plain)


def _mean(values: Iterable[float]) -> float:
    return mean([float(value) for value in values])


def report(results: Mapping[str, Any]) -> str:
    """The page."""
    lines = [
        "# Evidence",
        "",
        f"By `python -m benchmarks.evidence`, evaluator {results['version']}, {results['questions']} questions with "
        "their gold pages, asked of filings and reports; each kind and half has a library. No language model, no web.",
        "Shares of questions: a gold page is among the chunks retrieved; a chunk of it is scored at least the lower "
        "threshold; text of it is kept as evidence; that text holds the accepted answer, where "
        "one can be looked for; the answer cites it. Words: kept, on average.",
        "Settings were chosen on the half `choose`; the half `report` has other documents.",
        "",
        "| group, half | questions | strategy | retrieved | graded | kept | held | said | words |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, strategies in results["groups"].items():
        for strategy, each in strategies.items():
            cells = [f"{each[stage]:.3f}" if each[stage] is not None else "–" for stage in STAGES]
            lines.append(f"| {name} | {each['questions']} | {strategy} | {' | '.join(cells)} | {each['words']:.0f} |")
    lines += [
        "",
        "## Pages that `balanced` loses and plain RAG keeps",
        "",
        "| half | cause | questions | of these among the first three chunks |",
        "|---|---|---|---|",
    ]
    for part, found in results["causes"].items():
        lines += [
            f"| {part} | {cause} | {each['questions']} | {each['first three']} |" for cause, each in found.items()
        ]
    lines += [
        "",
        "## Settings",
        "",
        f"Groups count alike. Goal: at least {GOAL} of plain RAG's gold pages in at most {WORDS_GOAL} of its words.",
        "",
        "| settings | half | pages, of plain RAG's | words |",
        "|---|---|---|---|",
    ]
    for name, parts in results["tried"].items():
        lines += [
            f"| `{name}` | {part} | {each['of plain']:.3f} | {each['words']:.3f} |" for part, each in parts.items()
        ]
    return "\n".join(lines) + "\n"
