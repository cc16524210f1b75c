"""The answer of a run, drawn from a trace: text with clickable citations, flags, sources."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from crag.core.makers import maker, named
from crag.core.trace import Trace
from crag.core.types import Action, Answer, Citation, SentenceCheck
from crag.core.wording import about, failure_sentence
from ui.kit import words
from ui.kit.safe import text
from ui.run import faults, flags
from ui.run.path import chip

__all__ = ["answer", "question", "sources"]

_MARK = re.compile(r"\[(\d{1,3})\]([.,;:!?]*)")
"""A citation mark, and the punctuation that must not be torn from it at a line's end."""
_PENDING = re.compile(r"\[(\d{1,3})\]")
_UNFINISHED = re.compile(r"\s*\[[\d,;\s]{0,20}$")
"""A mark that is still being written."""


def question(trace: Trace) -> str:
    """The question, and beneath it what became of it."""
    action = f"{chip(trace.action)} · " if trace.action else ""
    took = f" · {words.duration(trace.seconds)}" if trace.finished else ""
    forced = ", forced action" if trace.settings.get("forced") else ""
    return (
        f'<div class="cx"><div class="question">{text(trace.question)}'
        f'<div class="small">{action}{text(trace.strategy)}{forced}{took}</div></div></div>'
    )


def answer(trace: Trace, alone: Sequence[tuple[int, int]] = ()) -> str:
    """The answer so far, or whole with its label; each citation mark is a button.

    `alone`: where the sentences stand, as [start, end), that no other run compared with says.
    """
    whole = trace.answer
    if whole is None:
        return _unanswered(trace) if trace.finished else _written(trace)
    known = {citation.number: citation for citation in whole.citations}
    kind = "answer abstained" if whole.abstained else "answer"
    said = _marked(whole.text, known, trace.checks, alone)
    return f'<div class="cx">{_quoted(whole, trace)}<div class="{kind}">{said}</div>{_label(whole, trace)}</div>'


def _written(trace: Trace) -> str:
    """What has been written so far: marks as they will stand, an unfinished one held back."""
    if not trace.text:
        said = "Waiting for your word on the web query." if trace.awaiting else "Working on it…"
        return f'<div class="cx"><div class="answer"><span class="quiet">{said}</span></div></div>'
    begun = _UNFINISHED.sub("", trace.text)
    body = "".join(
        f'<span class="mark">{piece}</span>' if place % 2 else text(piece)
        for place, piece in enumerate(_PENDING.split(begun))
    )
    return f'<div class="cx"><div class="answer">{body}<span class="cursor"></span></div></div>'


def _quoted(whole: Answer, trace: Trace) -> str:
    """Said above an answer that a model was to write and could not."""
    if not whole.instead_of:
        return ""
    said = f"{maker(whole.instead_of)} failed."
    if failure := next(iter(reversed(faults.of_step(trace, "answer"))), None):
        own = failure.who == whole.instead_of
        cause = about(failure.cause, failure.who, named)
        said = f"{maker(whole.instead_of)} failed: it {failure.cause}" if own else f"{said} {cause}"
    return f'<div class="note"><b>Quoted, not written:</b> {text(said)}</div>'


def _unanswered(trace: Trace) -> str:
    if trace.cancelled:
        said = "Stopped. What was found until then is shown beside it."
    elif trace.failure:
        said = f"{failure_sentence(trace.failure, named)} {trace.failure.remedy}"
    else:
        said = "The run ended without an answer."
    return f'<div class="cx"><div class="answer abstained">{text(said)}</div></div>'


def _marked(
    whole: str, known: dict[int, Citation], checks: Sequence[SentenceCheck], alone: Sequence[tuple[int, int]]
) -> str:
    """The text with flagged sentences underlined and tagged, and every mark turned into a button."""
    parts, at = [], 0

    def piece(start: int, end: int) -> str:
        return _apart(whole, start, end, known, alone)

    for start, end, check in flags.placed(whole, checks):
        flag = flags.flag(check, set(known))
        if flag is None:
            continue
        parts.append(piece(at, start))
        parts.append(
            f'<span class="{flag.kind}" title="{text(flag.why)}">{piece(start, end)}</span> '
            f'<span class="tag">{flag.name}</span>'
        )
        at = end
    parts.append(piece(at, len(whole)))
    return "".join(parts)


def _apart(whole: str, start: int, end: int, known: dict[int, Citation], alone: Sequence[tuple[int, int]]) -> str:
    """The characters [start, end), with what lies in a sentence that stands here alone marked."""
    parts, at = [], start
    for first, last in alone:
        first, last = max(first, at), min(last, end)
        if first < last:
            marked = f'<span class="alone" title="In this run alone">{_cited(whole[first:last], known)}</span>'
            parts += [_cited(whole[at:first], known), marked]
            at = last
    return "".join([*parts, _cited(whole[at:end], known)])


def _cited(piece: str, known: dict[int, Citation]) -> str:
    """Marks of sources as buttons; a number that stands for none stays text, marked."""
    parts, at = [], 0
    for mark in _MARK.finditer(piece):
        citation = known.get(int(mark.group(1)))
        shown = _button(citation) if citation else f'<span class="invented" title="No such source">[{mark[1]}]</span>'
        parts.append(text(piece[at : mark.start()]))
        parts.append(f'<span class="keep">{shown}{text(mark.group(2))}</span>')
        at = mark.end()
    parts.append(text(piece[at:]))
    return "".join(parts)


def _button(citation: Citation) -> str:
    web = " web" if citation.origin == "external" else ""
    return (
        f'<button class="cite{web}" data-pick="cite:{citation.number}" '
        f'title="{text(_place(citation))}" aria-label="Source {citation.number}: {text(_place(citation))}">'
        f"{citation.number}</button>"
    )


def _place(citation: Citation) -> str:
    return f"{citation.source}, page {citation.page}" if citation.page else citation.source


def _label(whole: Answer, trace: Trace) -> str:
    """What kind of answer this is, said openly."""
    tags, notes = [], []
    if whole.by == "extractive":
        tags.append("Extractive")
        notes.append("quoted sentences, no language model")
    else:
        notes.append(f"written by {maker(whole.by)}")
    if whole.abstained:
        tags.append("No answer found")
        notes = ["nothing found supports an answer, so none is given"]
    origins = {citation.origin for citation in whole.citations}
    if "external" in origins:
        tags.append("With web sources" if "internal" in origins else "From the web alone")
    shown = " ".join(f'<span class="tag{" web" if "web" in tag else ""}">{text(tag)}</span>' for tag in tags)
    lines = [f"{shown} {text('; '.join(notes))}", *_unsure(whole, trace), *_faithfulness(trace)]
    return "".join(f'<p class="small">{line}</p>' for line in lines)


def _unsure(whole: Answer, trace: Trace) -> list[str]:
    """That the answer stands on weak ground, and why."""
    if not whole.low_confidence or whole.abstained:
        return []
    if trace.action is Action.INCORRECT and not trace.kept("external"):
        why = "the chunks were graded as not answering, and nothing from the web helps"
    elif all(strip.score is None for strip in trace.kept()):
        why = "nothing that it rests on was graded"
    else:
        why = "the best text that it rests on was scored below the upper threshold"
    return [f'<span class="tag">Low confidence</span> {why}']


def _faithfulness(trace: Trace) -> list[str]:
    """The share of sentences that what they cite supports, as a figure and in words."""
    if not trace.checks:
        return []
    supported = sum(1 for check in trace.checks if check.supported)
    checkable = sum(1 for check in trace.checks if check.supported is not None)
    if trace.faithfulness is None:
        return ["Faithfulness unknown: no sentence could be checked"]
    left = len(trace.checks) - checkable
    more = f"; {left} could not be checked" if left else ""
    of = words.count(checkable, "sentence")
    return [f"<b>Faithfulness {trace.faithfulness:.0%}</b>: {supported} of {of} supported by what they cite{more}"]


def sources(trace: Trace, opened: int | None = None, notes: Mapping[int, str] | None = None) -> str:
    """The numbered sources; each opens its page. `notes`: what a comparison says of them, by number."""
    if trace.answer is None or not trace.answer.citations:
        return ""
    items = []
    for citation in trace.answer.citations:
        mark = '<span class="tag web">WEB</span> ' if citation.origin == "external" else ""
        page = f'<span class="page">p. {citation.page}</span>' if citation.page else ""
        note = (notes or {}).get(citation.number, "")
        noted = f'<span></span><span class="notes"><span class="tag only">{text(note)}</span></span>' if note else ""
        items.append(
            f'<li><button data-pick="cite:{citation.number}" class="{"open" if opened == citation.number else ""}">'
            f'<span class="n num">{citation.number}</span>'
            f'<span class="where">{mark}{page}<span class="name">{text(citation.source)}</span></span>'
            f'{noted}<span></span><span class="quote">{text(citation.quote)}</span></button></li>'
        )
    return f'<div class="cx"><h3>Sources</h3><ol class="sources">{"".join(items)}</ol></div>'
