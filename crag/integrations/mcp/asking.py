"""The tool that asks: the whole run, its steps reported as they happen, its answer with citations and action."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import asdict

from crag.core import events as ev
from crag.core.errors import CancelledError, CragError
from crag.core.request import RunRequest
from crag.core.strategies import strategy
from crag.core.trace import Trace
from crag.core.types import Chunk, Citation, Step, Strip
from crag.export.markdown import escape_markdown, turn
from crag.export.records import trace_record
from crag.generation.conversation.rules import leading_to
from crag.integrations.mcp import schemas
from crag.integrations.mcp.offer import Request, document_uri, line, run_uri
from crag.integrations.mcp.searching import DATA
from crag.messages.answers import disagreement_sentence, figures_sentences
from crag.messages.wording import decision_sentence, failure_sentence, instead_sentence, outcome_sentence, short_text
from crag.text.injection import fence, fence_text, quote_for_model

_STEPS: dict[Step, str] = {
    "contextualize": "Makes the question stand alone.",
    "retrieve": "Searches the documents.",
    "evaluate": "Grades what was found.",
    "act": "Decides.",
    "refine": "Keeps the sentences that matter.",
    "rewrite": "Words the query again.",
    "search": "Searches the web.",
    "answer": "Writes the answer.",
    "verify": "Checks the answer against its sources.",
}


async def ask(request: Request, asked: schemas.Ask) -> tuple[str, schemas.Asked]:
    """The run of a question; who cancels the request ends it, and it is stored as stopped.

    Raises the failure that ended the run, SettingsError for a strategy, NotFoundError, FilterError.
    """
    named = asked.strategy or request.offer.strategy
    settings = strategy(named).settings
    trace = Trace()

    def begin(cancel: threading.Event) -> Iterator[ev.Event]:
        library = request.engine.library(request.workspace)
        where = request.where(asked.where, asked.documents, asked.tags)
        request.sends_keys()
        yield from request.engine.ask(
            RunRequest(
                asked.question,
                named,
                request.workspace,
                settings=settings.changed(where=where) if where else settings,
                history=leading_to(asked.after, library.runs.trace) if asked.after else (),
                cancel=cancel,
                wanted=asked.wanted,
                via="mcp",
                client=request.client,
            )
        )

    async with aclosing(request.follow(begin)) as events:
        async for event in events:
            trace = trace.apply(event)
            if said := _progress(event, trace):
                await request.report(said)
    if trace.cancelled:
        raise CancelledError("The run was stopped.", f"What it had found until then: {run_uri(trace.run_id)}")
    if trace.failure:
        raise CragError(failure_sentence(trace.failure), trace.failure.remedy)
    return _format_run(trace), _result(trace)


def _progress(event: ev.Event, trace: Trace) -> str:
    """The progress message of an event; empty: none."""
    match event:
        case ev.Queued(before=before) if before:
            return f"Waits for its turn; {before} run before it."
        case ev.StepStarted():
            return _STEPS[event.step]
        case ev.Graded(origin="internal", joint=False) if trace.round:
            return f"Graded {len(trace.rounds[-1].grades)} of {len(trace.rounds[-1].chunks)} passages."
        case ev.ActionTaken():
            return line(decision_sentence(event.decision))
        case ev.Searched():
            return f"Found {len(event.pages)} web pages."
        case ev.Failed(fatal=False):
            return line(failure_sentence(event))
        case _:
            return ""


def _result(trace: Trace) -> schemas.Asked:
    """Fields of `trace_record` by the same names, and what is said of it in sentences."""
    answer, guidance = trace.answer, trace.guidance
    record = trace_record(trace)
    of_this = {
        "uri": run_uri(trace.run_id),
        "answer": quote_for_model(answer.text) if answer else None,
        "short_answer": short_text(answer.short) if answer and answer.short else None,
        "citations": [_describe_citation(each, trace) for each in answer.citations] if answer else [],
        "evidence": [_evidence(each, trace) for each in trace.kept()] if trace.wanted == "evidence" else [],
        "chunks": [{**each, "uri": document_uri(each["document_id"], each["page"])} for each in record["chunks"]],
        "disagreements": [disagreement_sentence(each) for each in answer.disagreements] if answer else [],
        "unsupported": [quote_for_model(check.sentence) for check in trace.checks if check.supported is False],
        "figure_remarks": figures_sentences(trace.checks),
        "suggestions": [each.question for each in guidance.suggestions] if guidance else [],
        "failures": _failures(trace),
    }
    return schemas.Asked.model_validate({**record, **of_this})


def _describe_citation(citation: Citation, trace: Trace) -> dict[str, object]:
    return {
        **asdict(citation),
        "quote": quote_for_model(citation.quote),
        "source": line(citation.source),
        "uri": _page(citation.source_id, trace),
    }


def _evidence(strip: Strip, trace: Trace) -> schemas.Evidence:
    found = trace.sources[strip.source_id]
    where = (
        {"source": line(found.source), "page": found.page, "place": found.place, "url": found.url or None}
        if isinstance(found, Chunk)
        else {"source": line(found.title or found.url), "page": None, "url": found.url}
    )
    uri = _page(strip.source_id, trace)
    return schemas.Evidence.model_validate(
        {**where, "origin": strip.origin, "text": quote_for_model(strip.text), "score": strip.score, "uri": uri}
    )


def _page(source: str, trace: Trace) -> str | None:
    """The resource of the page that a source is of; None of the web."""
    found = trace.sources.get(source)
    return document_uri(found.document_id, found.page) if isinstance(found, Chunk) else None


def _failures(trace: Trace) -> list[str]:
    said = (f"{failure_sentence(each)} {instead_sentence(each)}" for each in trace.failures)
    return [line(each) for each in said]


def _format_run(trace: Trace) -> str:
    """The run for a model: action, answer with footnotes, what went wrong, where all of it stands."""
    parts = [f"Action: {trace.action or 'none, nothing was graded'}.", DATA]
    if trace.wanted == "evidence":
        parts.append(line(outcome_sentence(trace)))
        kept = [_evidence(each, trace) for each in trace.kept()]
        parts += [fence_text("evidence", _strip(each), number=number) for number, each in enumerate(kept, 1)]
        parts += [] if kept else ["Nothing found is good enough to answer from: say that you don't know."]
    elif trace.answer:
        parts.append(fence_text("answer", turn(trace)))
        if trace.answer.abstained:
            parts.append("The sources do not tell. Say so: there is no answer in them.")
    if trace.guidance and trace.guidance.suggestions:
        asked = "\n".join(f"- {escape_markdown(each.question)}" for each in trace.guidance.suggestions)
        parts += ["Questions that the documents do answer:", fence("suggestions", asked)]
    if failures := _failures(trace):
        parts.append("\n".join(["What went wrong on the way:", *(f"- {each}" for each in failures)]))
    return "\n\n".join([*filter(None, parts), f"The whole run: {run_uri(trace.run_id)}"])


def _strip(each: schemas.Evidence) -> str:
    where = f"web: {each.source} {each.url}" if each.origin == "external" else f"{each.source}, {_where(each)}"
    score = "not scored" if each.score is None else f"score {each.score:.2f}"
    return f"{where} ({score})\n{each.text}"


def _where(each: schemas.Evidence) -> str:
    return each.place or f"page {each.page}"
