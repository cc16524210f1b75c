"""A run's record: the fold of its events. `Trace.apply` is the only way it changes."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, assert_never

from pydantic import BaseModel, TypeAdapter

from crag.core import events as ev
from crag.core.errors import CragError
from crag.core.events import Guidance
from crag.core.settings import Settings
from crag.core.types import (
    Action,
    Answer,
    AnswerState,
    Call,
    Chunk,
    Citation,
    Decision,
    Exchange,
    Grade,
    Origin,
    OutputMode,
    RetrievedChunk,
    SentenceCheck,
    SetGrade,
    Step,
    Strip,
    Unread,
    WebPage,
)

Outcome = Literal["", AnswerState, "no answer", "handed over", "failed", "stopped"]
"""How a run ended: its answer's state, where it has one; empty while it goes on."""


@dataclass(frozen=True, kw_only=True)
class StepRecord:
    """One visit of a step. `seconds` None while it is under way."""

    step: Step
    round: int
    started: float
    seconds: float | None = None
    calls: int = 0


@dataclass(frozen=True, kw_only=True)
class Round:
    """One retrieval from the library, its grades and its decision. Round 0 is the question itself.

    `acted` are the ids of the chunks that its decision is of, where those are not simply its own. `together` is the
    grade of all these chunks as a set; None where nothing could tell.
    """

    query: str
    chunks: tuple[RetrievedChunk, ...] = ()
    grades: dict[str, Grade] = field(default_factory=dict)
    joint: Grade | None = None
    decision: Decision | None = None
    acted: tuple[str, ...] = ()
    together: SetGrade | None = None

    @property
    def made(self) -> tuple[Grade, ...]:
        """All its grades so far, the joint one too."""
        return (*self.grades.values(), *([self.joint] if self.joint else []))


@dataclass(frozen=True, kw_only=True)
class Rewrite:
    query: str
    purpose: str
    by: str


@dataclass(frozen=True, kw_only=True)
class Approval:
    """A query that was shown before it left. `approved` None while the run waits."""

    query: str
    provider: str
    approved: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Search:
    """`found_at`: when, where the result was remembered from an earlier run."""

    query: str
    provider: str
    pages: tuple[WebPage, ...]
    found_at: str = ""
    problems: tuple[Unread, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Trace:
    """Everything a person can see of a run, at any moment of it.

    `via`, `client`, `wanted` and `conversation` as `RunStarted` has them.

    `before` runs must end before it begins, for which it has waited `waited` seconds. `scope`: of which documents it is
    asked; None: of all that its settings let through. `context`: what was asked in place of a question that belongs to
    a conversation; None outside of one.
    `embedded`: the share of the library's chunks that had a vector when they were searched.
    `rounds` are the retrievals in order; `round` says which of their chunks are acted on. `strips` maps a chunk's or
    page's id to its strips. `text` grows token by token. `answer` is set at the end, before that to
    a quote that stands until a model writes, and again where the check changes it; `guidance` where it helps on
    because there is none. `newer`: a newer build of this
    program stored it, with something that this one does not know and left out.
    """

    run_id: str = ""
    question: str = ""
    strategy: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    workspace: str = ""
    started_at: str = ""
    via: str = ""
    client: str = ""
    wanted: OutputMode = "answer"
    conversation: str = ""
    before: int = 0
    waited: float = 0.0
    scope: ev.ScopeResolved | None = None
    context: ev.QuestionRewritten | None = None
    steps: tuple[StepRecord, ...] = ()
    embedded: float = 1.0
    rounds: tuple[Round, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    approvals: tuple[Approval, ...] = ()
    searches: tuple[Search, ...] = ()
    web_grades: dict[str, Grade] = field(default_factory=dict)
    strips: dict[str, tuple[Strip, ...]] = field(default_factory=dict)
    reading: ev.PortionRead | None = None
    text: str = ""
    answer: Answer | None = None
    guidance: Guidance | None = None
    checks: tuple[SentenceCheck, ...] = ()
    faithfulness: float | None = None
    failures: tuple[ev.Failed, ...] = ()
    calls: tuple[Call, ...] = ()
    cancelled: bool = False
    finished: bool = False
    seconds: float = 0.0
    newer: bool = False

    @classmethod
    def from_events(cls, events: Iterable[ev.Event]) -> Trace:
        """The trace after all `events`, in order."""
        trace = cls()
        for event in events:
            trace = trace.apply(event)
        return trace

    @classmethod
    def from_run(cls, run: Generator[ev.Event, None, CragError | None]) -> tuple[Trace, CragError | None]:
        """The trace of a run to its end, and the error that ended it."""
        trace = cls()
        while True:
            try:
                trace = trace.apply(next(run))
            except StopIteration as end:
                return trace, end.value

    def apply(self, event: ev.Event) -> Trace:
        """The trace after one more event."""
        after = replace(self, seconds=max(self.seconds, event.at))
        match event:
            case ev.RunStarted():
                return replace(
                    after,
                    run_id=event.run_id,
                    question=event.question,
                    strategy=event.strategy,
                    settings=event.settings,
                    workspace=event.workspace,
                    started_at=event.started_at,
                    via=event.via,
                    client=event.client,
                    wanted=event.wanted,
                    conversation=event.conversation,
                )
            case ev.Queued():
                return replace(after, before=event.before, waited=event.waited)
            case ev.ScopeResolved():
                return replace(after, scope=event)
            case ev.QuestionRewritten():
                return replace(after, context=event)
            case ev.StepStarted():
                record = StepRecord(step=event.step, round=event.round, started=event.at)
                return replace(after, steps=(*self.steps, record))
            case ev.StepFinished():
                return replace(after, steps=_finish(self.steps, event))
            case ev.Retrieved() if event.round < len(self.rounds):
                return after._with_round(event.round, chunks=event.chunks)
            case ev.HalfEmbedded():
                return replace(after, embedded=event.share)
            case ev.Retrieved():
                return replace(after, rounds=(*self.rounds, Round(query=event.query, chunks=event.chunks)))
            case ev.Graded(origin="external"):
                return replace(after, web_grades={**self.web_grades, event.grade.passage_id: event.grade})
            case ev.Graded(joint=True):
                return after._with_round(event.round, joint=event.grade)
            case ev.Graded():
                grades = {**self.rounds[event.round].grades, event.grade.passage_id: event.grade}
                return after._with_round(event.round, grades=grades)
            case ev.ActionTaken():
                return after._with_round(
                    event.round, decision=event.decision, acted=event.chunks, together=event.together
                )
            case ev.Rewritten():
                rewrite = Rewrite(query=event.query, purpose=event.purpose, by=event.by)
                return replace(after, rewrites=(*self.rewrites, rewrite))
            case ev.ApprovalAsked():
                asked = Approval(query=event.query, provider=event.provider)
                return replace(after, approvals=(*self.approvals, asked))
            case ev.ApprovalGiven():
                *before, last = self.approvals
                return replace(after, approvals=(*before, replace(last, approved=event.approved)))
            case ev.Searched():
                search = Search(
                    query=event.query,
                    provider=event.provider,
                    pages=event.pages,
                    found_at=event.found_at,
                    problems=event.problems,
                )
                return replace(after, searches=(*self.searches, search))
            case ev.Refined():
                return replace(after, strips={**self.strips, event.source_id: event.strips})
            case ev.PortionRead():
                return replace(after, reading=event)
            case ev.Token():
                # What a model writes takes the place of the quote that was shown before it.
                return replace(after, answer=None, text=("" if self.answer else self.text) + event.text)
            case ev.Answered():
                return replace(after, answer=event.answer, text=event.answer.text)
            case ev.GuidanceOffered():
                return replace(after, guidance=event.guidance)
            case ev.Verified():
                checked = replace(after, checks=event.checks, faithfulness=event.faithfulness)
                return checked._citing(event.found)
            case ev.Failed():
                return replace(after, failures=(*self.failures, event))
            case ev.Called():
                return replace(after, calls=(*self.calls, event.call))
            case ev.Cancelled():
                return replace(after, cancelled=True)
            case ev.UnknownEvent():
                return replace(after, newer=True)
            case ev.RunFinished():
                return replace(after, finished=True)
            case _:
                assert_never(event)

    def _with_round(self, number: int, **changes: Any) -> Trace:
        rounds = list(self.rounds)
        rounds[number] = replace(rounds[number], **changes)
        return replace(self, rounds=tuple(rounds))

    def _citing(self, found: tuple[Citation, ...]) -> Trace:
        """With citations that were found afterwards."""
        if self.answer is None or not found:
            return self
        return replace(self, answer=replace(self.answer, citations=(*self.answer.citations, *found)))

    @property
    def run_settings(self) -> Settings:
        """The settings that it ran under, as far as this build can read them."""
        return Settings.stored(self.settings).settings

    @property
    def standalone(self) -> str:
        """What was asked in place of the question; empty where the question was asked as it is."""
        return self.context.standalone if self.context and self.context.standalone != self.question else ""

    @property
    def meant(self) -> str:
        """The question in effect: the one that is retrieved for, graded, answered and labelled."""
        return self.standalone or self.question

    @property
    def exchange(self) -> Exchange | None:
        """What a later question may rest on; None of a run that failed, was stopped or goes on.

        Of one that handed its evidence over, the question alone.
        """
        if self.handed_over:
            return Exchange(question=self.meant, answer="", run_id=self.run_id)
        if not self.finished or self.cancelled or self.failure or self.answer is None:
            return None
        worked = self.answer.calculation
        said = worked.result if worked else self.answer.short.text if self.answer.short else self.answer.text
        return Exchange(question=self.meant, answer="" if self.answer.abstained else said, run_id=self.run_id)

    @property
    def outcome(self) -> Outcome:
        """How it ended, or what is known so far."""
        if self.cancelled:
            return "stopped"
        if self.failure is not None:
            return "failed"
        if self.handed_over:
            return "handed over"
        return self.answer.state if self.answer else "no answer" if self.finished else ""

    @property
    def of_whole(self) -> bool:
        """Whether it is asked of a whole document, so that nothing is graded."""
        return self.reading is not None or (self.answer is not None and self.answer.by == "outline")

    @property
    def handed_over(self) -> bool:
        """Whether it ended as it was wanted to: with evidence for the caller, who writes the answer."""
        return self.wanted == "evidence" and self.finished and not self.cancelled and not self.failure

    @property
    def elsewhere(self) -> bool:
        """Whether another store than the library was searched; unknown, so False, where nothing was found."""
        return any(found.chunk.elsewhere for found in self.chunks.values())

    @property
    def remembered(self) -> int:
        """How many grades and searches were remembered from earlier runs, and so took no time."""
        grades = [*self.web_grades.values(), *(grade for each in self.rounds for grade in each.made)]
        return sum(grade.cached for grade in grades) + sum(bool(search.found_at) for search in self.searches)

    @property
    def round(self) -> Round | None:
        """The retrieval that is acted on: the last one, with the chunks of earlier ones that are acted on too."""
        if not self.rounds or not self.rounds[-1].acted:
            return self.rounds[-1] if self.rounds else None
        last, chunks, grades = self.rounds[-1], dict[str, RetrievedChunk](), dict[str, Grade]()
        for each in reversed(self.rounds):
            chunks.update({found.chunk.id: found for found in each.chunks})
            grades.update(each.grades)
        own = next((each for each in self.rounds if tuple(found.chunk.id for found in each.chunks) == last.acted), last)
        return replace(
            last,
            chunks=tuple(chunks[id] for id in last.acted if id in chunks),
            grades={id: grades[id] for id in last.acted if id in grades},
            joint=own.joint,
        )

    @property
    def decision(self) -> Decision | None:
        return self.round.decision if self.round else None

    @property
    def action(self) -> Action | None:
        """None before the decision, and for plain RAG."""
        return self.decision.action if self.decision else None

    @property
    def awaiting(self) -> Approval | None:
        """The query that waits for the person's word, if the run waits for one."""
        last = self.approvals[-1] if self.approvals else None
        return last if last is not None and last.approved is None and not self.finished else None

    @property
    def pages(self) -> tuple[WebPage, ...]:
        """All web results, in order of search and rank."""
        return tuple(page for search in self.searches for page in search.pages)

    @property
    def chunks(self) -> dict[str, RetrievedChunk]:
        """What its retrievals found, by the chunk's id; of a chunk that several found, the last one's."""
        return {found.chunk.id: found for each in self.rounds for found in each.chunks}

    @property
    def sources(self) -> dict[str, Chunk | WebPage]:
        """What a strip's `source_id` stands for: chunks of every round, and web pages."""
        return {id: found.chunk for id, found in self.chunks.items()} | {page.id: page for page in self.pages}

    @property
    def all_strips(self) -> tuple[Strip, ...]:
        """Kept or not: reading order within a source, sources in order of refinement."""
        return tuple(strip for strips in self.strips.values() for strip in strips)

    def grade_of(self, chunk: str) -> Grade | None:
        """The grade of a chunk by its id, the last one; None of one that was not graded by itself."""
        return next((each.grades[chunk] for each in reversed(self.rounds) if chunk in each.grades), None)

    def kept(self, origin: Origin | None = None) -> tuple[Strip, ...]:
        """The strips that the answer may rest on, in order of `all_strips`."""
        return tuple(each for each in self.all_strips if each.kept and (origin is None or each.origin == origin))

    @property
    def documents(self) -> tuple[str, ...]:
        """The ids of the library's documents that the answer may rest on."""
        found = (self.sources.get(strip.source_id) for strip in self.kept("internal"))
        chunks = (chunk for chunk in found if isinstance(chunk, Chunk) and not chunk.elsewhere)
        return tuple(dict.fromkeys(chunk.document_id for chunk in chunks))

    @property
    def failure(self) -> ev.Failed | None:
        """The failure that ended the run, if one did."""
        return next((failure for failure in self.failures if failure.fatal), None)

    def to_json(self) -> str:
        """The whole record as one line of JSON."""
        return _ANY.dump_json({"format": FORMAT, "trace": self}).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Trace:
        """The inverse of `to_json`, for what a newer build wrote too. Raises pydantic.ValidationError."""
        stored = _Stored.model_validate_json(text)
        return replace(stored.trace, newer=True) if stored.format > FORMAT else stored.trace


def _finish(steps: tuple[StepRecord, ...], event: ev.StepFinished) -> tuple[StepRecord, ...]:
    """The records with the latest open one of that step closed."""
    found = list(steps)
    for place in range(len(found) - 1, -1, -1):
        if found[place].step == event.step and found[place].seconds is None:
            found[place] = replace(found[place], seconds=event.seconds, calls=event.calls)
            break
    return tuple(found)


FORMAT = 2
"""Of the stored record: raised where an older build would misread it."""


class _Stored(BaseModel, defer_build=True):
    """Reads a record. Its schema takes as long to make as an answer; writing a record needs none."""

    format: int
    trace: Trace


_ANY: TypeAdapter[Any] = TypeAdapter(Any)


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """How often runs retrieved it, how often it was among an answer's evidence, handed over or not, and its grades.

    `graded` counts the grades that `score_sum` adds up, each 0..1. Times are those of the runs' starts (ISO 8601, UTC;
    empty: never). The last score and action are a chunk's alone: of a document they are None and empty.
    """

    retrieved: int = 0
    used: int = 0
    graded: int = 0
    score_sum: float = 0.0
    last_score: float | None = None
    last_action: str = ""
    last_at: str = ""
    last_used: str = ""

    @property
    def mean_score(self) -> float | None:
        """None where nothing was graded."""
        return self.score_sum / self.graded if self.graded else None

    def after(self, run: Track) -> Track:
        """With one more run, which `tracked` gives."""
        return replace(
            run,
            retrieved=self.retrieved + run.retrieved,
            used=self.used + run.used,
            graded=self.graded + run.graded,
            score_sum=self.score_sum + run.score_sum,
            last_score=self.last_score if run.last_score is None else run.last_score,
            last_action=run.last_action or self.last_action,
            last_at=max(self.last_at, run.last_at),
            last_used=max(self.last_used, run.last_used),
        )


def track_chunks(trace: Trace) -> dict[str, Track]:
    """What one run says of each chunk that it retrieved from the library, by the chunk's id.

    A chunk counts once, however many searches of the run found it; its score is that of the last one that graded it.
    """
    answered = trace.handed_over or (trace.answer is not None and not trace.answer.abstained)
    used = {strip.source_id for strip in trace.kept("internal")} if answered else set()
    scores = {id: grade.score for each in trace.rounds for id, grade in each.grades.items() if grade.score is not None}
    return {
        id: Track(
            retrieved=1,
            used=int(id in used),
            graded=int(id in scores),
            score_sum=scores.get(id, 0.0),
            last_score=scores.get(id),
            last_action=str(trace.action or ""),
            last_at=trace.started_at,
            last_used=trace.started_at if id in used else "",
        )
        for id in trace.chunks
    }
