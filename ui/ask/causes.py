"""Why a run ended as it did: what a score rests on, and where a page was lost."""

from __future__ import annotations

import math
from collections.abc import Sequence

import streamlit as st

from crag.analysis.causes import (
    GradeExplanation,
    Occlusion,
    explain_grade,
)
from crag.analysis.stages.miss import Fate, Miss, Wanted, explain_miss
from crag.core.trace import Trace
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.elements import Html
from crag.export.html.passage import annotate
from crag.export.html.safe_text import excerpt, markdown
from crag.messages.explanations import (
    LEAST,
    change_sentence,
    grade_sentences,
    miss_sentence,
    missing_sentence,
    part_text,
    untried_sentence,
)
from crag.text.formats import format_score
from ui.app import tab, tables
from ui.app.program import program
from ui.app.session import Session
from ui.compare import state
from ui.components import problems
from ui.components.drawing import draw

_CHUNK = "why-chunk"
"""The key of what is chosen."""
_LEGEND = (
    "Shaded: without it the score falls; the darker, the more. Dotted line: without it the score rises. Unmarked: it "
    "changes by less than 0.01."
)


def button(session: Session, trace: Trace) -> None:
    """The button that opens the dialog; a click on a chunk's score opens it too."""
    pressed = st.button("Why this answer?", key="why", help="What the score of each passage rests on.")
    if choose(tab.runs()) or pressed:
        st.dialog("Why this answer?", width="large")(panel)(session, trace)


def choose(runs: tab.RunsState) -> bool:
    """Whether a chunk was clicked, whose score is explained then."""
    chunk, runs.why = runs.why, ""
    if chunk:
        st.session_state[_CHUNK] = chunk
    return bool(chunk)


def _chunks(trace: Trace) -> dict[str, str]:
    """The chunks that are acted on, by id, each as a person chooses it."""
    here = trace.round
    names = {}
    for place, found in enumerate(here.chunks if here is not None else (), 1):
        grade = trace.grade_of(found.chunk.id)
        score = format_score(grade.score) if grade is not None and grade.score is not None else ""
        parts = (str(place), words.place(found.chunk) or excerpt(found.chunk.source, 30), score)
        names[found.chunk.id] = " · ".join(filter(None, parts))
    return names


def panel(session: Session, trace: Trace) -> None:
    """A chunk, and what its score rests on."""
    with problems.reported():
        session.trace(trace.run_id)  # a tab that was left open shows nothing of a run that was deleted
        _score(session, trace)


def _score(session: Session, trace: Trace) -> None:
    names = _chunks(trace)
    if not names:
        st.markdown("The run retrieved nothing.")
        return
    if st.session_state.get(_CHUNK) not in names:
        deciding = trace.decision.deciding_id if trace.decision is not None else None
        st.session_state[_CHUNK] = deciding if deciding in names else next(iter(names))
    id = st.selectbox("Chunk", list(names), format_func=names.__getitem__, key=_CHUNK)
    found = explain_grade(program().engine, session.library, trace, id)
    lead, *rest = grade_sentences(found)
    draw(h.div("cx")[h.p[h.b[lead]], h.ul[(h.li[each] for each in rest)] if rest else ""])
    if found.words or found.sentences:
        draw(_shaded(found))
        st.caption(_LEGEND)
    if untried := untried_sentence(found):
        st.caption(markdown(untried))
    if found.words or found.sentences or found.parts:
        with st.expander("Numbers"):
            _numbers(found)


def _shaded(found: GradeExplanation) -> Html:
    """The question's words and the chunk's sentences, each shaded by the share of the score that is lost without it."""
    return h.div("cx")[
        h.h3["Question"],
        _parts(found, found.question, found.words),
        h.h3["Chunk"],
        _parts(found, found.chunk.text, found.sentences),
    ]


def _parts(found: GradeExplanation, text: str, occluded: Sequence[Occlusion]) -> Html:
    spans = sorted((start, end, place) for place, each in enumerate(occluded) for start, end in each.spans)

    def drawn(place: int, inside: Html, start: int, end: int) -> Html:
        score, whole = occluded[place].score, found.score
        if score is None or not whole:
            return inside
        falls = whole - score
        title = f"{score:.2f} without it ({-falls:+.2f})"
        if abs(falls) < LEAST:
            return h.span(title=title)[inside]
        # The root, so that what takes a tenth of the score is seen beside what takes all of it.
        style = f"--share:{math.sqrt(falls / whole):.2f}" if falls > 0 else None
        return h.span("adds" if falls > 0 else "takes", style=style, title=title)[inside]

    return h.div("text")[annotate(text, (spans, drawn))]


def _numbers(found: GradeExplanation) -> None:
    rows = [_row(found, "Word", found.question, each) for each in found.words]
    rows += [_row(found, "Sentence", found.chunk.text, each) for each in found.sentences]
    if found.untitled is not None:
        title = Occlusion(spans=((0, len(found.chunk.context)),), score=found.untitled)
        rows.append(_row(found, "Title", found.chunk.context, title))
    number = st.column_config.NumberColumn
    columns = {
        "Score": number(format="%.2f", width=70),
        "Change": number(format="%+.2f", width=70),
        "Without": st.column_config.TextColumn(width="large"),
    }
    st.dataframe(rows, hide_index=True, column_config=columns)
    if found.parts:
        score = format_score(found.score or 0.0)
        st.caption(
            f"The layers of the score: together they make log-odds of {found.log_odds:+.2f}, a score of {score}."
        )
        layers = [
            {
                "Layer": markdown(part_text(part)),
                "Reading": "" if part.value is None else f"{part.value:.2f}",
                "Adds": f"{part.adds:+.2f}",
            }
            for part in found.parts
        ]
        st.table(layers, border="horizontal", hide_index=True)


def _row(found: GradeExplanation, kind: str, text: str, part: Occlusion) -> dict[str, object]:
    start, end = part.spans[0]
    change = part.score - found.score if part.score is not None and found.score is not None else None
    return {"Score": part.score, "Change": change, "Without": f"{kind}: {excerpt(text[start:end], 120)}"}


_SHOWN = 5
"""Chunks that are listed."""


def miss_button(session: Session, trace: Trace) -> None:
    """The button that opens the dialog."""
    if st.button("Why is a page missing?", key="why-not", help="Says where a page or sentence was lost."):
        tab.runs().miss = None
        st.dialog("Why is it not in the answer?", width="medium")(miss_panel)(session, trace)


def miss_panel(session: Session, trace: Trace) -> None:
    """The form, and how far the page or sentence came."""
    with problems.reported():
        session.trace(trace.run_id)
        names = session.library.documents.names()
        with st.form("why-not-form", border=False):
            left, right = st.columns([4, 1])
            document = left.selectbox(
                "Document",
                list(names),
                index=0 if len(names) == 1 else None,
                format_func=lambda id: names.get(id, id),
                placeholder="All documents",
            )
            page = right.number_input("Page", min_value=1, value=None, step=1)
            text = st.text_area("Or a sentence, word for word", height=80, max_chars=2_000)
            asked = st.form_submit_button("Explain", type="primary")
        if asked:
            wanted = Wanted(document=document or "", page=int(page) if page else None, text=text)
            tab.runs().miss = explain_miss(session.library, trace, wanted)
        if (found := tab.runs().miss) is not None:
            _show(session, trace, found)


def _show(session: Session, trace: Trace, miss: Miss) -> None:
    st.markdown(f"**{markdown(miss_sentence(miss))}**")
    lines = [change_sentence(miss), missing_sentence(miss) if miss.fates else ""]
    for line in filter(None, lines):
        st.markdown(markdown(line))
    if miss.fates:
        rows = [_miss_row(fate) for fate in miss.fates[:_SHOWN]]
        known = [name for name in rows[0] if any(row[name] not in (None, "") for row in rows)]
        shown = [{name: row[name] for name in known} for row in rows]
        score = {"Score": st.column_config.NumberColumn(format="%.2f")}
        tables.plain(shown, "why-not-fates", "How far it came", score)
    if (change := miss.change) is not None:
        state.try_button(session, trace, "why-not-try", change.settings)


def _miss_row(fate: Fate) -> dict[str, object]:
    kept = sum(strip.kept for strip in fate.strips)
    return {
        "Where": fate.chunk.where,
        "Came to": fate.stage,
        "Rank": fate.rank or fate.now,
        "Score": fate.score,
        "Strips kept": f"{kept} of {len(fate.strips)}" if fate.strips else "",
        "Text": excerpt(fate.chunk.text, 120),
    }
