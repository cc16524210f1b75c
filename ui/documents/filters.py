"""Which documents of many the page shows, and in which order: searched for, and chosen by tag, kind and mark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from crag.export.html import words
from crag.export.html.safe_text import visible
from ui.components import forms
from ui.documents.listing import Held

_SEARCH, _TAGS, _ORDER, _MARKS = "documents-search", "documents-tags", "documents-order", "documents-marks"
_KIND = "kind:"
"""Begins the chip of a kind of document."""
_FROM = 2
"""From so many documents on there is something to choose."""

ORDERS: Mapping[str, tuple[str, Callable[[Held], Any], bool]] = {
    "newest": ("Newest first", lambda held: held.document.added_at, True),
    "oldest": ("Oldest first", lambda held: held.document.added_at, False),
    "name": ("Name", lambda held: held.document.name.casefold(), False),
    "date": ("Latest date", lambda held: held.date, True),
    "confidence": ("Least trusted", lambda held: held.confidence, False),
    "cited": ("Most cited", lambda held: held.cited, True),
    "pages": ("Most pages", lambda held: held.document.pages, True),
    "size": ("Largest", lambda held: held.document.size, True),
}
"""What each order is called, what it goes by, and whether the most comes first."""

MARKS: Mapping[str, tuple[str, Callable[[Held], bool]]] = {
    "verified": ("Verified", lambda held: held.verified),
    "unverified": ("Not verified", lambda held: not held.verified),
    "problems": ("With problems", lambda held: bool(held.problems)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A document is shown that holds every word of `search`, one of the `tags`, and meets the marks.

    Of `marks` verified and unverified are one or the other; of `kinds` any. What is empty lets all through.
    """

    search: str = ""
    tags: Collection[str] = ()
    kinds: Collection[str] = ()
    marks: Collection[str] = ()
    order: str = "newest"


def chosen(holdings: Sequence[Held], choice: Choice) -> list[Held]:
    """What is shown of them, in order; those that are alike in the order of their adding, or against it."""
    asked = choice.search.casefold().split()
    either = {"verified", "unverified"} & set(choice.marks)
    tests = [MARKS[mark][1] for mark in choice.marks if not (mark in either and len(either) == 2)]
    found = [
        held
        for held in holdings
        if all(word in held.words for word in asked)
        and (not choice.tags or not set(choice.tags).isdisjoint(held.tags))
        and (not choice.kinds or held.kind in choice.kinds)
        and all(test(held) for test in tests)
    ]
    _, key, most_first = ORDERS[choice.order]
    ordered = sorted(found, key=key)
    return ordered[::-1] if most_first else ordered


def choose(holdings: Sequence[Held]) -> Choice:
    """The choice of the person in front of the page; the widgets for it, where there is something to choose."""
    if len(holdings) < _FROM:
        return Choice()
    tags = Counter(tag for held in holdings for tag in held.tags)
    with st.container(horizontal=True, gap="small"):
        search = st.text_input(
            "Search", key=_SEARCH, placeholder="Words of name, title, tags or fields", persist_state="session"
        )
        wanted = _tags(tags) if tags else ()
        titles = {order: title for order, (title, _, _) in ORDERS.items()}
        order = forms.choice("Sort by", titles, _ORDER, width=220)
    picked = _marks(holdings)
    return Choice(
        search=search or "",
        tags=wanted,
        kinds=[mark.removeprefix(_KIND) for mark in picked if mark.startswith(_KIND)],
        marks=[mark for mark in picked if mark in MARKS],
        order=order,
    )


def _tags(tags: Counter[str]) -> Sequence[str]:
    _keep(_TAGS, tags)
    return st.multiselect(
        "Tags",
        sorted(tags, key=lambda tag: (-tags[tag], tag.casefold())),
        format_func=lambda tag: f"{visible(tag)} · {tags[tag]:,}",
        key=_TAGS,
        placeholder="Any",
        persist_state="session",
    )


def _marks(holdings: Sequence[Held]) -> Sequence[str]:
    """Chips with how many documents each would show; none that would show all or nothing."""
    counts = Counter(_KIND + held.kind for held in holdings)
    counts.update(mark for mark, (_, test) in MARKS.items() for held in holdings if test(held))
    offered = {mark: count for mark, count in sorted(counts.items()) if count < len(holdings)}
    if not offered:
        return ()
    _keep(_MARKS, offered)
    return st.pills(
        "Only",
        list(offered),
        selection_mode="multi",
        format_func=lambda mark: f"{_called(mark)} · {offered[mark]:,}",
        key=_MARKS,
        persist_state="session",
        label_visibility="collapsed",
    )


def _called(mark: str) -> str:
    return MARKS[mark][0] if mark in MARKS else words.kind(mark.removeprefix(_KIND))


def _keep(key: str, offered: Collection[str]) -> None:
    """Let go of what was chosen and is not offered any more."""
    held = st.session_state.get(key)
    if held and not set(held) <= set(offered):
        st.session_state[key] = [each for each in held if each in offered]
