"""Uploads that the end of the program cut off: which of their files are in the library, and which to add again."""

from __future__ import annotations

from datetime import datetime

import streamlit as st

from crag.storage.runs import InFlightJob
from ui.app.clicks import requires
from ui.app.session import Session
from ui.components import problems, words
from ui.components.safe_text import markdown

_NAMED = 20
"""So many files are named at once; the others on demand."""


def show(session: Session) -> None:
    """One notice for each, until a person has closed it; nothing where nothing was cut off."""
    with problems.reported():
        found = [work for work in session.library.in_flight.cut_off() if work.kind == "upload"]
        added = {each.name: each.added_at for each in session.library.documents.all()} if found else {}
        for work in found:
            began = datetime.fromisoformat(work.at)
            there = {name for name in work.names if name in added and datetime.fromisoformat(added[name]) >= began}
            _notice(session, work, [name for name in work.names if name not in there])


def _notice(session: Session, work: InFlightJob, missing: list[str]) -> None:
    many, what = len(work.names), f"**CRAG Explorer stopped while working on {markdown(work.label)}**"
    if not many:
        said = f"{what}, {words.ago(work.at)}. What was stored before is unchanged. Start it again if you need it."
    elif not missing:
        said = f"{what}, {words.ago(work.at)}. {'It was' if many == 1 else f'All {many:,} were'} stored by then."
    else:
        stored = f"{many - len(missing):,} of {words.count(many, 'file')}"
        said = f"{what}, {words.ago(work.at)}. Stored by then: {stored}. Add again:"
    with st.container(key=f"cut-off-{work.id}"):
        st.warning(f"{said} {', '.join(markdown(name) for name in missing[:_NAMED])}".strip())
        if len(missing) > _NAMED:
            with st.expander(f"{len(missing) - _NAMED:,} more"):
                st.caption(", ".join(markdown(name) for name in missing[_NAMED:]))
        if session.may("edit"):
            st.button(
                "Close", key=f"close-cut-off-{work.id}", type="tertiary", on_click=_close, args=(session, work.id)
            )


@requires("edit")
def _close(session: Session, id: str) -> None:
    session.library.in_flight.finish(id)
