"""The commands that ask: search for chunks, ask for an answer, shown as it is made, and grade texts line by line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader
from itertools import groupby
from typing import Annotated, Any, Literal, cast

from typer import Argument, Option

from crag.cli.options import Part, Providers, Run, interruptible
from crag.cli.output import Output, plain
from crag.core import events as ev
from crag.core.errors import PROGRAM, CancelledError, CragError, EmptyLibraryError
from crag.core.model_ids import about
from crag.core.protocols import RunRequest, SearchQuery
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Chunk, Grade, InjectionSpan
from crag.engine import Engine
from crag.evaluation.trigger import verdict
from crag.export import markdown
from crag.export.html.safe_text import excerpt
from crag.generation.conversation.history import leading_to
from crag.messages import answers, wording
from crag.messages.documents import stale_sentences
from crag.messages.progress import progress_sentence
from crag.messages.providers import figures_of
from crag.providers.prices import table

_EXCERPT = 240
_Question = Annotated[str, Argument(metavar="QUESTION")]


def search(
    question: _Question,
    part: Part,
    run: Run,
    output: Output,
    mode: Annotated[Literal["hybrid", "dense", "bm25"], Option(help="how it searches")] = "hybrid",
) -> int:
    """One line a chunk, best first."""
    with part.opened() as (engine, library):
        from crag.export.records import HitRecord
        from crag.pipeline.request import check_question

        chosen = run.settings(engine.strategies(part.target))
        question = check_question(question)
        if library.documents.count() == 0:
            raise EmptyLibraryError("There is no document to search.", f"Add one: {PROGRAM} index FILE.pdf")
        chosen = part.narrow(chosen, engine)
        found = library.find(SearchQuery.under(chosen, question, chosen.k, mode))
    for hit in found:
        name = output.paint(f"{plain(hit.chunk.source)}, {plain(hit.chunk.where)}", "bold")
        how = f"  {said}" if (said := wording.recognised_text(hit.chunk.recognised)) else ""
        said = excerpt(plain(hit.chunk.text), _EXCERPT)
        line = f"{hit.rank:>2}  {name}  similarity {hit.similarity:.3f}{how}\n    {said}"
        output.show(HitRecord.of(hit).json_values(), line)
    return 0


def ask(
    question: _Question,
    part: Part,
    run: Run,
    providers: Providers,
    output: Output,
    after: Annotated[str | None, Option(metavar="RUN_ID", help="the stored run that this question follows on")] = None,
) -> int:
    """The run as it happens, then the answer as Markdown with a footnote for each source.

    0 for an answer (an honest "the documents do not say" is one), 1 for a failed run.
    """
    place, trace = part.existing, Trace()
    with interruptible() as cancel, providers.opened() as engine:
        chosen = part.narrow(run.settings(engine.strategies(place)), engine)
        given: dict[str, Any] = {"settings": chosen, "allowed": output.approved, "cancel": cancel, "via": "cli"}
        if after:
            given["history"] = leading_to(after, engine.library(place).runs.trace)
            before = engine.library(place).runs.trace(after)
            if via := answers.origin_text(before.via, before.client):
                output.note(plain(f"Follows on “{before.meant}”, asked {via}. {answers.handed_sentence(before)}"))
        for event in engine.ask(RunRequest(question, run.strategy, place, **given)):
            trace = trace.apply(event)
            if output.json:
                from crag.export.records import EventRecord  # the schemas of all records, which only programs read

                output.record(EventRecord.of(event).model_dump())
            else:
                _show(event, trace, output)
        stale = stale_sentences(engine.stale(place, trace.documents)) if trace.documents else {}
        prices = table(engine.config.providers.prices)
    if output.json:
        from crag.export.records import RunRecord

        output.record({**RunRecord.of(trace).json_values(), "stale": {id: list(said) for id, said in stale.items()}})
    elif trace.answer:
        output.write(markdown.turn(trace))
        names = {each.document_id: each.source for each in trace.sources.values() if isinstance(each, Chunk)}
        for id, reasons in stale.items():
            for reason in reasons:
                output.message(f"warning: {plain(names[id])}: {reason}")
        output.note(", ".join(" ".join(filter(None, each)) for each in figures_of(trace, prices)))
        output.note(f"To follow on it: --after {trace.run_id}")
    if trace.cancelled:
        raise CancelledError("The run was stopped.")
    if trace.failure:
        output.message(f"error: {wording.failure_sentence(trace.failure)} {trace.failure.remedy}")
        return 1
    return 0


def _show(event: ev.Event, trace: Trace, output: Output) -> None:
    """Progress and warnings to standard error."""
    match event:
        case ev.StepFinished():
            output.note(f"{event.step:<9} {event.seconds * 1000:6.0f} ms")
        case ev.Token():
            output.progress(f"answer: {len(trace.text.split()):,} words")
        case ev.Retrieved():
            _warn([(f"{each.chunk.source}, {each.chunk.where}", each.injections) for each in event.chunks], output)
        case ev.ScopeResolved():
            output.note(plain(f"Asked of: {wording.scope_text(event)}"))
        case ev.QuestionRewritten() if event.standalone != event.question:
            label, said = wording.context_text(event)
            output.message(plain(f"{label}: {said} {wording.worded_by(event)}".rstrip()))
        case ev.ActionTaken():
            output.note(wording.decision_sentence(event.decision))
        case ev.Rewritten():
            output.note(f"query for the {event.purpose}: {event.query}")
        case ev.Searched():
            when = f"remembered from {event.found_at}" if event.found_at else "sent now"
            output.note(f"{event.provider}: {len(event.pages)} pages for “{plain(event.query)}”, {when}")
            for problem in event.problems:
                output.note(plain(wording.unread_sentence(problem)))
            _warn([(page.title or page.url, page.injections) for page in event.pages], output)
        case ev.Failed(fatal=False):
            output.message(f"warning: {wording.failure_sentence(event)} {event.remedy}")
        case _ if said := progress_sentence(event, trace):
            output.progress(said)


def _warn(sources: Sequence[tuple[str, Sequence[InjectionSpan]]], output: Output) -> None:
    """Says which of these texts speak to a language model."""
    for name, spans in sources:
        if spans:
            output.message(f"warning: {plain(name)}: text there {wording.injection_text(spans)}")


_PIECE = 8_192
"""Bytes of lines that are graded together: enough to fill the model's own batches."""
MAX_LINE = 1_000_000
"""Bytes. A longer line is answered with an error and not held in memory."""


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of input: its number from 1, and its object or what is wrong with it."""

    number: int
    values: dict[str, Any]
    error: str | None = None


def grade(run: Run, providers: Providers, output: Output) -> int:
    """One line out for one line in. A bad line gives an error in its place; it stops nothing and the exit code is 0."""
    chosen = run.settings()
    done = failed = 0
    with providers.opened() as engine:
        for batch in _batches(cast(BufferedReader, sys.stdin.buffer)):
            for record in _grade(engine, batch, chosen):
                done += 1
                failed += "error" in record
                output.show(record, _line(record))
            output.progress(f"{done:,} lines graded")
    if failed:
        output.note(f"{done:,} lines, {failed:,} of them not graded")
    return 0


def _grade(engine: Engine, batch: Sequence[_Line], chosen: Settings) -> Iterator[dict[str, Any]]:
    """The batch's records in order. Neighbours with one question are graded together."""
    for question, group in groupby(batch, lambda line: None if line.error else line.values["question"]):
        lines = list(group)
        if question is None:
            yield from ({**line.values, "line": line.number, "error": line.error} for line in lines)
            continue
        texts = [line.values["text"][: chosen.grade_chars or None] for line in lines]
        try:
            grades: list[Grade | str] = list(engine.grade(question, texts))
        except CragError as error:
            grades = [str(error)] * len(lines)
        yield from (_record(line, grade, chosen) for line, grade in zip(lines, grades, strict=True))


def _record(line: _Line, grade: Grade | str, chosen: Settings) -> dict[str, Any]:
    """The line as it came, with what the evaluator says of it."""
    rest = {name: value for name, value in line.values.items() if name not in ("score", "action", "reason", "error")}
    if isinstance(grade, str):
        return {**rest, "error": grade}
    if grade.score is None:
        return {**rest, "error": about(grade.error, grade.who)}
    action = verdict(grade.score, upper=chosen.upper, lower=chosen.lower)
    found = {**rest, "score": grade.score, "action": str(action), "reason": grade.reason}
    return {**found, "instead_of": f"{grade.instead_of}: {wording.why_sentence(grade)}"} if grade.instead_of else found


def _line(record: dict[str, Any]) -> str:
    if "error" in record:
        return f"  -    ERROR      {plain(str(record['error']))}"
    return f"{record['score']:.3f}  {record['action']:<9}  {plain(record['text'])[:120]}"


def _batches(stream: BufferedReader) -> Iterator[list[_Line]]:
    """Lines as they come: what is there already is taken together, up to `_PIECE` bytes; a slow writer is not waited
    for, and memory stays bounded whatever the input's size.
    """
    number, parts, size = 0, list[bytes](), 0
    while piece := stream.read1(_PIECE):
        *whole, last = piece.split(b"\n")
        if whole:
            whole[0] = b"".join([*parts, whole[0]])
            yield [_parse(number + place, raw) for place, raw in enumerate(whole, 1)]
            number, parts, size = number + len(whole), [], 0
        if size <= MAX_LINE:  # of a longer line, no more is held
            parts.append(last)
            size += len(last)
    if size:
        yield [_parse(number + 1, b"".join(parts))]


def _parse(number: int, raw: bytes) -> _Line:
    values: dict[str, Any] = {}
    if len(raw) > MAX_LINE:
        return _Line(number, values, f"Line {number} is longer than {MAX_LINE:,} bytes.")
    try:
        read = json.loads(raw.decode(), parse_constant=_no_constant)
        values = read if isinstance(read, dict) else {}
        for name in ("question", "text"):
            values[name].encode()  # half a surrogate pair can't be graded
    except (ValueError, RecursionError, KeyError, AttributeError):
        return _Line(number, values, f'Line {number} is no JSON object {{"question": "…", "text": "…"}} in UTF-8.')
    return _Line(number, values)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
