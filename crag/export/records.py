"""Chunks and whole runs as flat JSON records: what a script reads without knowing the engine's types."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from crag.core.events import ActionTaken, Event, Failed, ScopeResolved, event_to_json
from crag.core.trace import Trace
from crag.core.types import Decision, Grade, RetrievedChunk, Strip, WebPage
from crag.messages.answers import check_sentence, disagreement_sentence, figures_sentences, objection_sentence
from crag.messages.wording import (
    about,
    decision_sentence,
    failure_sentence,
    instead_sentence,
    outcome_sentence,
    short_text,
    unread_sentence,
)

Record = dict[str, Any]


def hit_record(hit: RetrievedChunk) -> Record:
    """One retrieved chunk: file name, page from 1, the retriever's own similarity (for ranking, not a relevance).

    `recognised`: how sure text recognition is to have read it right, 0..1; None where the file says the words itself.
    """
    chunk = hit.chunk
    return {
        "rank": hit.rank,
        "source": chunk.source,
        "page": chunk.page,
        "place": chunk.place,
        "recognised": chunk.recognised,
        "similarity": hit.similarity,
        "text": chunk.text,
        "injections": [asdict(each) for each in hit.injections],
        "id": chunk.id,
        "title": chunk.title,
        "document_id": chunk.document_id,
        "url": chunk.url or None,
        "from_web": chunk.from_web or None,
        "start": chunk.start,
        "end": chunk.end,
    }


def trace_record(trace: Trace) -> Record:
    """The whole run in one object.

    `chunks`, `action` and `decision` are those of the retrieval that was acted on, the last of `rounds`. Scores are
    relevance, 0..1; a grade that failed has `error` and no score. Times are seconds.
    """
    last, answer, failure = trace.round, trace.answer, trace.failure
    return {
        "kind": "trace",
        "run_id": trace.run_id,
        "question": trace.question,
        "asked_as": trace.standalone or None,
        "after": (trace.context.after or None) if trace.context else None,
        "strategy": trace.strategy,
        "settings": trace.settings,
        "asked_of": _scope(trace.scope) if trace.scope else None,
        "started_at": trace.started_at,
        "via": trace.via,
        "client": trace.client,
        "wanted": trace.wanted,
        "action": str(trace.action) if trace.action else None,
        "sentence": outcome_sentence(trace),
        "decision": _decision(trace.decision),
        "chunks": [{**hit_record(hit), **_grade(last.grades.get(hit.chunk.id))} for hit in last.chunks] if last else [],
        "joint": _grade(last.joint) if last and last.joint else None,
        "rounds": [
            {
                "query": each.query,
                "chunks": [
                    {"id": hit.chunk.id, "similarity": hit.similarity, **_grade(each.grades.get(hit.chunk.id))}
                    for hit in each.chunks
                ],
                "joint": _grade(each.joint) if each.joint else None,
                "decision": _decision(each.decision),
                "sentence": decision_sentence(each.decision) if each.decision else "",
            }
            for each in trace.rounds
        ],
        "rewrites": [asdict(rewrite) for rewrite in trace.rewrites],
        "searches": [
            {
                "query": each.query,
                "provider": each.provider,
                "results": len(each.pages),
                "found_at": each.found_at or None,
                "problems": [unread_sentence(problem) for problem in each.problems],
            }
            for each in trace.searches
        ],
        "approvals": [asdict(each) for each in trace.approvals],
        "calls": [{**asdict(call), "error": about(call.error, call.who) or None} for call in trace.calls],
        "strips": [_strip(strip, trace) for strips in trace.strips.values() for strip in strips],
        "web_sources": [{**asdict(page), **_grade(trace.web_grades.get(page.id))} for page in trace.pages],
        "answer": answer.text if answer else None,
        "short_answer": {**asdict(answer.short), "sentence": short_text(answer.short)}
        if answer and answer.short
        else None,
        "unnamed": list(answer.unnamed) if answer else [],
        "disagreements": [
            {**asdict(each), "sentence": disagreement_sentence(each)}
            for each in (answer.disagreements if answer else ())
        ],
        "answered_by": answer.by if answer else None,
        "answered_instead_of": (answer.instead_of or None) if answer else None,
        "remarks": list(answer.remarks) if answer else [],
        "abstained": answer.abstained if answer else None,
        "low_confidence": answer.low_confidence if answer else None,
        "guidance": asdict(trace.guidance) if trace.guidance else None,
        "citations": [asdict(citation) for citation in answer.citations] if answer else [],
        "checks": [
            {**asdict(check), "note": check_sentence(check), "objection": objection_sentence(check)}
            for check in trace.checks
        ],
        "figure_remarks": figures_sentences(trace.checks),
        "faithfulness": trace.faithfulness,
        "failures": [_failure(each) for each in trace.failures],
        "error": f"{failure_sentence(failure)} {failure.remedy}" if failure else None,
        "cancelled": trace.cancelled,
        "timings": {
            "seconds": trace.seconds,
            "steps": [asdict(step) for step in trace.steps],
        },
    }


def event_record(event: Event) -> Record:
    """An event, with sentences about it beside its facts."""
    record: Record = json.loads(event_to_json(event))
    match event:
        case ActionTaken():
            record["sentence"] = decision_sentence(event.decision)
        case Failed():
            record["message"] = failure_sentence(event)
    return record


def _scope(scope: ScopeResolved) -> Record:
    """Which documents the question was asked of, by name, and which tags."""
    return {"documents": list(scope.documents), "tags": list(scope.tags), "gone": scope.gone}


def _failure(failure: Failed) -> Record:
    return {**asdict(failure), "message": failure_sentence(failure), "instead": instead_sentence(failure)}


def _grade(grade: Grade | None) -> Record:
    """What a chunk's grade adds to its record; nothing where it was never graded."""
    if grade is None:
        return {"score": None}
    if grade.score is None:
        return {"score": None, "error": about(grade.error, grade.who), "evaluator": grade.evaluator}
    return {"score": grade.score, "reason": grade.reason, "evaluator": grade.evaluator, "cached": grade.cached}


def _decision(decision: Decision | None) -> Record | None:
    return asdict(decision) if decision else None


def _strip(strip: Strip, trace: Trace) -> Record:
    found = trace.sources.get(strip.source_id)
    record = asdict(strip)
    if isinstance(found, WebPage):
        record |= {"source": found.title or found.url, "page": None, "url": found.url}
    elif found is not None:
        record |= {"source": found.source, "page": found.page, "place": found.place}
    return record
