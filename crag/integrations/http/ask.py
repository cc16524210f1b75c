"""POST /v1/ask: a question with all that the engine can be told, answered with the whole run or its events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Literal

from pydantic import ConfigDict, Field
from starlette.responses import JSONResponse, Response

from crag.core.errors import InputError, NotFoundError
from crag.core.events import Event
from crag.core.exchanges import Exchange
from crag.core.filters.scope import Scope, narrow_filter
from crag.core.settings import Settings
from crag.export.records import event_record, trace_record
from crag.generation.conversation.history import leading_to
from crag.integrations.http.asking import Run, choose_settings, question_of, request_of, run_to_end
from crag.integrations.http.bodies import Body
from crag.integrations.http.models import DEFAULT_STRATEGY
from crag.integrations.http.problems import Problem, problem_of
from crag.integrations.http.serving import Call
from crag.integrations.http.sse import HEARTBEAT, EventStream, format_sse, with_heartbeat


class AskRequest(Body):
    """A question, and how it is asked."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(description="1 to 2,000 characters.")
    strategy: str = Field(DEFAULT_STRATEGY, description="Which published design answers.")
    settings: dict[str, Any] = Field({}, description="Settings of the run by name, in place of the strategy's own.")
    where: str = Field("", description='A filter over documents\' fields, as "verified and date >= 2024".')
    documents: list[str] = Field([], description="Ids of the only documents that are asked; none: all.")
    tags: list[str] = Field([], description="Documents with one of these tags are asked; none: all.")
    after: str | None = Field(None, description="The id of the run that this question follows on.")
    wanted: Literal["answer", "evidence"] = Field(
        "answer", description="evidence: the run ends at what an answer may rest on, and none is written."
    )
    stream: bool = Field(False, description="Server-sent events: the run's own as they happen, the whole run last.")


async def ask(call: Call) -> Response:
    """The run, stored like any other; streamed, one that fails before it has retrieved anything is no stream."""
    body = await call.body(AskRequest)
    question = question_of(body.question, "question")
    changes = {**body.settings, **({"where": body.where} if body.where else {})}
    settings = choose_settings(body.strategy, changes, "")
    settings, history = await call.work(lambda: _led(call, body, settings))
    asked = request_of(call, question, body.strategy, settings, history, body.wanted)
    if body.stream:
        run = Run(call, asked)
        await call.attend(run.begin())
        return EventStream(_events(run), call.cancel.set)
    return JSONResponse(await call.work(lambda: trace_record(run_to_end(call, asked))))


async def _events(run: Run) -> AsyncIterator[str]:
    """Each event by its number, from 1, then the whole run under the number that follows."""
    number = 0
    try:
        async for event in with_heartbeat(run.events()):
            if event is None:
                yield HEARTBEAT
                continue
            number += 1
            yield format_event(number, event)
        yield format_sse(trace_record(run.trace), "trace", number + 1)
    except Exception as error:  # noqa: BLE001 (the reply has begun: its reader is told in the stream)
        yield format_sse(problem_of(error).body, "error")


def format_event(number: int, event: Event) -> str:
    """An event of a run as one of a stream."""
    return format_sse(event_record(event), event.kind, number)


def _led(call: Call, body: AskRequest, settings: Settings) -> tuple[Settings, list[Exchange]]:
    """The settings for the documents that are asked, and the conversation before. Raises NotFoundError, Problem."""
    if not (body.documents or body.tags or body.after):
        return settings, []
    library = call.engine.library(call.workspace)
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
