"""POST /v1/chat/completions: a question to the documents in OpenAI's form, answered whole or as it is written."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from itertools import dropwhile, islice
from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from crag.core import events as ev
from crag.core.trace import Trace
from crag.core.types import Answer, Citation, Exchange
from crag.export.markdown import Harmless, closing, extract_answer, opening
from crag.export.records import Outcome, is_none
from crag.generation.conversation.history import exchanges_of
from crag.generation.places import CHARS_A_TOKEN
from crag.integrations.http.ask import EVENTS, Run, choose_settings, event_stream, format_sse, question_of
from crag.integrations.http.models import strategies, unknown
from crag.integrations.http.problems import Problem
from crag.integrations.http.serving import CurrentCall, GuardedRoute, RequestModel
from crag.messages.answers import brief_text, conflict_sentences, fault_of, state_text
from crag.messages.wording import embedded_sentence, failure_sentence, remark_sentences

_MOST_READ = 20_000
"""Characters of an earlier answer that are looked at."""


class Part(RequestModel):
    """One part of a message. Only text is read: pictures, sounds and files are refused."""

    type: str
    text: str = ""


class Message(RequestModel):
    """One message of a chat.

    The last one of a user is the question; those of users and assistants before it are the conversation that it
    follows on. System and tool messages are accepted and not followed.
    """

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        """Its words; those of several parts joined by line breaks."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.type == "text")
        return self.content or ""


class StreamOptions(RequestModel):
    include_usage: bool = Field(False, description="Send the counts of tokens in a chunk of their own at the end.")


class ResponseFormat(RequestModel):
    type: str = "text"


class ChatExtension(RequestModel):
    """What else can be asked of this server in a chat completion."""

    model_config = ConfigDict(extra="forbid")

    footnotes: bool = Field(default=True, description="List the sources, and what is doubtful, under the answer.")
    strategy: str = Field(default="", description="The strategy, in place of the one that the model's name means.")
    settings: dict[str, Any] = Field(
        default={}, description="Settings of the run by name, in place of the strategy's own."
    )


class ChatRequest(RequestModel):
    """A question in OpenAI's form."""

    model: str = Field(description="crag: the default strategy. crag-NAME: another one; GET /v1/models lists them.")
    messages: list[Message] = Field(min_length=1, description="Oldest first; one of them has to be a user's.")
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: int | None = Field(1, description="One choice is made; another number is refused.")
    logprobs: bool | None = Field(False, description="Refused where true: there are none.")
    top_logprobs: int | None = Field(None, description="Refused where not 0: there are none.")
    response_format: ResponseFormat | None = Field(None, description="Text; schemas are refused.")
    modalities: list[str] | None = Field(None, description="Text; others are refused.")
    tools: list[Any] | None = Field(None, description="None is called, which the field crag.warnings says.")
    tool_choice: Any = Field(None, description="Refused where a call is wanted: none is made.")
    functions: list[Any] | None = Field(None, description="Refused where not empty: no functions are called.")
    max_tokens: int | None = Field(None, ge=1, description="Length of the answer at most, without its footnotes.")
    max_completion_tokens: int | None = Field(None, ge=1, description="The same.")
    temperature: float | None = Field(None, ge=0, le=2, description="How freely a language model words the answer.")
    stop: str | list[str] | None = Field(None, description="The answer ends before the first of these.")
    crag: ChatExtension = Field(default_factory=ChatExtension)

    @property
    def question(self) -> str:
        """The last message of a user; empty where there is none."""
        return next((each.text for each in reversed(self.messages) if each.role == "user"), "")

    def history(self) -> list[Exchange]:
        """The exchanges before the question, oldest first, each question in its standalone form."""
        latest = dropwhile(lambda each: each.role != "user", reversed(self.messages))
        return exchanges_of(
            (each.role == "user", each.text if each.role == "user" else extract_answer(each.text[:_MOST_READ]))
            for each in islice(latest, 1, None)
            if each.role in ("user", "assistant")
        )

    def check(self) -> None:
        """Raises Problem for what is asked and can't be had."""
        for field, given, why in (
            ("tool_choice", self.tool_choice not in (None, "none", "auto"), "No tools are called here."),
            ("functions", self.functions, "No functions are called here: ask without functions."),
            ("n", self.n not in (None, 1), "One choice is made of each question: set n to 1."),
            (
                "stop",
                len(self.stops) > 16 or any(len(each) > 200 for each in self.stops),
                "16 of 200 characters at most.",
            ),
            ("logprobs", self.logprobs or self.top_logprobs, "There are no log probabilities here."),
            ("response_format", self._formed, "Answers are text with citations: schemas are not followed here."),
            ("modalities", set(self.modalities or ()) - {"text"}, "Answers are text."),
        ):
            if given:
                raise Problem(400, "unsupported_parameter", f"{field}: {why}", param=field)
        if not any(each.role == "user" for each in self.messages):
            raise Problem(400, "no_question", "messages: none is a user's, so there is no question.", param="messages")
        for place, each in enumerate(self.messages):
            if each.role == "user" and isinstance(each.content, list) and any(it.type != "text" for it in each.content):
                said = "Only text can be read here: pictures, sounds and files are not looked at."
                raise Problem(400, "unsupported_content", said, param=f"messages.{place}.content")

    @property
    def stops(self) -> list[str]:
        return [each for each in ([self.stop] if isinstance(self.stop, str) else self.stop or []) if each]

    @property
    def settings(self) -> dict[str, Any]:
        """What is asked of the run by OpenAI's own fields, beside what `crag.settings` asks."""
        length = self.max_completion_tokens or self.max_tokens
        asked = {"answer_tokens": length and min(max(length, 16), 8_000), "temperature": self.temperature}
        return {name: value for name, value in asked.items() if value is not None} | self.crag.settings

    @property
    def _formed(self) -> bool:
        return self.response_format is not None and self.response_format.type != "text"


class Ending:
    """Ends a text where a request wants it to end: before one of its stops, or at its length."""

    def __init__(self, body: ChatRequest) -> None:
        self._stops = body.stops
        length = body.max_completion_tokens or body.max_tokens
        self._left = int(length * CHARS_A_TOKEN) if length else None
        self._held, self.ended = "", ""
        """`ended`: why it did; empty while it goes on."""

    def __call__(self, text: str, *, last: bool = False) -> str:
        """What of a piece is to be said. What may be the beginning of a stop waits for the next, or for the `last`."""
        if self.ended:
            return ""
        text, self._held = self._held + text, ""
        found = min((at for each in self._stops if (at := text.find(each)) >= 0), default=None)
        if found is not None:
            text, self.ended = text[:found], "stop"
        elif not last:
            longest = max(map(len, self._stops), default=1) - 1
            starts = (at for at in range(max(0, len(text) - longest), len(text)) if self._begins(text[at:]))
            at = next(starts, len(text))
            text, self._held = text[:at], text[at:]
        if self._left is not None:
            if len(text) > self._left:
                text, self.ended = text[: self._left], "length"
            self._left -= len(text)
        return text

    def _begins(self, text: str) -> bool:
        return any(each.startswith(text) for each in self._stops)


FinishReason = Literal["stop", "length"]


class CragRecord(Outcome):
    """What is known of an answer beside its words.

    `score` is what the action was taken by, 0..1; None where nothing was graded. `unsupported` are the sentences that
    what they cite does not support. `warnings`: what failed and was worked around, and what is to be known of the
    answer.
    """

    score: float | None
    short_answer: str | None
    unsupported: list[str]
    citations: tuple[Citation, ...]
    warnings: list[str]


class Usage(BaseModel):
    """Tokens of all models that took part, as their servers counted them; 0 where only local models did."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Reply(BaseModel):
    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class Choice(BaseModel):
    index: Literal[0] = 0
    message: Reply
    finish_reason: FinishReason
    logprobs: None = None


class ChatCompletion(BaseModel):
    """The whole answer at once."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
    crag: CragRecord


class Delta(BaseModel):
    role: Literal["assistant"] | None = Field(default=None, exclude_if=is_none)
    content: str | None = Field(default=None, exclude_if=is_none)


class ChunkChoice(BaseModel):
    index: Literal[0] = 0
    delta: Delta
    finish_reason: FinishReason | None = None
    logprobs: None = None


class ChatChunk(BaseModel):
    """One piece of a streamed answer. The last one before [DONE] has the field `crag`."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[ChunkChoice]
    usage: Usage | None = None
    crag: CragRecord | None = Field(default=None, exclude_if=is_none)

    def record(self, *, counted: bool) -> dict[str, Any]:
        """As it is sent: without what it does not say. Where tokens are `counted`, usage is null until the end."""
        return self.model_dump(mode="json", exclude=None if counted else {"usage"})


def crag_record(trace: Trace, body: ChatRequest) -> CragRecord:
    """What the field `crag` says of a run that ended with an answer to a request."""
    answer, decision = trace.answer, trace.decision
    known = {each.number for each in answer.citations} if answer else set()
    return CragRecord.of(
        trace,
        score=decision.score if decision else None,
        short_answer=brief_text(answer) or None if answer else None,
        unsupported=[each.sentence for each in trace.checks if fault_of(each, known)],
        citations=answer.citations if answer else (),
        warnings=[*_warnings(trace), *(["No tools are called here: the documents are asked."] if body.tools else [])],
    )


def usage_of(trace: Trace) -> Usage:
    """The tokens of a run's calls, as far as they were counted."""
    given = sum(call.input_tokens or 0 for call in trace.calls)
    written = sum(call.output_tokens or 0 for call in trace.calls)
    return Usage(prompt_tokens=given, completion_tokens=written, total_tokens=given + written)


def finish_of(trace: Trace, ending: Ending) -> FinishReason:
    """How the answer ended: length where it, or a model's reply, was cut at its length."""
    if ending.ended:
        return "length" if ending.ended == "length" else "stop"
    return "length" if trace.answer and {"cut", "overlong"} & {*trace.answer.remarks} else "stop"


def _warnings(trace: Trace) -> list[str]:
    said = [f"{failure_sentence(each)} {each.remedy}" for each in trace.failures if not each.fatal]
    said += filter(None, [embedded_sentence(trace)])
    if answer := trace.answer:
        said += [*remark_sentences(answer), *conflict_sentences(answer)]
        said += [f"{state_text(trace)}."] if answer.state == "check" else []
    return said


router = APIRouter(route_class=GuardedRoute)

_DONE = "data: [DONE]\n\n"


@router.post(
    "/v1/chat/completions",
    summary="Answer the last question of a chat",
    response_model=ChatCompletion,
    responses={200: {"content": {EVENTS: {"schema": {"$ref": "#/components/schemas/ChatChunk"}}}}},
)
async def completions(body: ChatRequest, call: CurrentCall) -> Response | ChatCompletion:
    """The answer with [n] marks and, under it, its sources; in `crag` what is known of it. The run is stored like any
    other, also where it is stopped. With `stream`, chunks of the answer as it is written, then [DONE].
    """
    if body.model not in (known := strategies()):
        raise unknown(body.model, "chat")
    body.check()
    question = question_of(body.question, "messages")
    strategy = body.crag.strategy or known[body.model]
    settings = await call.work(lambda: choose_settings(call, strategy, body.settings, "crag."))
    asked = call.run(question, strategy, settings=settings, history=body.history())
    if body.stream:
        run = Run(call, asked)
        await call.attend(run.begin())
        return event_stream(_chunks(run, body), end=_DONE)
    return _whole(await call.work(lambda: call.trace(asked)), body)


def _whole(trace: Trace, body: ChatRequest) -> ChatCompletion:
    said = opening(trace.answer) + Harmless()(trace.answer.text, last=True) if trace.answer else ""
    ending = Ending(body)
    reply = Reply(content=ending(said, last=True) + (closing(trace) if body.crag.footnotes else ""))
    return ChatCompletion(
        id=_id(trace),
        created=int(time.time()),
        model=body.model,
        choices=[Choice(message=reply, finish_reason=finish_of(trace, ending))],
        usage=usage_of(trace),
        crag=crag_record(trace, body),
    )


async def _chunks(run: Run, body: ChatRequest) -> AsyncIterator[str]:
    """The answer as it is written, its footnotes, what is known of it; then the end. A failure is an event, too."""
    created = int(time.time())
    counted = body.stream_options is not None and body.stream_options.include_usage

    def chunk(*choices: ChunkChoice, last: bool = False) -> str:
        made = ChatChunk(
            id=_id(run.trace),
            created=created,
            model=body.model,
            choices=list(choices),
            usage=usage_of(run.trace) if last else None,
            crag=crag_record(run.trace, body) if last else None,
        )
        return format_sse(made.record(counted=counted))

    def said(text: str) -> str:
        return chunk(ChunkChoice(delta=Delta(content=text)))

    harmless, ending, written = Harmless(), Ending(body), ""
    async for event in run.events():
        match event:
            case ev.RunStarted():
                yield chunk(ChunkChoice(delta=Delta(role="assistant", content="")))
            case ev.Token():
                written += event.text
                if text := ending(harmless(event.text)):
                    yield said(text)
    if run.ended is not None:
        raise run.ended
    rest = _unwritten(run.trace.answer, written, harmless) if run.trace.answer else ""
    if text := ending(rest, last=True):
        yield said(text)
    if body.crag.footnotes and (text := closing(run.trace)):
        yield said(text)
    yield chunk(ChunkChoice(delta=Delta(), finish_reason=finish_of(run.trace, ending)), last=not counted)
    if counted:
        yield chunk(last=True)


def _unwritten(answer: Answer, written: str, harmless: Harmless) -> str:
    """What of an answer has not been sent: all of it, or that of one that stands in for a writer that failed.

    Of a model's text the check may have changed marks, which is said below it.
    """
    if not written:
        return opening(answer) + harmless(answer.text, last=True)
    rest = harmless("", last=True)
    if not answer.instead_of:
        return rest
    quoted = Harmless()(answer.text, last=True)
    return f"{rest}\n\n*The writer failed here. Quoted in its place:*\n\n{opening(answer)}{quoted}"


def _id(trace: Trace) -> str:
    return f"chatcmpl-{trace.run_id}"
