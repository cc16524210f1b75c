"""A stored run reduced to what re-deciding it needs: grades and strips' scores. No texts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cached_property
from typing import Literal, TypeVar, cast

from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Action, Decision, Grade, SetGrade, Strip
from crag.evaluation.strip_dependencies import Need, needs
from crag.text.words import count_words

H = TypeVar("H", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """One round. `grades` go with `chunks`, in order of rank: None where there is none. `retried`: the live run wanted
    another retrieval after this one and had no new query for it. `reached`: a chunk from further down is among them,
    for its table's figure (`Settings.lookup_reach`). `together`: the grade of all chunks that were acted on after it.
    `decided`: the run came so far that an action was taken.
    """

    chunks: tuple[str, ...]
    grades: tuple[Grade | None, ...]
    joint: Grade | None
    retried: bool
    reached: bool = False
    together: SetGrade | None = None
    decided: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The strips of one chunk or web page, in reading order: scores (None: not scored, or failed), what a language
    model said of each, and which were kept.

    `words` counts each strip's words; `needs` are the others that it can't be understood without, by place.
    `doubtful`: nothing on a web page has a score, so of its dropped strips nobody can tell which failed and which
    were left out for the length of the page.
    """

    id: str
    is_page: bool
    scores: tuple[float | None, ...]
    selected: tuple[bool | None, ...]
    kept: tuple[bool, ...]
    words: tuple[int, ...]
    needs: tuple[tuple[Need, ...], ...]
    doubtful: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A stored run without its texts. `before` is its action, `settings` are those it ran under.

    `pages` counts the pages that its web search brought, though the run may have ended before it read them. `via` says
    how it came in, as `RunStarted` does, and `elsewhere` whether it searched another store than the library.
    """

    run_id: str
    question: str
    strategy: str
    started_at: str
    settings: Settings
    before: Action | None
    rounds: tuple[Retrieval, ...]
    sources: tuple[Source, ...]
    searched: bool
    pages: int
    via: str = ""
    elsewhere: bool = False

    @classmethod
    def of(cls, trace: Trace) -> Entry:
        """What re-deciding needs of a trace."""
        pages = {page.id for page in trace.pages}
        return cls(
            run_id=trace.run_id,
            question=trace.meant,
            strategy=trace.strategy,
            started_at=trace.started_at,
            settings=trace.run_settings,
            before=trace.action,
            rounds=tuple(_retrieval(trace, number) for number in range(len(trace.rounds))),
            sources=tuple(_source(id, strips, id in pages) for id, strips in trace.strips.items()),
            searched=bool(trace.searches),
            pages=len(pages),
            via=trace.via,
            elsewhere=trace.elsewhere,
        )


class Shared:
    """Parts that entries have in common, kept once: thousands of runs retrieve the same chunks, or repeat questions."""

    def __init__(self) -> None:
        self._known: dict[str, dict[Hashable, Hashable]] = {}

    def entry(self, entry: Entry) -> Entry:
        """The same entry, of parts that earlier ones have where they are equal."""
        return replace(
            entry,
            settings=self._one("settings", entry.settings),
            rounds=tuple(self._one("round", each) for each in entry.rounds),
            sources=tuple(self._source(each) for each in entry.sources),
        )

    def _source(self, source: Source) -> Source:
        if source not in self._known.get("source", {}):
            parts = {name: self._one(name, getattr(source, name)) for name in ("scores", "selected", "kept", "words")}
            needs = tuple(self._one("need", each) for each in source.needs)
            source = replace(source, needs=self._one("needs", needs), **parts)
        return self._one("source", source)

    def _one(self, what: str, value: H) -> H:
        """By what it is: (True, False) equals (1, 0)."""
        return cast(H, self._known.setdefault(what, {}).setdefault(value, value))


def _retrieval(trace: Trace, number: int) -> Retrieval:
    stored = trace.rounds[number]
    ids = tuple(found.chunk.id for found in stored.chunks)
    return Retrieval(
        chunks=ids,
        grades=tuple(_bare(stored.grades.get(id)) for id in ids),
        joint=_bare(stored.joint),
        retried=_retried(trace, number),
        reached=any(found.rank > len(ids) for found in stored.chunks),
        together=stored.together,
        decided=stored.decision is not None,
    )


def _retried(trace: Trace, number: int) -> bool:
    """Whether the rewrite after this round came to its end and brought no new query."""
    visits = [step for step in trace.steps if step.step == "rewrite"]
    if any(rewrite.purpose == "web" for rewrite in trace.rewrites):
        visits = visits[:-1]  # a run searches the web at most once, and last
    made = sum(rewrite.purpose == "library" for rewrite in trace.rewrites)
    return made <= number and any(visit.round == number and visit.seconds is not None for visit in visits)


def _bare(grade: Grade | None) -> Grade | None:
    """A grade without its words and what it took."""
    return grade and replace(
        grade, reason="", instead_of="", seconds=0.0, error=None if grade.error is None else "failed"
    )


def _source(id: str, strips: Sequence[Strip], is_page: bool) -> Source:
    silent = any(strip.score is None and not strip.kept and strip.selected is None for strip in strips)
    return Source(
        id=id,
        is_page=is_page,
        scores=tuple(strip.score for strip in strips),
        selected=tuple(strip.selected for strip in strips),
        kept=tuple(strip.kept for strip in strips),
        words=tuple(count_words(strip.text) for strip in strips),
        needs=tuple(needs([strip.text for strip in strips])),
        doubtful=is_page and silent and all(strip.score is None for strip in strips),
    )


Becomes = Action | Literal["none", "unknown"]
"""An action; "none": nothing is graded; "unknown": only a new run could tell."""
Documents = Literal["not used", "known", "unknown"]
"""Which strips of the library's chunks would be kept."""
Web = Literal["not needed", "known", "unknown"]
"""What the web would bring, and which strips of that would be kept."""


class Missing(Enum):
    """What only a new run can show: a decision, retrieved chunks, scores, another loop, strips or web results."""

    NO_ROUND = auto()
    OTHER_RETRIEVAL = auto()
    NOT_RETRIEVED = auto()
    NO_GRADES = auto()
    NO_SET = auto()
    NO_LOOP = auto()
    NOT_SCORED = auto()
    NOT_SEARCHED = auto()
    PAGES_NOT_SCORED = auto()


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that only a new run can show. `k`: the number of chunks that it is about, if it is."""

    what: Missing
    k: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run would do. `decision` is None for plain RAG and where only a new run could tell, which `reason` says.

    `round` is the retrieval acted on, from 0. `chunks` are the ids of the chunks it would use, in order of retrieval;
    `cut`: into strips that are scored, or whole. `open` is what is unknown though the action is known.
    """

    decision: Decision | None
    reason: Unknown | None
    round: int
    documents: Documents = "not used"
    chunks: tuple[str, ...] = ()
    cut: bool = False
    web: Web = "not needed"
    open: tuple[Unknown, ...] = ()

    @property
    def action(self) -> Action | None:
        return self.decision.action if self.decision else None

    @property
    def unknown(self) -> tuple[Unknown, ...]:
        """All that only a new run could tell."""
        return (self.reason,) if self.reason else self.open


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """One stored run under other settings: what it would do by its `plan`. `before`: None where it decided nothing.

    `searched`: whether the run set out to search the web. `kept` counts the strips that it would keep, None where that
    is unknown, and `kept_before` those that it kept.
    """

    run_id: str
    before: Action | None
    plan: Plan
    searched: bool
    kept: int | None
    kept_before: int

    @property
    def becomes(self) -> Becomes:
        return "unknown" if self.plan.reason else self.plan.action or "none"


@dataclass(frozen=True)
class Outcome:
    """All stored runs under other settings, in the ledger's order."""

    rows: tuple[OutcomeRow, ...]

    @cached_property
    def matrix(self) -> dict[tuple[Becomes, Becomes], tuple[str, ...]]:
        """The run ids by (what it was, what it would be); only cells that hold a run."""
        cells: defaultdict[tuple[Becomes, Becomes], list[str]] = defaultdict(list)
        for row in self.rows:
            cells[(row.before or "none", row.becomes)].append(row.run_id)
        return {cell: tuple(ids) for cell, ids in cells.items()}

    @cached_property
    def reasons(self) -> dict[Unknown, int]:
        """Why an action can't be known, with the number of runs; the most frequent first."""
        return dict(Counter(row.plan.reason for row in self.rows if row.plan.reason).most_common())

    @cached_property
    def open(self) -> dict[Unknown, int]:
        """What is unknown though the action is known, with the number of runs; the most frequent first."""
        return dict(Counter(reason for row in self.rows for reason in row.plan.open).most_common())

    @cached_property
    def searches(self) -> tuple[int, int]:
        """How many of the runs whose action is known set out to search the web, and would."""
        known = [row for row in self.rows if not row.plan.reason]
        return sum(row.searched for row in known), sum(row.plan.web != "not needed" for row in known)

    @cached_property
    def kept(self) -> tuple[int, int, int]:
        """Strips kept before and after, and in how many runs: those of which both are known."""
        pairs = [(row.kept_before, row.kept) for row in self.rows if row.kept is not None]
        return sum(before for before, _ in pairs), sum(after for _, after in pairs), len(pairs)
