"""The answer of a run, drawn from a trace: text with clickable citations, flags, sources."""

from __future__ import annotations

import re

from crag.core.trace import Trace
from crag.core.types import Answer, Citation, SentenceCheck
from ui import words
from ui.path import chip
from ui.safe import text

__all__ = ["answer", "question", "sources"]

_MARK = re.compile(r"\[(\d{1,3})\]([.,;:!?]*)")
"""A citation mark, and the punctuation that must not be torn from it at a line's end."""


def question(trace: Trace) -> str:
    """The question, and beneath it what became of it."""
    action = f"{chip(trace.action)} · " if trace.action else ""
    took = f" · {words.duration(trace.seconds)}" if trace.finished else ""
    return (
        f'<div class="cx"><div class="question">{text(trace.question)}'
        f'<div class="small">{action}{text(trace.strategy)}{took}</div></div></div>'
    )


def answer(trace: Trace) -> str:
    """The answer so far, or whole with its label; each citation mark is a button."""
    whole = trace.answer
    if whole is None:
        if trace.finished:
            return _unanswered(trace)
        cursor = '<span class="cursor"></span>' if trace.text else '<span class="quiet">Working on it…</span>'
        return f'<div class="cx"><div class="answer">{text(trace.text)}{cursor}</div></div>'
    known = {citation.number: citation for citation in whole.citations}
    body = _marked(whole.text, known, [check for check in trace.checks if check.supported is False])
    kind = "answer abstained" if whole.abstained else "answer"
    return f'<div class="cx"><div class="{kind}">{body}</div>{_label(whole, trace)}</div>'


def _unanswered(trace: Trace) -> str:
    if trace.cancelled:
        said = "Stopped. What was found until then is shown beside it."
    elif trace.failure:
        said = f"{trace.failure.message} {trace.failure.remedy}"
    else:
        said = "The run ended without an answer."
    return f'<div class="cx"><div class="answer abstained">{text(said)}</div></div>'


def _marked(whole: str, known: dict[int, Citation], unsupported: list[SentenceCheck]) -> str:
    """The text with flagged sentences underlined, then every mark turned into a button."""
    spans = sorted(
        (found, found + len(check.sentence), check)
        for check in unsupported
        if check.sentence and (found := whole.find(check.sentence)) >= 0
    )
    parts, at = [], 0
    for start, end, check in spans:
        if start < at:
            continue
        why = check.note or "No cited text supports this sentence."
        parts.append(_cited(whole[at:start], known))
        parts.append(f'<span class="flagged" title="{text(why)}">{_cited(whole[start:end], known)}</span>')
        parts.append(' <span class="tag">unsupported</span>')
        at = end
    parts.append(_cited(whole[at:], known))
    return "".join(parts)


def _cited(piece: str, known: dict[int, Citation]) -> str:
    parts, at = [], 0
    for mark in _MARK.finditer(piece):
        citation = known.get(int(mark.group(1)))
        if citation is None:
            continue
        parts.append(text(piece[at : mark.start()]))
        parts.append(f'<span class="keep">{_button(citation)}{text(mark.group(2))}</span>')
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
        notes.append(f"written by {whole.by}")
    if whole.abstained:
        tags.append("No answer found")
        notes = ["nothing found supports an answer, so none is given"]
    if whole.low_confidence:
        tags.append("Low confidence")
    origins = {citation.origin for citation in whole.citations}
    if "external" in origins:
        tags.append("With web sources" if "internal" in origins else "From the web alone")
    if trace.faithfulness is not None:
        supported = sum(1 for check in trace.checks if check.supported)
        checkable = sum(1 for check in trace.checks if check.supported is not None)
        notes.append(f"{supported} of {checkable} sentences supported by what they cite")
    shown = " ".join(f'<span class="tag{" web" if "web" in tag else ""}">{text(tag)}</span>' for tag in tags)
    return f'<p class="small">{shown} {text("; ".join(notes))}</p>'


def sources(trace: Trace, opened: int | None = None) -> str:
    """The numbered sources; each opens its page."""
    if trace.answer is None or not trace.answer.citations:
        return ""
    items = []
    for citation in trace.answer.citations:
        mark = '<span class="tag web">WEB</span> ' if citation.origin == "external" else ""
        page = f'<span class="page">p. {citation.page}</span>' if citation.page else ""
        items.append(
            f'<li><button data-pick="cite:{citation.number}" class="{"open" if opened == citation.number else ""}">'
            f'<span class="n num">{citation.number}</span>'
            f'<span class="where">{mark}{page}<span class="name">{text(citation.source)}</span></span>'
            f'<span></span><span class="quote">{text(citation.quote)}</span></button></li>'
        )
    return f'<div class="cx"><h3>Sources</h3><ol class="sources">{"".join(items)}</ol></div>'
