"""Which documents and tags the next question is asked of: chosen above the question, and named there."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from crag.core.filters.where import Scope
from crag.core.metadata import tags_of
from crag.export.html import words
from crag.export.html.safe_text import excerpt, markdown
from ui.app import tab
from ui.app.session import Session
from ui.components import problems

_MOST = 100
_DOCUMENTS, _TAGS = "scope-chosen", "scope-chosen-tags"


def control(session: Session) -> None:
    """The choice, and what was chosen; nothing where there is only one document to ask."""
    with problems.reported():
        scope, names = _there(session)
        gone = tab.runs().gone
        if not scope and session.library.documents.count() < 2 and not gone:
            return
        _control(session, scope, names)
        if gone:
            rest = "Only the others are searched." if scope else "Questions now search all documents."
            st.warning(f"{words.count(gone, 'document')} that you chose can no longer be found. {rest}")


def _control(session: Session, scope: Scope, names: dict[str, str]) -> None:
    with st.container(key="scope", horizontal=True, gap="small", vertical_alignment="center"):
        label = f"Asked of: {_named(scope, names)}" if scope else "All documents"
        choice = st.popover(markdown(label), key="scope-choice", on_change="rerun")
        if choice.open:
            with choice:
                _choose(session, scope)
        if scope:
            st.button("Ask all", key="scope-clear", type="tertiary", on_click=_limit, args=(session, Scope()))


def _there(session: Session) -> tuple[Scope, dict[str, str]]:
    """The scope without documents that were deleted since, which is noted, and the names of those that are there."""
    scope = session.scope
    names = session.library.documents.names(scope.documents) if scope.documents else {}
    left = tuple(id for id in scope.documents if id in names)
    if left != scope.documents:
        tab.runs().gone = len(scope.documents) - len(left)
        scope = replace(scope, documents=left)
        session.limit(scope)
    return scope, names


def _named(scope: Scope, names: dict[str, str]) -> str:
    """What was chosen, in few words."""
    documents = [excerpt(names[id], 40) for id in scope.documents]
    said = documents if len(documents) == 1 else [words.count(len(documents), "document")] if documents else []
    tags = [f"tag {tag}" for tag in scope.tags]
    return ", ".join([*said, *tags])


def _choose(session: Session, scope: Scope) -> None:
    names = session.library.documents.names()
    tags = {tag for given in session.library.documents.given().values() for tag in tags_of(given)}
    st.session_state[_DOCUMENTS] = list(scope.documents)
    st.session_state[_TAGS] = [tag for tag in scope.tags if tag in tags]
    st.multiselect(
        "Documents",
        list(names),
        format_func=names.__getitem__,
        key=_DOCUMENTS,
        placeholder="All documents",
        max_selections=_MOST,
        on_change=_chosen,
        args=(session,),
    )
    if tags:
        st.multiselect(
            "And all documents with a tag",
            sorted(tags, key=str.casefold),
            key=_TAGS,
            placeholder="No tag",
            on_change=_chosen,
            args=(session,),
        )
    st.caption("The next questions search only these. With nothing chosen, they search all documents.")


def _chosen(session: Session) -> None:
    tags = st.session_state.get(_TAGS, ())
    _limit(session, Scope(tuple(st.session_state[_DOCUMENTS]), tuple(tags)))


def _limit(session: Session, scope: Scope) -> None:
    tab.runs().gone = 0
    session.limit(scope)
