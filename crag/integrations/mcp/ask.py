"""The tools that ask: a whole run with its steps as progress, and why a page or sentence is not in its answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import asdict
from typing import Annotated, Literal

from pydantic import Field

from crag.analysis.stages.miss import Wanted, explain_miss
from crag.core import events as ev
from crag.core.errors import CancelledError, CragError
from crag.core.strategies import STRATEGIES
from crag.core.strategies import strategy as strategy_of
from crag.core.trace import Trace
from crag.core.types import Chunk, Citation, Grade, RetrievedChunk, Strip
from crag.export.explanations import MissRecord
from crag.export.records import StripRecord, describe_grade
from crag.generation.conversation.history import leading_to
from crag.integrations.calls import in_turn
from crag.integrations.mcp.library import Names, Tags, Where
from crag.integrations.mcp.request import (
    AskResult,
    Cited,
    CurrentCall,
    Evidence,
    Graded,
    document_uri,
    line,
)
from crag.messages.answers import brief_text, conflict_sentences
from crag.messages.progress import progress_sentence
from crag.messages.wording import failure_sentence, instead_sentence
from crag.pipeline.request import QUESTION_CHARS


async def ask(
    call: CurrentCall,
    question: Annotated[
        str, Field(min_length=1, max_length=QUESTION_CHARS, description="The question, in plain words.")
    ],
    strategy: Annotated[
        str,
        Field(
            max_length=60,
            description="The design of corrective RAG that answers, or a configuration saved in the library; "
            f"by default, the one that the server uses. Designs: {', '.join(STRATEGIES)}.",
        ),
    ] = "",
    wanted: Annotated[
        Literal["answer", "evidence"],
        Field(
            description="answer: a written answer with citations, checked. evidence: only the sentences that an answer "
            "may rest on, graded and filtered, for clients that write the answer themselves."
        ),
    ] = "answer",
    after: Annotated[
        str, Field(max_length=100, description="The run_id of an earlier answer that this question follows on.")
    ] = "",
    documents: Names = (),
    tags: Tags = (),
    where: Where = {},  # noqa: B006 - never changed
) -> AskResult:
    """Answers a question from the documents, with citations. Passages are retrieved and graded; by the grades the run
    answers (CORRECT), refines and adds to them (AMBIGUOUS), or looks elsewhere (INCORRECT); every sentence is checked
    against its citations. Says so if the documents hold no answer. Takes some seconds; reports its steps as progress.
    Cancelling the request stops it."""

    name = strategy or call.config.strategy
    trace = Trace()

    def begin() -> Iterator[ev.Event]:
        narrowed = call.filter(where, documents, tags)
        settings = strategy_of(name, call.engine.strategies(call.workspace)).settings
        chosen = settings.changed(where=narrowed) if narrowed else settings
        history = leading_to(after, call.library.runs.trace) if after else ()
        call.note_keys()
        yield from call.engine.ask(call.run(question, name, settings=chosen, history=history, wanted=wanted))

    async with aclosing(call.follow(begin())) as events:
        async for event in events:
            trace = trace.apply(event)
            if sentence := progress_sentence(event, trace):
                await call.report(sentence)
    if trace.cancelled:
        raise CancelledError("The run was stopped.", f"What it found until then is stored as run {trace.run_id}.")
    if trace.failure:
        raise CragError(failure_sentence(trace.failure), trace.failure.remedy)
    return _result(trace)


def _result(trace: Trace) -> AskResult:
    """The outcome of a run, with its sources and sentences about it."""
    answer, last = trace.answer, trace.round
    return AskResult.of(
        trace,
        answer=answer.text if answer else None,
        short_answer=brief_text(answer) or None if answer else None,
        citations=[_cited(each, trace) for each in answer.citations] if answer else [],
        evidence=[_evidence(each, trace) for each in trace.kept()] if trace.wanted == "evidence" else [],
        chunks=[_graded(each, last.grades.get(each.chunk.id)) for each in last.chunks] if last else [],
        conflicts=conflict_sentences(answer) if answer else [],
        unsupported=[check.sentence for check in trace.checks if check.supported is False],
        failures=[f"{failure_sentence(each)} {instead_sentence(each)}" for each in trace.failures],
    )


def _cited(citation: Citation, trace: Trace) -> Cited:
    return Cited(**asdict(citation), uri=_page_uri(citation.source_id, trace))


def _graded(hit: RetrievedChunk, grade: Grade | None) -> Graded:
    return Graded.read(hit, hit.chunk, **describe_grade(grade), uri=document_uri(hit.chunk.document_id, hit.chunk.page))


def _evidence(strip: Strip, trace: Trace) -> Evidence:
    found = trace.sources[strip.source_id]
    known = asdict(StripRecord.of(strip, found))
    where = {"place": known["place"] or "", "url": found.url or None, "uri": _page_uri(strip.source_id, trace)}
    return Evidence(**known | where)


def _page_uri(source_id: str, trace: Trace) -> str | None:
    """The resource with the page of a source; None for the web."""
    found = trace.sources.get(source_id)
    return document_uri(found.document_id, found.page) if isinstance(found, Chunk) else None


@in_turn
def explain(
    call: CurrentCall,
    run_id: Annotated[str, Field(min_length=1, max_length=200, description="The run_id of an answer of ask.")],
    document: Annotated[str, Field(max_length=300, description="A document, by its name or id.")] = "",
    page: Annotated[int | None, Field(ge=1, le=1_000_000, description="A page of the document, from 1.")] = None,
    text: Annotated[
        str, Field(max_length=2_000, description="A sentence as the document has it, five words or more.")
    ] = "",
) -> MissRecord:
    """Says why a page or sentence is not in the answer of a stored run: where it was lost between search and answer,
    and the smallest change of settings that would have kept it. Give document and page, or text, or all. Asks no model
    and changes nothing."""
    library = call.library
    wanted = Wanted(document=line(document), page=page, text=text)
    return MissRecord.of(explain_miss(library, library.runs.trace(line(run_id)), wanted))
