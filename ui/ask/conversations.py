"""The conversations of a library, in the sidebar: listed by day, searched, renamed, deleted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import groupby

import streamlit as st

from crag.core.errors import InputError
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.answer import SIGNS
from crag.export.html.elements import Html
from crag.messages.answers import STATES, origin_text, origin_word
from crag.pipeline.libraries import close_interrupted_runs
from crag.storage.conversations import LONGEST_TITLE, Conversation
from ui.app import clicks, tab, undo
from ui.app.session import Session
from ui.components import problems
from ui.components.drawing import draw

_LISTED = 30
"""So many are listed, and so many more with each click."""
_WANTED = "past-search"


def show(session: Session) -> None:
    """The list, with the conversation on the page marked; a click opens it. Raises CragError."""
    close_interrupted_runs(session.library)
    wanted, most = str(st.session_state.get(_WANTED) or "").strip(), _LISTED + tab.runs().past
    found = session.library.conversations.latest(most + 1, wanted)
    if not found and not wanted:
        return
    st.text_input("Search conversations", key=_WANTED, placeholder="Search conversations", label_visibility="collapsed")
    here = (selected := tab.runs().selected) and (session.conversation_of(selected) or selected)
    days = groupby(found[:most], lambda each: _day(each.started_at))
    draw(h.div("cx")[_listed(days, here, edits=session.may("edit"))])
    if not found:
        st.caption("No conversation has this in its name or in a question.")
    if len(found) > most:
        st.button("Show more", key="past-more", type="tertiary", on_click=clicks.once(_widen))
    managed, tab.runs().managed = tab.runs().managed, ""
    for each in (each for each in found if each.run == managed):
        manage(session, each)


def _listed(days: Iterator[tuple[str, Iterator[Conversation]]], here: str | None, *, edits: bool) -> list[Html]:
    return [
        h.fragment(
            h.p("small", id=f"past-{place}")[day],
            h.ul("past", aria_labelledby=f"past-{place}")[[_line(each, here, edits=edits) for each in talks]],
        )
        for place, (day, talks) in enumerate(days)
    ]


def _line(each: Conversation, here: str | None, *, edits: bool) -> Html:
    parts = (STATES[each.outcome], words.ago(each.started_at), origin_text(each.via))
    current = "true" if here in (each.id, each.run) and here else None
    sign = h.span("sign quiet", aria_hidden="true")[SIGNS.get(each.outcome, "·")]
    via = (word := origin_word(each.via)) and (" ", h.span("tag")[word])
    said = h.span("asked", dir="auto")[each.title]
    opener = h.button(data_pick=f"run:{each.run}", title=", ".join(filter(None, parts)), aria_current=current)
    more = h.button("dots quiet", data_pick=f"manage:{each.run}", aria_label=f"Rename or delete “{each.title}”")["⋯"]
    return h.li[opener[sign, said, via], edits and more]


def _day(moment: str) -> str:
    """The day of an ISO 8601 time where the browser is."""
    here = timedelta(minutes=-(st.context.timezone_offset or 0))
    try:
        day = (datetime.fromisoformat(moment).astimezone(UTC) + here).date()
    except ValueError:
        return "Earlier"
    today = (datetime.now(UTC) + here).date()
    named = {today: "Today", today - timedelta(days=1): "Yesterday"}
    return named.get(day) or f"{day.day} {day:%B}{'' if day.year == today.year else f' {day.year}'}"


def _widen() -> None:
    tab.runs().past += _LISTED


def manage(session: Session, each: Conversation) -> None:
    """The dialog in which a conversation is renamed or deleted."""
    st.dialog("Rename or delete")(panel)(session, each)


def panel(session: Session, each: Conversation) -> None:
    """Its content."""
    with problems.reported():
        title = st.text_input("Name", each.title[:LONGEST_TITLE], LONGEST_TITLE, key=f"past-name-{each.run}")
        with st.container(horizontal=True):
            if st.button("Save name", key="past-rename", type="primary"):
                _rename(session, each, title)
                st.rerun()
            if st.button("Delete", key="past-delete"):
                _delete(session, each)
                st.rerun()


def _rename(session: Session, each: Conversation, title: str) -> None:
    session.require("edit")
    if each.id:
        session.library.conversations.rename(each.id, title)
    else:
        session.library.conversations.create(title, [each.run])


def _delete(session: Session, each: Conversation) -> None:
    session.require("edit")
    if each.id and session.under_way(each.id):
        raise InputError("A question of this conversation is being answered.", "Stop it or wait, then delete.")
    gone = session.library.conversations.delete(each.id) if each.id else session.library.runs.delete(each.run)
    session.note("delete", "conversation" if each.id else "run", each.id or each.run)
    undo.hold(session, each.title, gone)


@clicks.requires("edit")
def delete_run(session: Session, run: str) -> None:
    """Delete a run, for good after half a minute."""
    asked = session.trace(run).question
    gone = session.library.runs.delete(run)
    session.note("delete", "run", run)
    undo.hold(session, asked, gone)
