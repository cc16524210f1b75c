"""Why a page or sentence is not in the answer of the run that is shown, asked in a dialog."""

from __future__ import annotations

import streamlit as st

from crag.analysis.misses import Fate, Miss, Wanted, explain_miss
from crag.core.trace import Trace
from crag.export.html.safe_text import excerpt, markdown
from crag.messages.explanations import change_sentence, miss_sentence, missing_sentence
from ui.app import tab, tables
from ui.app.session import Session
from ui.compare import state
from ui.components import problems

_SHOWN = 5
"""Chunks that are listed."""


def button(session: Session, trace: Trace) -> None:
    """The button that opens the dialog."""
    if st.button("Why not…", key="why-not", help="Says why a page or sentence is not in this answer."):
        tab.runs().miss = None
        st.dialog("Why is it not in the answer?", width="medium")(panel)(session, trace)


def panel(session: Session, trace: Trace) -> None:
    """The form, and how far the page or sentence came."""
    with problems.reported():
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
        rows = [_row(fate) for fate in miss.fates[:_SHOWN]]
        known = [name for name in rows[0] if any(row[name] not in (None, "") for row in rows)]
        shown = [{name: row[name] for name in known} for row in rows]
        score = {"Score": st.column_config.NumberColumn(format="%.2f")}
        tables.plain(shown, "why-not-fates", "How far it came", score)
    if (change := miss.change) is not None:
        state.try_button(session, trace, "why-not-try", change.settings)


def _row(fate: Fate) -> dict[str, object]:
    kept = sum(strip.kept for strip in fate.strips)
    return {
        "Where": fate.chunk.where,
        "Came to": fate.stage,
        "Rank": fate.rank or fate.ranks.together,
        "By meaning": fate.ranks.meaning,
        "By words": fate.ranks.words,
        "Score": fate.grade.score if fate.grade is not None else None,
        "Strips kept": f"{kept} of {len(fate.strips)}" if fate.strips else "",
        "Text": excerpt(fate.chunk.text, 120),
    }
