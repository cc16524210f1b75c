"""POST /v1/chat/completions: a question to the documents in OpenAI's form, answered whole or as it is written."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

from starlette.responses import JSONResponse, Response

from crag.core import events as ev
from crag.core.trace import Trace
from crag.core.types import Answer
from crag.export.chat import Harmless, closing, opening
from crag.integrations.http.asking import Run, choose_settings, question_of, request_of, run_to_end
from crag.integrations.http.chatting import ChatRequest
from crag.integrations.http.completion import (
    ChatChunk,
    ChatCompletion,
    Choice,
    ChunkChoice,
    Delta,
    Reply,
    crag_record,
    finish_of,
    usage_of,
)
from crag.integrations.http.models import strategies, unknown
from crag.integrations.http.problems import problem_of
from crag.integrations.http.serving import Call
from crag.integrations.http.sse import HEARTBEAT, EventStream, format_sse, with_heartbeat

_DONE = "data: [DONE]\n\n"


async def completions(call: Call) -> Response:
    """One question asked; the run is stored like any other, also where it is stopped."""
    body = await call.body(ChatRequest)
    if body.model not in (known := strategies()):
        raise unknown(body.model, "chat")
    body.check()
    question = question_of(body.question, "messages")
    strategy = body.crag.strategy or known[body.model]
    settings = choose_settings(strategy, body.crag.settings, "crag.")
    asked = request_of(call, question, strategy, settings, body.history())
    if body.stream:
        run = Run(call, asked)
        await call.attend(run.begin())
        quotes = call.engine.wiring(settings=settings).writer is None
        return EventStream(_chunks(run, body, quotes=quotes), call.cancel.set)
    trace = await call.work(lambda: run_to_end(call, asked))
    return JSONResponse(_whole(trace, body).model_dump(mode="json"))


def _whole(trace: Trace, body: ChatRequest) -> ChatCompletion:
    said = opening(trace.answer) + Harmless()(trace.answer.text) if trace.answer else ""
    reply = Reply(content=said + (closing(trace) if body.crag.footnotes else ""))
    return ChatCompletion(
        id=_id(trace),
        created=int(time.time()),
        model=body.model,
        choices=[Choice(message=reply, finish_reason=finish_of(trace))],
        usage=usage_of(trace),
        crag=crag_record(trace),
    )


async def _chunks(run: Run, body: ChatRequest, *, quotes: bool) -> AsyncIterator[str]:
    """The answer as it is written, its footnotes, what is known of it; then the end. A failure is an event, too.

    `quotes` are there all at once, and the words that answer stand before them.
    """
    created = int(time.time())
    counted = body.stream_options is not None and body.stream_options.include_usage

    def chunk(*choices: ChunkChoice, last: bool = False) -> str:
        made = ChatChunk(
            id=_id(run.trace),
            created=created,
            model=body.model,
            choices=list(choices),
            usage=usage_of(run.trace) if last else None,
            crag=crag_record(run.trace) if last else None,
        )
        return format_sse(made.record(counted=counted))

    def said(text: str) -> str:
        return chunk(ChunkChoice(delta=Delta(content=text)))

    harmless, written = Harmless(), ""
    try:
        async for event in with_heartbeat(run.events()):
            match event:
                case None:
                    yield HEARTBEAT
                case ev.RunStarted():
                    yield chunk(ChunkChoice(delta=Delta(role="assistant", content="")))
                case ev.Token() if not quotes:
                    written += event.text
                    if text := harmless(event.text):
                        yield said(text)
                case ev.Answered():
                    yield said(_unwritten(event.answer, written, harmless))
        if run.ended is not None:
            raise run.ended
        if body.crag.footnotes and (text := closing(run.trace)):
            yield said(text)
        yield chunk(ChunkChoice(delta=Delta(), finish_reason=finish_of(run.trace)), last=not counted)
        if counted:
            yield chunk(last=True)
    except Exception as error:  # noqa: BLE001 (the reply has begun: its reader is told in the stream)
        yield format_sse(problem_of(error).body)
    yield _DONE


def _unwritten(answer: Answer, written: str, harmless: Harmless) -> str:
    """What of an answer has not been sent: its rest, or all of one that stands in for a writer that failed."""
    if not written:
        return opening(answer) + harmless(answer.text)
    if answer.text.startswith(written):
        return harmless(answer.text[len(written) :])
    if not answer.instead_of:
        return ""  # of a model that repeated itself more was sent than the answer keeps
    return f"\n\n*The writer failed here. Quoted in its place:*\n\n{opening(answer)}{Harmless()(answer.text)}"


def _id(trace: Trace) -> str:
    return f"chatcmpl-{trace.run_id}"
