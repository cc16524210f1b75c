"""A run in OpenAI's form: a chat completion, whole or in chunks; what only this engine knows is in the field `crag`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

from crag.core.makers import name_in_sentence
from crag.core.trace import Trace
from crag.core.types import Action, Citation
from crag.messages.remarks import disagreement_sentence
from crag.messages.verdicts import fault_of
from crag.messages.wording import failure_sentence, remark_sentence, short_text, unnamed_sentence

FinishReason = Literal["stop", "length"]


class CragRecord(BaseModel):
    """What is known of an answer beside its words.

    `score` is what the action was taken by, 0..1; None where nothing was graded. `faithfulness` is the share of
    sentences that what they cite supports; None where none was checked. `unsupported` are the others. `asked_as`: the
    question that was asked in place of one that follows on a conversation. `warnings`: what failed and was worked
    around, and what is to be known of the answer.
    """

    run_id: str
    strategy: str
    action: Action | None
    score: float | None
    answered_by: str | None
    short_answer: str | None
    abstained: bool
    low_confidence: bool
    faithfulness: float | None
    unsupported: list[str]
    asked_as: str | None
    citations: list[Citation]
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
    role: Literal["assistant"] | None = None
    content: str | None = None


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
    crag: CragRecord | None = None

    def record(self, *, counted: bool) -> dict[str, Any]:
        """As it is sent: without what it does not say. Where tokens are `counted`, usage is null until the end."""
        said = self.model_dump(mode="json", exclude=None if self.crag else {"crag"})
        if not counted:
            del said["usage"]
        for choice in said["choices"]:
            choice["delta"] = {name: value for name, value in choice["delta"].items() if value is not None}
        return said


def crag_record(trace: Trace) -> CragRecord:
    """What the field `crag` says of a run that ended with an answer."""
    answer, decision = trace.answer, trace.decision
    known = {each.number for each in answer.citations} if answer else set()
    return CragRecord(
        run_id=trace.run_id,
        strategy=trace.strategy,
        action=trace.action,
        score=decision.score if decision else None,
        answered_by=answer.by if answer else None,
        short_answer=short_text(answer.short) if answer and answer.short else None,
        abstained=answer.abstained if answer else False,
        low_confidence=answer.low_confidence if answer else False,
        faithfulness=trace.faithfulness,
        unsupported=[each.sentence for each in trace.checks if fault_of(each, known)],
        asked_as=trace.standalone or None,
        citations=list(answer.citations) if answer else [],
        warnings=_warnings(trace),
    )


def usage_of(trace: Trace) -> Usage:
    """The tokens of a run's calls, as far as they were counted."""
    given = sum(call.input_tokens or 0 for call in trace.calls)
    written = sum(call.output_tokens or 0 for call in trace.calls)
    return Usage(prompt_tokens=given, completion_tokens=written, total_tokens=given + written)


def finish_of(trace: Trace) -> FinishReason:
    """How the writer ended: length where a model's reply was cut at its length."""
    return "length" if trace.answer and {"cut", "overlong"} & {*trace.answer.remarks} else "stop"


def _warnings(trace: Trace) -> list[str]:
    said = [f"{failure_sentence(each, name_in_sentence)} {each.remedy}" for each in trace.failures if not each.fatal]
    if answer := trace.answer:
        said += [unnamed_sentence(answer.unnamed)] if answer.unnamed else []
        said += [remark_sentence(each) for each in answer.remarks]
        said += [disagreement_sentence(each) for each in answer.disagreements]
    return said
