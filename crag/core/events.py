"""The closed union of events that one run is made of, and what helps a person on where there is no answer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Field, TypeAdapter

from crag.core.errors import CragError, Reason
from crag.core.types import (
    Answer,
    Call,
    Citation,
    Decision,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """A passage that came near: its chunk, where that is, the chunk's score 0..1 (None: not graded), a line of it."""

    chunk_id: str
    source: str
    where: str
    score: float | None
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """Beside an answer that there is none. `near`: best first. `query`: what a search of the web would be asked.

    `web`: whether a web provider is on.
    """

    near: tuple[Near, ...] = ()
    query: str = ""
    web: bool = False


FallbackAction = Literal[
    "",
    "local evaluator",
    "rewriter",
    "brackets",
    "same query",
    "question",
    "web",
    "documents",
    "not remembered",
    "quotes",
    "outline",
    "scores",
    "scores alone",
    "not stored",
    "records",
    "words",
    "words alone",
]
"""What was done where something failed; `crag.messages.wording` has the words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _TimedEvent:
    """`at`: seconds since the start of the run, set as it is emitted."""

    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """The question as asked and the settings it is answered under. `started_at` is ISO 8601, UTC.

    `via`: how it came in: "app", "cli", "python", "agent", "mcp" or "http"; empty where an earlier build stored it, and
    of an evaluation. `client`: what the program that asked calls itself, which nobody vouches for. `wanted`: with
    "evidence" the run ends at the strips that are kept, and the caller writes the answer. `conversation`: the id of the
    one that it belongs to; empty for none.
    """

    run_id: str
    question: str
    strategy: str
    settings: dict[str, Any]
    workspace: str
    started_at: str
    via: str = ""
    client: str = ""
    wanted: OutputMode = "answer"
    conversation: str = ""
    at: float = 0.0
    kind: Literal["run_started"] = "run_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """The run waits, because as many run as may: `before` others must end first. 0: its turn has come.

    The clock of the run stands still meanwhile; `waited` are the seconds it waited so far.
    """

    before: int
    waited: float
    at: float = 0.0
    kind: Literal["queued"] = "queued"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeResolved(_TimedEvent):
    """The question is asked of some documents alone: those of these names, and those that have one of the `tags`.

    `gone`: how many more were named and are no longer in the library.
    """

    documents: tuple[str, ...]
    tags: tuple[str, ...]
    gone: int = 0
    kind: Literal["scoped"] = "scoped"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRewritten(_TimedEvent):
    """A question within a conversation, and the one asked in its place, which stands alone; both alike where it does.

    `by`: "brackets", where it holds the earlier questions `follows`, the latest first; or who worded it, a model's id
    or "person"; "reading", where it is the question as it was read. `after`: the run that it follows on. `read`: words
    that no text has, each with what it was read as. `left`: the questions behind the first one, which are not answered.
    """

    question: str
    standalone: str
    by: str
    follows: tuple[str, ...] = ()
    after: str = ""
    read: tuple[tuple[str, str], ...] = ()
    left: tuple[str, ...] = ()
    kind: Literal["contextualized"] = "contextualized"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted(_TimedEvent):
    """A step of the path begins. `round` counts retrievals from 0."""

    step: Step
    round: int = 0
    kind: Literal["step_started"] = "step_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFinished(_TimedEvent):
    """A step ends, with its wall time, less what a person was waited for, and the model calls it made."""

    step: Step
    seconds: float
    round: int = 0
    calls: int = 0
    kind: Literal["step_finished"] = "step_finished"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved(_TimedEvent):
    """What the library returned for `query`, best first; of a round that there was already, in place of what it had."""

    query: str
    chunks: tuple[RetrievedChunk, ...]
    round: int = 0
    kind: Literal["retrieved"] = "retrieved"


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfEmbedded(_TimedEvent):
    """A part of the library's chunks has no vector yet, and is found by its words alone. `share` of all have one."""

    share: float
    kind: Literal["half_embedded"] = "half_embedded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded(_TimedEvent):
    """One grade, in order of arrival. `joint` grades speak of all chunks together."""

    grade: Grade
    origin: Origin = "internal"
    joint: bool = False
    round: int = 0
    kind: Literal["graded"] = "graded"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionTaken(_TimedEvent):
    """The decision after one round's retrieval.

    `chunks` are the ids of the chunks that it is of and that are acted on, where those are not simply this round's.
    `together` is the grade of all of them; None where nothing could tell, and in runs of earlier builds.
    """

    decision: Decision
    together: SetGrade | None = None
    round: int = 0
    chunks: tuple[str, ...] = ()
    kind: Literal["action_taken"] = "action_taken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten(_TimedEvent):
    """The query made from the question. The question itself stays what is answered."""

    question: str
    query: str
    purpose: Literal["library", "web"]
    by: str
    kind: Literal["rewritten"] = "rewritten"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAsked(_TimedEvent):
    """The run waits for the person's word: may exactly `query` leave this machine for `provider`?"""

    query: str
    provider: str
    kind: Literal["approval_asked"] = "approval_asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalGiven(_TimedEvent):
    """The person's word on the query asked about last."""

    approved: bool
    kind: Literal["approval_given"] = "approval_given"


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched(_TimedEvent):
    """What the web provider returned for exactly `query`.

    `found_at`: when, ISO 8601 in UTC, where the result was remembered from an earlier run and nothing was sent now.
    `problems`: which pages could not be read, and why; and whether there may be others.
    """

    query: str
    provider: str
    pages: tuple[WebPage, ...]
    found_at: str = ""
    problems: tuple[Unread, ...] = ()
    kind: Literal["searched"] = "searched"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined(_TimedEvent):
    """All strips of one chunk or web page, in reading order, kept or dropped."""

    source_id: str
    origin: Origin
    strips: tuple[Strip, ...]
    kind: Literal["refined"] = "refined"


@dataclass(frozen=True, slots=True, kw_only=True)
class PortionRead(_TimedEvent):
    """A language model reads a whole document: `done` of `portions`. The first, before any call, says what it takes.

    `calls` and `tokens` (in and out) are estimates of all of it, and `share` (0..1) is how much of the text is read.
    """

    done: int
    portions: int
    calls: int
    tokens: int
    share: float
    kind: Literal["portion_read"] = "portion_read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token(_TimedEvent):
    """A piece of the answer as it is written."""

    text: str
    kind: Literal["token"] = "token"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(_TimedEvent):
    """The whole answer."""

    answer: Answer
    kind: Literal["answered"] = "answered"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuidanceOffered(_TimedEvent):
    """What helps on where there was no answer."""

    guidance: Guidance
    kind: Literal["guided"] = "guided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified(_TimedEvent):
    """The check of every sentence against what it cites. `faithfulness` is the supported share, None if unscored.

    `found`: citations found afterwards, in runs of earlier builds; now an answer that the check changes comes before.
    """

    checks: tuple[SentenceCheck, ...]
    faithfulness: float | None
    found: tuple[Citation, ...] = ()
    kind: Literal["verified"] = "verified"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed(_TimedEvent):
    """Something went wrong in `step`. A `fatal` failure ends the run; any other was worked around.

    `cause` is a sentence, or what is said of `who`, the id of a model. `instead`: what was done instead, by whom.
    """

    step: Step
    cause: str
    remedy: str
    reason: Reason = "other"
    who: str = ""
    instead: FallbackAction = ""
    by: str = ""
    fatal: bool = False
    kind: Literal["failed"] = "failed"

    @classmethod
    def of(
        cls, error: CragError, step: Step, at: float, instead: FallbackAction = "", by: str = "", *, fatal: bool = False
    ) -> Failed:
        """What an error is on the record."""
        return cls(
            step=step,
            cause=error.cause,
            who=error.who,
            remedy=error.remedy,
            reason=error.reason,
            instead=instead,
            by=by,
            fatal=fatal,
            at=at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Called(_TimedEvent):
    """One call of an outside service, when it has ended."""

    call: Call
    kind: Literal["called"] = "called"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled(_TimedEvent):
    """The person stopped the run."""

    kind: Literal["cancelled"] = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownEvent(_TimedEvent):
    """An event of a kind that a newer build of this program tells and this one does not know: `name`."""

    name: str
    kind: Literal["skipped"] = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished(_TimedEvent):
    """The last event of every run, however it ended."""

    kind: Literal["run_finished"] = "run_finished"


Event = (
    RunStarted
    | Queued
    | ScopeResolved
    | QuestionRewritten
    | StepStarted
    | StepFinished
    | HalfEmbedded
    | Retrieved
    | Graded
    | ActionTaken
    | Rewritten
    | ApprovalAsked
    | ApprovalGiven
    | Searched
    | Refined
    | PortionRead
    | Token
    | Answered
    | GuidanceOffered
    | Verified
    | Failed
    | Called
    | Cancelled
    | UnknownEvent
    | RunFinished
)


_EVENT: TypeAdapter[Event] = TypeAdapter(
    Annotated[Event, Field(discriminator="kind")], config=ConfigDict(defer_build=True)
)
"""Reads events: a schema that takes as long to make as an answer. Writing them needs none."""
_ANY: TypeAdapter[Any] = TypeAdapter(Any)
_KINDS = {part.default for each in get_args(Event) for part in fields(each) if part.name == "kind"}


def event_to_json(event: Event) -> str:
    """One event as one line of JSON."""
    return _ANY.dump_json(event).decode()


def event_from_json(line: str | bytes) -> Event:
    """The event of one line; Skipped where it is of a kind not known here.

    Raises pydantic.ValidationError on anything that is not exactly an event.
    """
    try:
        found = json.loads(line)
    except ValueError:
        return _EVENT.validate_json(line)
    if isinstance(found, dict):
        kind = found.get("kind")
        if isinstance(kind, str) and kind not in _KINDS:
            found = {"kind": "skipped", "name": kind, "at": found.get("at")}
    return _EVENT.validate_python(found)


def events_to_jsonl(events: Iterable[Event]) -> str:
    """One event a line, in order, each line ended."""
    return "".join(event_to_json(event) + "\n" for event in events)


def events_from_jsonl(text: str) -> list[Event]:
    """The inverse of `events_to_jsonl`."""
    return [event_from_json(line) for line in text.split("\n") if line]
