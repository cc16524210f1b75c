"""The fields that a person gives one document, which filters ask for: read, and changed."""

from __future__ import annotations

import streamlit as st

from crag.core.metadata import Fields, read_field, written_field
from crag.core.types import Document
from ui.app.session import Session
from ui.components import problems

HELP = (
    "One a line: name=value. Lists with commas, dates as 2024-03-01, true or false. "
    "A filter in Settings may then say: verified and tags has report."
)
_EXAMPLE = "tags=report, 2024\nverified=true\ndate=2024-03-01"


def edit(session: Session, document: Document, given: Fields) -> None:
    """A panel with the fields that were given as text; what is taken out of it is taken from the document."""
    with st.popover("Fields"):
        text = "\n".join(written_field(name, value) for name, value in given.items())
        key = f"fields-{document.id}"
        typed = st.text_area("Fields of this document", text, key=key, help=HELP, placeholder=_EXAMPLE, height=140)
        if st.button("Save fields", key=f"save-{key}", type="primary"):
            with problems.reported():
                read = dict(read_field(each) for each in typed.splitlines() if each.strip())
                session.require("edit")
                session.library.documents.describe(document.id, {**dict.fromkeys(given), **read})
                st.rerun()
