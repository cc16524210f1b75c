"""Who is there, at the top of every page: name, role, and the way out."""

from __future__ import annotations

import streamlit as st

from crag.admin.people import Person
from ui.access import signed_in
from ui.app import guide
from ui.components import drawing
from ui.components import html as h
from ui.components.safe_text import markdown

_LONGEST = 22


def show(person: Person) -> None:
    """A button with the name; it opens what there is to know, and the way out."""
    name = person.name or person.called
    notice = guide.unverified()
    short = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
    with st.container(key="who"), st.popover(markdown(short), key="who-menu", help=None):
        drawing.draw(
            h.div("cx who")[
                h.p[h.b[name]],
                h.p("quiet")[person.email] if person.email and person.email != name else None,
                h.p("small")[h.b[person.role], ". ", guide.MEANS[person.role]],
                notice and h.div("small note")[notice],
            ]
        )
        st.button("Sign out", key="sign-out", on_click=signed_in.leave, width="stretch")
