"""A stored run reduced to what re-deciding it needs: grades, strips' scores, steps and what they took. No texts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cached_property
from typing import Literal, TypeVar, cast

from crag.core.settings import Settings
from crag.core.trace import StepRecord, Trace
from crag.core.types import Action, Decision, Grade, SetGrade, Strip
from crag.evaluation.strip_dependencies import Need, needs
from crag.text.words import count_words

H = TypeVar("H", bound=Hashable)
Kind = Literal["retrieve", "grade", "retry", "documents", "query", "search", "pages"]
"""retrieve and grade: once a round. retry: the rewrite for another round. documents: their refinement. query: the
rewrite for the web. search: the web search. pages: their refinement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """One round. `grades` go with `chunks`, in order of rank: None where there is none. `retried`: the live run wanted
    another retrieval after this one and had no new query for it. `reached`: a chunk from further down is among them,
    for its table's figure (`Settings.lookup_reach`). `together`: the grade of all chunks that were acted on after it.
    `decided`: the run came so far that an action was taken.
    """

    query: str
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
class Stage:
    """Steps that are taken or left out together, and what they took in the stored run. `round` counts from 0."""

    kind: Kind
    round: int
    took: Saved


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A stored run without its texts. `before` is its action, `settings` are those it ran under.

    `pages` counts the pages that its web search brought, though the run may have ended before it read them. `calls`
    are its outside calls by step, `searches` the queries that left for the web. `via` says how it came in, as
    `RunStarted` does, and `elsewhere` whether it searched another store than the library.
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
    rewrites: tuple[str, ...]
    stages: tuple[Stage, ...]
    seconds: float
    calls: dict[str, int]
    searches: int
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
            rewrites=tuple(rewrite.query for rewrite in trace.rewrites),
            stages=_stages(trace),
            seconds=trace.seconds,
            calls=dict(Counter(call.step for call in trace.calls)),
            searches=_count_new_searches(trace),
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
        query=stored.query,
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


def _count_new_searches(trace: Trace) -> int:
    """Searches that were not remembered from an earlier run."""
    return sum(1 for search in trace.searches if not search.found_at)


def _stages(trace: Trace) -> tuple[Stage, ...]:
    """The run's steps in order, but for putting a question in context, answer and verification.

    What the latter two would take again is unknown; the first is not decided again.
    """
    made = Counter(call.step for call in trace.calls)
    times = Counter(step.step for step in trace.steps)
    graded = sum(step.calls for step in trace.steps if step.step == "evaluate")
    stages = []
    for place, step in enumerate(trace.steps):
        kind = _kind(trace.steps, place)
        if kind is None:
            continue
        calls: int | None = made[step.step] if times[step.step] == 1 or not made[step.step] else None
        if step.step == "evaluate" and graded == made["evaluate"]:
            calls = step.calls
        took = Saved(
            searches=_count_new_searches(trace) if step.step == "search" else 0,
            calls=calls or 0,
            seconds=step.seconds or 0.0,
            uncounted=int(calls is None),
        )
        stages.append(Stage(kind=kind, round=step.round, took=took))
    return tuple(stages)


def _kind(steps: Sequence[StepRecord], place: int) -> Kind | None:
    match steps[place].step:
        case "retrieve":
            return "retrieve"
        case "evaluate" | "act":
            return "grade"
        case "rewrite":
            return "query" if [step.step for step in steps[place + 1 : place + 2]] == ["search"] else "retry"
        case "search":
            return "search"
        case "refine":
            return "pages" if any(step.step == "search" for step in steps[:place]) else "documents"
        case "contextualize" | "answer" | "verify":
            return None


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
    OTHER_LENGTH = auto()
    NO_GRADES = auto()
    NO_JOINT = auto()
    OTHER_JOINT = auto()
    NO_SET = auto()
    OTHER_SET = auto()
    NO_LOOP = auto()
    OTHER_LOOP = auto()
    NO_CHUNKS = auto()
    NOT_SCORED = auto()
    NOT_JUDGED = auto()
    NOT_SEARCHED = auto()
    OTHER_SEARCH = auto()
    PAGES_NOT_SCORED = auto()
    PAGES_NOT_JUDGED = auto()


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that only a new run can show. `k`: the number of chunks that it is about, if it is."""

    what: Missing
    k: int = 0


@dataclass(frozen=True, slots=True)
class Saved:
    """Whole steps of a stored run that would not be taken: what they took then.

    `searches`: web searches that left. `seconds`: of the steps, not of the calls. `calls`: outside calls, searches
    too; `uncounted` counts the steps whose calls the run does not tell apart from those of steps that stay.
    """

    searches: int = 0
    calls: int = 0
    seconds: float = 0.0
    uncounted: int = 0

    @classmethod
    def of(cls, parts: Iterable[Saved]) -> Saved:
        """All of them together."""
        every = list(parts)
        return cls(**{name: sum(getattr(each, name) for each in every) for name in cls.__slots__})


@dataclass(frozen=True, slots=True)
class KeptStrips:
    """Strips kept before and after, over the `runs` of which both are known."""

    before: int = 0
    after: int = 0
    runs: int = 0


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


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """One stored run under other settings: what it would do by its `plan`. `before`: None where it decided nothing.

    `documents_kept` and `pages_kept` count the kept strips; None where unknown. `searches`, `refines`: it would search
    the web, or refine documents, which the run did not set out to do: what that takes is unknown.
    """

    run_id: str
    before: Action | None
    plan: Plan
    documents_kept: int | None
    pages_kept: int | None
    kept_before: int
    saved: Saved
    searches: bool
    refines: bool

    @property
    def becomes(self) -> Becomes:
        return "unknown" if self.plan.reason else self.plan.action or "none"

    @property
    def kept(self) -> int | None:
        """Strips kept in all; None where unknown."""
        if self.becomes == "unknown" or self.documents_kept is None or self.pages_kept is None:
            return None
        return self.documents_kept + self.pages_kept


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
    def saved(self) -> Saved:
        """The steps that would not be taken, over the runs whose action is known."""
        return Saved.of(row.saved for row in self.rows)

    @cached_property
    def searches_added(self) -> int:
        """Runs that would search the web and did not set out to; their calls and seconds are unknown."""
        return sum(row.searches for row in self.rows)

    @cached_property
    def refinements_added(self) -> int:
        """Runs that would refine documents and did not set out to; their calls and seconds are unknown."""
        return sum(row.refines for row in self.rows)

    @cached_property
    def kept(self) -> KeptStrips:
        """Strips kept before and after, where both are known."""
        known = [(row.kept_before, row.kept) for row in self.rows]
        pairs = [(before, after) for before, after in known if after is not None]
        return KeptStrips(sum(before for before, _ in pairs), sum(after for _, after in pairs), len(pairs))
