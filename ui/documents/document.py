"""One document by itself: what is known of it, its pages with the chunks marked, all its chunks, its tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from crag.core.metadata import written_field
from ui.app.session import Session
from ui.components import html as h
from ui.components import words
from ui.components.drawing import draw
from ui.components.html import Html
from ui.components.safe_text import markdown
from ui.documents import contents, page_browser
from ui.documents.listing import Held

_VIEWS: Mapping[str, tuple[str, Callable[[Session, Held], None]]] = {
    "pages": ("Pages", page_browser.show),
    "chunks": ("Chunks", contents.chunks),
    "tables": ("Tables", contents.tables),
}


def show(session: Session, held: Held) -> None:
    """Raises CragError."""
    st.subheader(markdown(held.document.name), anchor=False)
    draw(_facts(held))
    view = st.segmented_control(
        "What to look at",
        list(_VIEWS),
        default="pages",
        required=True,
        format_func=lambda name: _VIEWS[name][0],
        key=contents.VIEW,
        persist_state="session",
        label_visibility="collapsed",
    )
    _VIEWS[view][1](session, held)


def _fetched(held: Held) -> str:
    """Of a web page: when it was had, and when its address was looked at, where that is not the same."""
    document = held.document
    facts = [
        document.fetched_at and f"fetched {words.ago(document.fetched_at)}",
        document.looked_at != document.fetched_at and f"looked at {words.ago(document.looked_at)}",
        document.published and f"published {document.published}",
    ]
    return "".join(f", {each}" for each in facts if each)


def _facts(held: Held) -> Html:
    document = held.document
    facts = [
        words.kind(held.kind),
        words.count(document.pages, "page"),
        words.count(document.chunks, "chunk"),
        words.format_size(document.size),
        f"added {words.ago(document.added_at)}, in {words.format_duration(document.seconds)}",
        f"cited in answers to {words.count(held.cited, 'question')}",
        f"indexed by {document.model}",
    ]
    given = [h.span("tag")[written_field(name, value)] for name, value in held.given.items()]
    address = document.url and h.a(href=document.url, target="_blank", rel="noopener noreferrer")[document.url]
    return h.div("cx facts-of")[
        h.b[document.title],
        h.div("figures")[[h.span[each] for each in facts]],
        address and h.div("small")[address, _fetched(held)],
        given and h.div("given")[h.joined(" ", given)],
        [h.p("note")[each] for each in held.problems],
    ]
