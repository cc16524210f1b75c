"""The answer of a run, drawn from a trace: text with clickable citations, flags, sources."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from crag.core.model_ids import maker
from crag.core.trace import Outcome, Trace
from crag.core.types import Answer, Chunk, Citation, SentenceCheck, WebPage
from crag.export.html import elements as h
from crag.export.html import marks, words
from crag.export.html.elements import Html, Tag
from crag.export.html.figures import draw_rows, figures_layer
from crag.export.html.marks import SavedPages
from crag.export.html.passage import Layer, annotate, recognised, short_layer
from crag.export.html.safe_text import excerpt
from crag.export.markdown import handed_over
from crag.export.quoted_rows import QuotedRows, find_rows
from crag.generation.citations import MARK, locate_checks, numbers_in, split_cited_sentences
from crag.messages.answers import (
    FAULTS,
    STATES,
    calculation_text,
    check_sentence,
    contradiction_sentence,
    differing_sentence,
    ending_sentence,
    fault_of,
    marks_text,
    nearest_sentence,
    objection_sentence,
    origin_text,
    standing_text,
)
from crag.messages.wording import context_text, remark_sentences, scope_text, source_text, worded_by

SIGNS: dict[Outcome, str] = {"answered": "✓", "web": "↗", "check": "!", "not found": "–", "overview": "≡"}
"""A shape for each state of an answer, used for nothing else."""
_CHIPS: dict[Outcome, str] = {"answered": "tag only", "overview": "tag only", "web": "tag web", "check": "tag deciding"}
_MARK = re.compile(r"\[(\d{1,3})\]([.,;:!?]*)")
"""A citation mark, and the punctuation that must not be torn from it at a line's end."""
_PENDING = re.compile(r"\[(\d{1,3})\]")
_SPOKEN = 300
"""Characters of an answer that are announced at most."""
_UNFINISHED = re.compile(r"(?<!\s)\s*+\[[\d,;\s]{0,20}$")
"""A mark that is still being written."""


def state_chip(outcome: Outcome) -> Html | Literal[""]:
    """How a run ended, in a line of text: whether one can rely on its answer. Nothing while it goes on."""
    return outcome and h.span(_CHIPS.get(outcome, "tag"))[f"{SIGNS.get(outcome, '')} {STATES[outcome]}".strip()]


def question(trace: Trace, *, announced: bool = False) -> Html:
    """The question, and beneath it the answer's state. `announced`: screen readers hear how the run ended."""
    took = f" · {words.format_duration(trace.seconds)}" if trace.finished else ""
    forced = ", forced action" if trace.settings.get("forced") else ""
    via = (said := origin_text(trace.via, trace.client)) and f" · {said}"
    scope = trace.scope and h.div("small")[h.span("tag")["Asked of"], f" {scope_text(trace.scope)}"]
    state = trace.outcome and h.div[state_chip(trace.outcome), f" {standing_text(trace)}"]
    below = h.div("small")[trace.strategy, forced, took, via]
    ended = announcement(trace) if announced and trace.finished else None
    return h.div("cx", data_announce=ended, data_run=ended and trace.run_id)[
        h.div("question")[trace.question, _asked_as(trace), state, below, scope]
    ]


def announcement(trace: Trace) -> str:
    """How a run ended, as a screen reader says it: the answer's state and first sentence."""
    if trace.answer is None:
        return ending_sentence(trace)
    opening = trace.answer.text[: 4 * _SPOKEN]
    first, _ = next(iter(split_cited_sentences(opening)), (opening, ()))
    return f"{STATES[trace.outcome]}: {excerpt(first, _SPOKEN)}"


def answer(trace: Trace, alone: Sequence[tuple[int, int]] = (), *, opens: bool = True) -> Html:
    """The answer so far, or whole with its label; each citation mark is a button where it `opens` its source.

    `alone`: where the sentences stand, as [start, end), that no other run compared with says.
    """
    whole = trace.answer
    if whole is None:
        none = h.div("cx")[h.div("answer abstained")[ending_sentence(trace)]]
        return none if trace.finished else _written(trace)
    known = {citation.number: _mark(citation, opens=opens) for citation in whole.citations}
    kind = "answer abstained" if whole.abstained else "answer"
    said = _marked(whole, known, trace.checks, alone, find_rows(trace))
    against = (("Contradiction.", contradiction_sentence(whole)), ("Documents.", differing_sentence(whole)))
    notes = [
        h.div("note conflict", role="note")[h.b[head], " ", annotate(said, _cited(said, known))]
        for head, said in against
        if said
    ]
    return h.div("cx")[_short(whole, known), h.div(kind)[said], notes, _label(whole, trace)]


def _short(whole: Answer, known: Mapping[int, Html]) -> Html:
    """The words that answer, large, with their sources; above them the row and column, or how it was worked out."""
    worked, short, numbers = whole.calculation, whole.short, {each.citation for each in whole.places}
    if not numbers:
        return Html()
    cited = [h.joined(" ", (known[each.number], marks.tag(each))) for each in whole.citations if each.number in numbers]
    above = words.sentence(calculation_text(worked)) if worked else short and short.cell
    sure = f"Evaluator confidence: {short.confidence:.0%}" if short and not worked else None
    return h.div("short", title=sure)[
        above and h.span("cell")[above],
        h.span("words")[worked.result if worked else short and short.value, " ", h.span("keep")[cited]],
    ]


def find_short(whole: Answer) -> tuple[int, int] | None:
    """Where the words of the short answer stand in the answer's text: in the first sentence that cites their source."""
    if whole.short is None:
        return None
    wanted = r"\s+".join(map(re.escape, whole.short.text.split()))
    marks = [*MARK.finditer(whole.text)]
    starts = [mark.start() for mark in marks]
    for found in re.finditer(rf"(?<!\w){wanted}(?!\w)", whole.text):
        place = bisect_left(starts, found.end())
        if place < len(marks) and whole.short.citation in numbers_in(marks[place].group()):
            return found.span()
    return None


def _written(trace: Trace) -> Html:
    """What has been written so far: marks as they will stand, an unfinished one held back."""
    if not trace.text:
        said = "Waiting for you to approve the web search." if trace.awaiting else "Working on it…"
        return h.div("cx")[h.div("answer")[h.span("quiet")[said]]]
    written = _UNFINISHED.sub("", trace.text)
    body = [h.span("cite")[piece] if place % 2 else piece for place, piece in enumerate(_PENDING.split(written))]
    return h.div("cx")[h.div("answer")[body, h.span("cursor")]]


def _marked(
    answer: Answer,
    known: Mapping[int, Html],
    checks: Sequence[SentenceCheck],
    alone: Sequence[tuple[int, int]],
    rows: Sequence[QuotedRows],
) -> Html:
    """The text with flagged sentences underlined and tagged, and every mark drawn as `known` has it.

    The words of the short answer are marked; `rows` are drawn as tables.
    """
    whole = answer.text
    sentences = list(locate_checks(whole, checks))

    def sentence(check: SentenceCheck, inside: Html, *place: int) -> object:
        fault, why = fault_of(check, known), words.sentence(check_sentence(check)) or None
        if not fault:
            differs = check.supported and (check.objecting or marks_text(check))
            return h.span("disputed", title=why)[inside] if differs else inside
        kind = "unchecked" if fault == "not checked" else "flagged"
        return h.span(kind, title=why)[inside], " ", h.span("tag")[FAULTS[fault]]

    def table(found: QuotedRows, inside: Html, start: int, end: int) -> object:
        return start == found.start and draw_rows(found, answer, known[found.citation.number])

    def lone(_: None, inside: Html, *place: int) -> Html:
        return h.span("alone", title="In this run alone")[inside]

    # Between two tables the text has only what parts two paragraphs.
    ends = [*(each.start for each in rows[1:]), len(whole)]
    tables = [
        (each.start, end if end <= each.end + 2 else each.end, each) for each, end in zip(rows, ends, strict=False)
    ]
    return annotate(
        whole,
        (sentences, sentence),
        (tables, table),
        figures_layer(whole, sentences),
        short_layer(find_short(answer)),
        ([(*each, None) for each in alone], lone),
        _cited(whole, known),
    )


def _cited(text: str, known: Mapping[int, Html]) -> Layer:
    """Draws every mark as `known` has it; a number that stands for no source stays text, marked."""

    def mark(found: re.Match[str], inside: Html, start: int, end: int) -> object:
        shown = known.get(int(found[1])) or h.span("invented", title="No such source")[f"[{found[1]}]"]
        return start == found.start() and h.span("keep")[shown, text[found.start(2) : end]]

    return [(*each.span(), each) for each in _MARK.finditer(text)], mark


def _mark(citation: Citation, *, opens: bool) -> Html:
    name = "cite web" if citation.origin == "external" or citation.from_web else "cite"
    said = source_text(citation)
    label = f"Source {citation.number}: {said}"
    if not opens:
        return h.span(name, title=said)[citation.number]
    return h.button(name, data_pick=f"cite:{citation.number}", title=said, aria_label=label)[citation.number]


def _label(whole: Answer, trace: Trace) -> Html:
    """Who wrote an answer, what from the web it rests on, and what is remarked of it."""
    notes = [] if whole.quoted else [f"Written by {maker(whole.by)}"]
    if whole.instead_of:
        notes = [f"Quoted in place of {maker(whole.instead_of)}"]
    if {citation.origin for citation in whole.citations} == {"internal", "external"}:
        notes.append("With web sources")
    if kept := [citation for citation in whole.citations if citation.from_web]:
        unverified = any(citation.from_web == "unverified" for citation in kept)
        notes.append(f"With a page kept from the web{', unverified' if unverified else ''}")
    lines = [
        "; ".join(notes),
        *(h.fragment(h.span("tag")["The model's reply"], " ", each) for each in remark_sentences(whole)),
    ]
    return h.fragment((h.p("small")[line] for line in lines if line), _disputed(trace))


def _disputed(trace: Trace) -> Html:
    """Folded: the sentences of which not all judges say the same, with who objects."""
    objections = [(check, objection_sentence(check)) for check in trace.checks]
    disputed = [h.li[f"“{check.sentence}” ", h.b[words.sentence(said)]] for check, said in objections if said]
    if not disputed:
        return Html()
    title = f"The checks differ on {words.count(len(disputed), 'sentence')}"
    return h.details("fold")[h.summary[title], h.ul[disputed]]


def sources(
    trace: Trace, opened: int | None = None, notes: Mapping[int, str] | None = None, held: SavedPages | None = None
) -> Html:
    """The numbered sources; each opens its page. `notes`: what a comparison says of them, by number.

    `held`: what of them can be kept or verified; None: nothing here.
    """
    if trace.answer is None or not trace.answer.citations:
        return _handed_over(trace, held)
    tables = {each.citation.number for each in find_rows(trace)}
    items = []
    for citation in trace.answer.citations:
        number, open_ = citation.number, opened == citation.number
        note = (notes or {}).get(number, "")
        box = h.button(data_pick=f"cite:{number}", class_="open" if open_ else "", aria_expanded=open_ and "true")
        # Rows are drawn as a table above.
        quote = None if number in tables else h.span("quote")[citation.quote]
        more = note and h.span("notes")[h.span("tag only")[note]], quote
        items.append(_source(number, citation, box, more, _beneath(trace, citation, held)))
    return h.div("cx")[h.h3["Sources"], h.ol("sources")[items]]


def _source(
    number: int, source: Citation | Chunk | WebPage, box: Tag, lines: Iterable[object], beneath: object
) -> Html:
    """One source in its box: its number and where it stands, these lines, and beneath the box what else there is."""
    where: tuple[object, ...]
    if isinstance(source, WebPage):
        where = marks.WEB, h.span("name")[source.title or source.url]
    else:
        place, name = words.place(source), h.span("name")[source.source]
        where = marks.tag(source), place and h.span("page")[place], name, recognised(source.recognised)
    below = [(h.span, line) for line in lines if line]
    return h.li[box[h.span("n num")[number], h.span("where")[where], below], beneath]


def _beneath(trace: Trace, citation: Citation, held: SavedPages | None) -> Html:
    """Under a source from the web, or kept from it: where it is from, and what a person can do with it."""
    source = trace.sources.get(citation.source_id)
    document = source.document_id if isinstance(source, Chunk) else ""
    parts = [
        marks.origin(citation),
        marks.keeper(citation.source_id, held),
        marks.verifier(document, held),
    ]
    shown = [part for part in parts if part]
    return h.div("beneath")[h.joined(" ", shown)] if shown else Html()


def _asked_as(trace: Trace) -> Html:
    """What a follow-up follows on, or its wording and whose that is; nothing of a question that was asked as typed."""
    if trace.context is None or not trace.standalone:
        return Html()
    label, said = context_text(trace.context)
    by = worded_by(trace.context)
    return h.div[h.div[h.span("tag")[label], " ", h.span("as")[said]], by and h.div("small")[by]]


def nearest(trace: Trace, *, live: bool = True) -> Html:
    """Under an answer that there is none: the passage that came nearest, if one did. `live`: it is a button."""
    if trace.guidance is None or not nearest_sentence(trace):
        return Html()
    near = trace.guidance.near[0]
    box = h.button("pick", data_pick=f"chunk:{near.chunk_id}") if live else h.div("pick")
    place = h.span("small")[f"{near.where} {excerpt(near.source, 120)}"]
    return h.div("cx")[h.div("guide")[h.h3["Closest passage"], box[near.quote, place]]]


def _handed_over(trace: Trace, held: SavedPages | None = None) -> Html:
    """Each source with its kept words; those of chunks open their page. Nothing of a run that handed nothing over."""
    drawn = []
    for number, (source, said) in enumerate(handed_over(trace), 1):
        box, parts = h.button(data_pick=f"chunk:{source.id}"), list[Html]()
        if not isinstance(source, Chunk):
            box = h.div("source")
            parts = [part for part in (marks.opener(source.url), marks.keeper(source.id, held)) if part]
        beneath = parts and h.div("beneath")[h.joined(" ", parts)]
        drawn.append(_source(number, source, box, [h.span("quote whole")[said]], beneath))
    return h.div("cx")[h.h3["Handed over"], h.ol("sources")[drawn]] if drawn else Html()
