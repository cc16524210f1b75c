"""The commands that ask: search for chunks, ask for an answer, shown as it is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from typer import Argument, Option

from crag.cli.options import Part, Providers, Run, interruptible
from crag.cli.output import Colour, Output, plain, strip_controls
from crag.core import events as ev
from crag.core.errors import PROGRAM, CancelledError, EmptyLibraryError, QuestionError
from crag.core.events import Guidance
from crag.core.protocols import RunRequest, SearchQuery
from crag.core.trace import Trace
from crag.core.types import Action, Answer, Chunk, Citation, InjectionSpan, SentenceCheck
from crag.export import markdown
from crag.export.records import EventRecord, HitRecord, RunRecord
from crag.generation.conversation.rules import leading_to
from crag.messages import answers, wording
from crag.messages.documents import stale_sentences
from crag.messages.providers import cost_sentence
from crag.providers.prices import table

_QUOTE = 160
_EXCERPT = 240
_Question = Annotated[str, Argument(metavar="QUESTION")]

_COLOURS: dict[Action, Colour] = {Action.CORRECT: "blue", Action.AMBIGUOUS: "amber", Action.INCORRECT: "red"}


def search(
    question: _Question,
    part: Part,
    run: Run,
    output: Output,
    mode: Annotated[Literal["hybrid", "dense", "bm25"], Option(help="how it searches")] = "hybrid",
) -> int:
    """One line a chunk, best first."""
    chosen, question = run.settings(), question.strip()
    with part.opened() as (engine, library):
        from crag.engine import QUESTION_CHARS

        if not 1 <= len(question) <= QUESTION_CHARS:
            raise QuestionError("The question is empty." if not question else "The question is too long.")
        if library.documents.count() == 0:
            raise EmptyLibraryError("There is no document to search.", f"Add one: {PROGRAM} index FILE.pdf")
        chosen = part.narrow(chosen, engine)
        limits = {name: getattr(chosen, name) for name in ("where", "min_confidence", "half_life_days")}
        found = library.find(SearchQuery(question, chosen.k, mode=mode, **limits))
    for hit in found:
        name = output.paint(f"{plain(hit.chunk.source)}, {plain(hit.chunk.where)}", "bold")
        how = f"  {said}" if (said := wording.recognised_text(hit.chunk.recognised)) else ""
        line = f"{hit.rank:>2}  {name}  similarity {hit.similarity:.3f}{how}\n    {_shorten(hit.chunk.text, _EXCERPT)}"
        output.show(HitRecord.of(hit).json_values(), line)
    return 0


def _shorten(text: str, length: int) -> str:
    text = plain(text)
    return f"{text[:length]}{'…' if len(text) > length else ''}"


def ask(
    question: _Question,
    part: Part,
    run: Run,
    providers: Providers,
    output: Output,
    after: Annotated[str | None, Option(metavar="RUN_ID", help="the stored run that this question follows on")] = None,
    as_markdown: Annotated[
        bool,
        Option("--markdown", help="print the whole answer at its end, as Markdown with a footnote for each source"),
    ] = False,
) -> int:
    """The run as it happens. 0 for an answer (an honest "the documents do not say" is one), 1 for a failed run."""
    chosen, place = run.settings(), part.existing
    trace = Trace()
    written = ""
    with interruptible() as cancel, providers.opened() as engine:
        chosen = part.narrow(chosen, engine)
        given: dict[str, Any] = {"settings": chosen, "allowed": output.approved, "cancel": cancel, "via": "cli"}
        if after:
            given["history"] = leading_to(after, engine.library(place).runs.trace)
            before = engine.library(place).runs.trace(after)
            if via := answers.origin_text(before.via, before.client):
                output.note(plain(f"Follows on “{before.meant}”, asked {via}. {answers.handed_sentence(before)}"))
        services = engine.config.providers
        streams = services.llm != "none" and services.writer != "extractive"
        for event in engine.ask(RunRequest(question, run.strategy, place, **given)):
            trace = trace.apply(event)
            if output.json:
                output.record(EventRecord.of(event).model_dump())
            elif as_markdown and isinstance(event, ev.Token | ev.Answered):
                continue
            elif isinstance(event, ev.Token):
                # Quotes come all at once, and the words that answer are shown before them.
                if streams and not any(failure.instead == "quotes" for failure in trace.failures):
                    output.write(strip_controls(event.text))
                    written += event.text
            elif isinstance(event, ev.Answered):
                _answer(event.answer, written, output)
            else:
                _show(event, trace, output)
        stale = stale_sentences(engine.stale(place, trace.documents)) if trace.documents else {}
        prices = table(services.prices)
    if output.json:
        output.record({**RunRecord.of(trace).json_values(), "stale": {id: list(said) for id, said in stale.items()}})
    elif trace.answer:
        if as_markdown:
            output.write(markdown.turn(trace))
        else:
            _conclude(trace, output)
        names = {each.document_id: each.source for each in trace.sources.values() if isinstance(each, Chunk)}
        for id, reasons in stale.items():
            for reason in reasons:
                output.message(f"warning: {plain(names[id])}: {reason}")
        output.note(cost_sentence(trace, prices))
        output.note(f"To follow on it: --after {trace.run_id}")
    if trace.cancelled:
        raise CancelledError("The run was stopped.")
    if trace.failure:
        output.message(f"error: {wording.failure_sentence(trace.failure)} {trace.failure.remedy}")
        return 1
    return 0


def _answer(answer: Answer, written: str, output: Output) -> None:
    """The answer to standard output, what of it is not `written` yet: the words that answer, then the sentences."""
    unnamed = plain(wording.unnamed_sentence(answer.unnamed))
    if unnamed and not answer.abstained:
        output.line(output.paint(unnamed, "amber"))
    if answer.places:
        marks = "".join(f"[{each}]" for each in dict.fromkeys(each.citation for each in answer.places))
        output.line(f"{output.paint(plain(answers.brief_text(answer)), 'bold')} {marks}")
        output.line()
    output.line("" if written else strip_controls(answer.text))
    for said in answers.conflict_sentences(answer):
        output.line(output.paint(plain(said), "amber"))


def _show(event: ev.Event, trace: Trace, output: Output) -> None:
    """Progress and warnings to standard error."""
    match event:
        case ev.StepStarted():
            output.progress(f"{event.step} …")
        case ev.StepFinished():
            output.note(f"{event.step:<9} {event.seconds * 1000:6.0f} ms")
        case ev.Graded(origin="internal", joint=False) if trace.round:
            output.progress(f"evaluate: {len(trace.round.grades)} of {len(trace.round.chunks)} chunks")
        case ev.Retrieved():
            _warn([(f"{each.chunk.source}, {each.chunk.where}", each.injections) for each in event.chunks], output)
        case ev.ScopeResolved():
            output.note(plain(f"Asked of: {wording.scope_text(event)}"))
        case ev.QuestionRewritten() if event.standalone != event.question:
            output.message(plain(f"Asked as: {event.standalone} {wording.context_text(event)}"))
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
        case _:
            pass


def _warn(sources: Sequence[tuple[str, Sequence[InjectionSpan]]], output: Output) -> None:
    """Says which of these texts speak to a language model."""
    for name, spans in sources:
        if spans:
            output.message(f"warning: {plain(name)}: text there {wording.injection_text(spans)}")


def _conclude(trace: Trace, output: Output) -> None:
    """What the answer rests on: the action and its reason, the citations, and what no citation supports."""
    assert trace.answer is not None
    output.line()
    sentence = plain(wording.outcome_sentence(trace))
    if sentence:
        output.line(output.paint(sentence, _COLOURS[trace.action] if trace.action else "dim"))
    said = plain("; ".join(filter(None, (answers.confidence_text(trace), answers.weakness_text(trace)))))
    if said and not trace.answer.abstained:
        output.line(output.paint(said, "amber" if trace.answer.low_confidence else "dim"))
    for remark in trace.answer.remarks:
        output.line(output.paint(wording.remark_sentence(remark), "amber"))
    for citation in trace.answer.citations:
        citation_notes = [answers.FOUND if citation.found else "", wording.recognised_text(citation.recognised)]
        how = f" ({'; '.join(filter(None, citation_notes))})" if any(citation_notes) else ""
        output.line(f"[{citation.number}] {output.paint(_place(citation), 'bold')}{how}")
        output.line(f"    “{_shorten(citation.quote, _QUOTE)}”")
    if trace.guidance is not None:
        _guide(trace, trace.guidance, output)
    known = {citation.number for citation in trace.answer.citations}
    for check in trace.checks:
        _print_check(check, known, output)
    for said in answers.figures_sentences(trace.checks):
        output.line(output.paint(f"{plain(said)}.", "amber"))


def _print_check(check: SentenceCheck, known: set[int], output: Output) -> None:
    """A sentence that is not supported, whose source was found afterwards, or of which not all judges say the same."""
    sentence, flag = plain(check.sentence), answers.flag_text(check, known)
    objection = plain(answers.objection_sentence(check))
    if flag:
        output.line(output.paint(f"{flag[0].upper()}{flag[1:]}: {sentence}", "red"))
    elif check.attributed:
        output.line(f"{answers.FOUND.capitalize()} {''.join(f'[{number}]' for number in check.citations)}: {sentence}")
    elif objection:
        output.line(f"Supported: {sentence}")
    if objection:
        output.line(output.paint(f"    but {objection}", "amber"))


def _guide(trace: Trace, guidance: Guidance, output: Output) -> None:
    """What helps on where there is no answer."""
    limits = trace.decision or trace.run_settings
    near = ((each, answers.against_text(each.score, limits.upper, limits.lower)) for each in guidance.near)
    parts = (
        [f"{each.question} ({answers.suggestion_text(each)})" for each in guidance.suggestions],
        [f"{each.source}, {each.where}, {against}: “{each.quote}”" for each, against in near],
        [answers.about_text(guidance.about), answers.headings_text(guidance.about)],
        [f"{answers.web_text(trace, on=guidance.web)} {guidance.query}"],
    )
    for head, lines in zip(answers.HEADS.values(), parts, strict=True):
        if any(lines):
            output.line(output.paint(f"{head}:", "bold"))
        for line in filter(None, lines):
            output.line(f"    {plain(line)}")


def _place(citation: Citation) -> str:
    """Where to look: file and page, or the web address."""
    if citation.origin == "external":
        return f"web: {plain(citation.source)} {plain(citation.url or '')}".rstrip()
    origin = f" ({wording.web_origin(citation.from_web)}: {plain(citation.url or '')})" if citation.from_web else ""
    return f"{plain(citation.source)}, {plain(citation.where)}{origin}"
