"""POST /v1/ask: a question with everything that the engine accepts, answered with the whole run or its events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Literal, TypeVar

from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field
from starlette.responses import StreamingResponse

from crag.core import events as ev
from crag.core.errors import CragError, InputError, NotFoundError
from crag.core.filters import Scope, narrow_filter
from crag.core.protocols import RunRequest
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from crag.core.types import Exchange
from crag.export.records import EventRecord, RunRecord
from crag.generation.conversation.history import leading_to
from crag.integrations.calls import Call, in_turn
from crag.integrations.http.models import DEFAULT_STRATEGY
from crag.integrations.http.problems import Problem, problem_of
from crag.integrations.http.serving import CurrentCall, GuardedRoute, Id, RequestModel
from crag.pipeline.request import check_question

T = TypeVar("T")

router = APIRouter(route_class=GuardedRoute)

EVENTS = "text/event-stream"
STREAMED: dict[int | str, dict[str, Any]] = {200: {"content": {EVENTS: {"schema": {"type": "string"}}}}}
HEARTBEAT = ": still working\n\n"
HEARTBEAT_SECONDS = 15.0


def format_sse(data: Any, event: str = "", id: int | None = None) -> str:
    """One event, its data as JSON on one line. In ASCII: some readers end a line at more than its end."""
    lines = [f"event: {event}"] if event else []
    lines += [f"id: {id}"] if id is not None else []
    return "\n".join([*lines, f"data: {json.dumps(data)}", "", ""])


async def with_heartbeat(items: AsyncIterator[T], seconds: float = HEARTBEAT_SECONDS) -> AsyncIterator[T | None]:
    """The items as they come, and None each time that `seconds` pass without one."""
    following: asyncio.Future[T] | None = None
    try:
        while True:
            following = asyncio.ensure_future(anext(items))
            while not (await asyncio.wait({following}, timeout=seconds))[0]:
                yield None
            try:
                item = following.result()
            except StopAsyncIteration:
                return
            yield item
    finally:
        if following is not None:
            following.cancel()


def event_stream(events: AsyncIterator[str], *, failure: str = "", end: str = "") -> StreamingResponse:
    """The reply that streams these events, with comments while none comes. What they raise is an event, too.

    `failure` is the name of that event; `end` comes last. X-Accel-Buffering: a proxy in front is not to hold them back.
    """

    async def stream() -> AsyncIterator[str]:
        try:
            async for each in with_heartbeat(events):
                yield HEARTBEAT if each is None else each
        except Exception as error:  # noqa: BLE001 (the reply has started: the error goes into the stream)
            yield format_sse(problem_of(error).body, failure)
        if end:
            yield end

    return StreamingResponse(stream(), media_type=EVENTS, headers={"x-accel-buffering": "no"})


_OPENING = (
    ev.RunStarted,
    ev.ScopeResolved,
    ev.QuestionRewritten,
    ev.StepStarted,
    ev.StepFinished,
    ev.Called,
    ev.Failed,
)
"""After these a run may still end without having retrieved anything."""


class Run:
    """One run of one request. `trace` is what is known of it so far, `ended` the error that ended it."""

    def __init__(self, call: Call, request: RunRequest) -> None:
        self.trace = Trace()
        self.ended: CragError | None = None
        self._first: list[ev.Event] = []

        def events_of_run() -> Iterator[ev.Event]:
            call.note_keys()
            self.ended = yield from call.engine.ask(request)

        self._events = call.follow(events_of_run())

    async def begin(self) -> None:
        """Lets it go on until it waits or has retrieved something. Raises the CragError that ended it before."""
        over = False
        async for event in self._events:
            self._first.append(event)
            over = over or isinstance(event, ev.Cancelled) or (isinstance(event, ev.Failed) and event.fatal)
            if not over and not isinstance(event, _OPENING):
                return
        if self.ended is not None:
            raise self.ended

    async def events(self) -> AsyncIterator[ev.Event]:
        """All of its events, with `trace` up to each."""
        for event in self._first:
            self.trace = self.trace.apply(event)
            yield event
        async for event in self._events:
            self.trace = self.trace.apply(event)
            yield event


def choose_settings(call: Call, strategy: str, changes: Mapping[str, Any], param: str) -> Settings:
    """The settings of a strategy with changes. Raises Problem, `param` the field of the body that they came in."""
    known = STRATEGIES if strategy in STRATEGIES else call.engine.strategies(call.workspace)
    if strategy not in known:
        said = f"There is no strategy {strategy[:100]!r}. There is: {', '.join(known)}."
        raise Problem(400, "unknown_strategy", said, param=f"{param}strategy")
    try:
        return known[strategy].settings.changed(**changes)
    except InputError as error:
        raise Problem(400, "invalid_setting", str(error), param=f"{param}settings") from error


def question_of(text: str, param: str) -> str:
    """The question, before a run is made of it. Raises Problem for an empty and for a too long one."""
    try:
        return check_question(text)
    except InputError as error:
        raise Problem(400, "invalid_question", str(error), param=param) from error


class AskRequest(RequestModel):
    """A question, and how it is asked."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(description="1 to 2,000 characters.")
    strategy: str = Field(DEFAULT_STRATEGY, description="A published design, or the name of a saved configuration.")
    settings: dict[str, Any] = Field({}, description="Settings of the run by name, in place of the strategy's own.")
    where: dict[str, Any] = Field({}, description='A filter over documents\' fields, as {"date": {">=": "2024"}}.')
    documents: list[str] = Field([], description="Ids of the only documents that are asked; none: all.")
    tags: list[str] = Field([], description="Documents with one of these tags are asked; none: all.")
    after: str | None = Field(None, description="The id of the run that this question follows on.")
    wanted: Literal["answer", "evidence"] = Field(
        "answer", description="evidence: the run ends at what an answer may rest on, and none is written."
    )
    stream: bool = Field(False, description="Server-sent events: the run's own as they happen, the whole run last.")


@router.post("/v1/ask", summary="Answer a question, and show how", response_model=RunRecord, responses=STREAMED)
async def ask(body: AskRequest, call: CurrentCall) -> Response | RunRecord:
    """The whole run, stored like any other: chunks, grades, decision, strips, answer, citations, checks, calls, times.

    With `stream`, the run's own events as they happen, each under its number; the last, `trace`, is the whole run. One
    that fails before it has retrieved anything is no stream.
    """
    question = question_of(body.question, "question")
    changes = {**body.settings, **({"where": body.where} if body.where else {})}
    settings, history = await call.work(lambda: _led(call, body, choose_settings(call, body.strategy, changes, "")))
    asked = call.run(question, body.strategy, settings=settings, history=history, wanted=body.wanted)
    if body.stream:
        run = Run(call, asked)
        await call.attend(run.begin())
        return event_stream(_events(run), failure="error")
    return await call.work(lambda: RunRecord.of(call.trace(asked)))


async def _events(run: Run) -> AsyncIterator[str]:
    """Each event by its number, from 1, then the whole run under the number that follows."""
    number = 0
    async for event in run.events():
        number += 1
        yield format_sse(EventRecord.of(event).model_dump(), event.kind, number)
    yield format_sse(RunRecord.of(run.trace).json_values(), "trace", number + 1)


def _led(call: Call, body: AskRequest, settings: Settings) -> tuple[Settings, list[Exchange]]:
    """The settings for the documents that are asked, and the conversation before. Raises NotFoundError, Problem."""
    if not (body.documents or body.tags or body.after):
        return settings, []
    library = call.library
    if body.documents:
        known = library.documents.names()
        for place, id in enumerate(body.documents):
            if id not in known:
                said = "There is no document of this id in this library; GET /v1/documents lists them."
                raise Problem(404, "not_found", said, param=f"documents.{place}")
    try:
        where = narrow_filter(settings.where, Scope(tuple(body.documents), tuple(body.tags)))
    except InputError as error:
        raise Problem(400, "invalid_scope", str(error), param="documents") from error
    try:
        history = leading_to(body.after, library.runs.trace) if body.after else []
    except NotFoundError as error:
        raise Problem(404, "not_found", error.message, param="after") from error
    return settings.changed(where=where), history


@router.get("/v1/runs/{id}", summary="A stored run")
@in_turn
def run(id: Id, call: CurrentCall) -> RunRecord:
    """The whole run."""
    return RunRecord.of(call.library.runs.trace(id))
