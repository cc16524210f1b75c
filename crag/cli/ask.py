"""The commands that ask: search for chunks, and ask for an answer, shown as it is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from typer import Argument, Option

from crag.cli.options import Part, Providers, Run, interruptible
from crag.cli.output import Output, plain
from crag.core import events as ev
from crag.core.errors import PROGRAM, CancelledError, EmptyLibraryError
from crag.core.protocols import RunRequest, SearchQuery
from crag.core.trace import Trace
from crag.core.types import Chunk, InjectionSpan
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
