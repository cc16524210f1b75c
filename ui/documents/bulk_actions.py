"""What is done with all selected documents at once: asked, given fields, deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from crag.core.filters import Scope
from crag.core.metadata import Fields, Value, checked_fields, read_field
from crag.export.html import words
from crag.export.html.safe_text import markdown, visible
from ui.app import clicks, navigation
from ui.app.session import Session
from ui.components import problems
from ui.documents import table, uploads
from ui.documents.listing import Held
from ui.documents.state import state

_NAMED = 8
"""So many of the documents to be deleted are named."""
_FIELDS = (
    "One per line: name=value. A value is text, a list with commas, a date such as 2024-03-01, true or false. "
    "Filters in Settings can then use it: verified and tags has report."
)
_VERIFIED: Mapping[str, bool | None] = {"Unchanged": None, "Verified": True, "Not verified": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What changes in the fields of every selected document; a field that is not named stays as it is.

    `others`: by name; None takes a field away.
    """

    add: Sequence[str] = ()
    remove: Sequence[str] = ()
    others: Mapping[str, Value | None] = field(default_factory=dict)

    def of(self, given: Fields) -> dict[str, Value | None]:
        """What changes for a document that was given these. Raises InputError where that is too much for it."""
        changed = dict(self.others)
        if self.add or self.remove:
            before = changed.get("tags", given.get("tags")) or ()
            kept = [tag for tag in (before if isinstance(before, tuple) else ()) if tag not in set(self.remove)]
            changed["tags"] = tuple(dict.fromkeys([*kept, *self.add])) or None
        checked_fields({name: value for name, value in {**given, **changed}.items() if value is not None})
        return {name: value for name, value in changed.items() if given.get(name) != value}


def bar(session: Session, selected: Sequence[Held], shown: Sequence[Held], tags: Sequence[str]) -> None:
    """What can be done with the selected rows, over the table; `tags`: those of the library. Raises CragError."""
    with st.container(horizontal=True, vertical_alignment="center"):
        if not selected:
            st.caption("Select a row to open it, or several to ask, change or delete them together.", width="content")
            if len(shown) > 1:
                every = [held.document.id for held in shown]
                st.button("Select all", key="select-all", type="tertiary", on_click=table.pick, args=(every,))
            return
        st.markdown(f"**{len(selected):,} selected**", width="content")
        if session.may("ask"):
            _ask_button(session, selected)
        if session.may("edit"):
            _edit(session, selected, tags)
            uploads.refetch_button(session, selected)
            _delete_button(session, selected)
        st.button("Deselect all", key="select-none", type="tertiary", on_click=table.pick, args=((),))


def _ask_button(session: Session, selected: Sequence[Held]) -> None:
    clicks.button(
        "Ask only this" if len(selected) == 1 else "Ask only these",
        "documents-ask",
        ask_only,
        session,
        [held.document.id for held in selected],
        type="primary",
    )


@clicks.requires("ask")
def ask_only(session: Session, ids: Sequence[str]) -> None:
    """Ask the next questions of these documents alone."""
    session.limit(Scope(tuple(ids)))
    navigation.go("ask")


def _delete_button(session: Session, selected: Sequence[Held]) -> None:
    """Asks before anything goes."""
    several = len(selected) > 1
    ids = [held.document.id for held in selected]
    chunks = words.count(sum(held.document.chunks for held in selected), "chunk")
    with st.popover("Delete documents" if several else "Delete document"):
        if several:
            st.markdown(f"Delete **{words.count(len(selected), 'document')}** with their {chunks}?")
            named = ", ".join(markdown(held.document.name) for held in selected[:_NAMED])
            left = len(selected) - _NAMED
            st.caption(f"{named} and {left:,} more." if left > 0 else f"{named}.")
        else:
            st.markdown(f"Delete **{markdown(selected[0].document.name)}** with its {chunks}?")
        if st.button("Delete", key=f"delete-{ids[0]}-{len(ids)}" if several else f"delete-{ids[0]}", type="primary"):
            with problems.reported():
                session.require("edit")
                with st.spinner("Deleting…"):
                    for held in selected:
                        session.library.documents.delete(held.document.id)
                        session.note("delete", "document", held.document.name)
                table.pick(())
                st.rerun()


def _edit(session: Session, selected: Sequence[Held], tags: Sequence[str]) -> None:
    turn = state().turns.setdefault("edit", 0)
    held = sorted({tag for each in selected for tag in each.tags}, key=str.casefold)
    with st.popover("Edit fields"), st.form(f"documents-edit-{turn}", border=False):
        plain: dict[str, Any] = {"format_func": visible, "placeholder": "None"}
        add = st.multiselect("Add tags", tags, key=f"edit-add-{turn}", accept_new_options=True, **plain)
        remove = st.multiselect("Remove tags", held, key=f"edit-remove-{turn}", **plain)
        verified = st.segmented_control(
            "Verified", list(_VERIFIED), default="Unchanged", required=True, key=f"edit-verified-{turn}"
        )
        left, right = st.columns(2)
        dated = left.text_input(
            "Date", key=f"edit-date-{turn}", placeholder="Unchanged", help="2024, 2024-03 or a day."
        )
        trusted = right.number_input(
            "Confidence", 0.0, 1.0, None, 0.05, key=f"edit-confidence-{turn}", placeholder="Unchanged"
        )
        typed = st.text_area(
            "Other fields",
            key=f"edit-others-{turn}",
            help=f"{_FIELDS} A name without a value removes the field.",
            placeholder="author=Anna Marrow\nproject=",
            height=80,
        )
        if not st.form_submit_button(f"Change {words.count(len(selected), 'document')}", type="primary"):
            return
        with problems.reported():
            others: dict[str, Value | None] = dict(read_field(each) for each in typed.splitlines() if each.strip())
            if dated.strip():
                others |= [read_field(f"date={dated}")]
            if trusted is not None:
                others["confidence"] = trusted
            if (said := _VERIFIED[verified]) is not None:
                others["verified"] = said
            with st.spinner("Changing…"):
                changed = change(session, selected, Edit(add=add, remove=remove, others=others))
            state().turns["edit"] += 1
            st.toast(f"{words.count(changed, 'document')} changed.")
            st.rerun()


def change(session: Session, selected: Sequence[Held], edit: Edit) -> int:
    """Make the change in all of them, or, where one can't have it, in none; how many it changed. Raises CragError."""
    session.require("edit")
    changes = {held.document.id: edit.of(held.given) for held in selected}
    wanted = {id: changed for id, changed in changes.items() if changed}
    for id, changed in wanted.items():
        session.library.documents.describe(id, changed)
    return len(wanted)
