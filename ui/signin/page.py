"""Where people sign in: the page before all others, and who is there, at the top of every page."""

from __future__ import annotations

from urllib.parse import urlsplit

import streamlit as st

from crag.admin.people import Person
from crag.core.errors import AccessError, CragError
from crag.export.html import elements as h
from crag.export.html.safe_text import markdown
from ui.access import oidc, signed_in
from ui.access.oidc import NO_AUTHLIB, SignIn
from ui.app import guide
from ui.app.program import program
from ui.components import drawing, problems

_LONGEST = 22
"""Characters of a name that the button shows."""
_WIDE = 375
"""Pixels of the form."""
_ASKED = (
    "CRAG Explorer asks the provider for your name, your e-mail and your groups, and nothing else. Your password stays "
    "with the provider; a cookie in this browser keeps you signed in."
)


def who_is_there() -> CragError | Person | None:
    """The person who signed in, None where nobody has to, or why nobody may come in."""
    try:
        return signed_in.person(program())
    except CragError as error:
        return error


def show(why: CragError) -> None:
    """The page, for who is not in: nothing of any library is on it."""
    sign_in = oidc.configured()
    if sign_in is None:
        return
    with st.container(horizontal_alignment="center"), st.container(key="signin", width=_WIDE):
        st.title("CRAG Explorer", anchor=False, text_alignment="center")
        st.caption(
            "Answers from your documents, checked and cited. Sign in to see your library.", text_alignment="center"
        )
        if sign_in.problem:
            _unready(sign_in)
            return
        if elsewhere := _elsewhere(sign_in):
            st.info(markdown(f"Sign-in works only at {elsewhere}. Open the app there."))
            return
        if not isinstance(why, AccessError):
            problems.show(why)
            return
        if signed_in.arrived():
            st.warning(f"**{markdown(why.message)}**  \n{markdown(why.remedy)}")
            if account := signed_in.account():
                st.caption(markdown(f"The provider says that you are {account}."), text_alignment="center")
        for each in sign_in.providers:
            label = f"Sign in with {each.title}" if each.title else "Sign in"
            key = f"signin-{each.name}"
            if st.button(markdown(label), key=key, type="primary", width="stretch"):
                _to(each)
        if signed_in.arrived():
            st.button(
                "Use another account", key="signin-leave", type="tertiary", on_click=signed_in.leave, args=(program(),)
            )
        st.caption(_ASKED)


def _to(provider: oidc.Provider) -> None:
    st.login(None if provider.name == "default" else provider.name)


def _unready(sign_in: SignIn) -> None:
    """A stranger learns that it does not work; the line itself is in the log."""
    if sign_in.problem == NO_AUTHLIB:
        st.error(markdown(NO_AUTHLIB))
        return
    st.error("**Sign-in is not set up correctly, so nobody is let in.**  \nAsk your administrator: the log says why.")


def _elsewhere(sign_in: SignIn) -> str:
    """The address at which signing in works, where this is another one: the cookie would not count here."""
    parts = urlsplit(str(st.context.url or ""))
    here = f"{parts.scheme}://{parts.netloc}"
    return sign_in.origin if parts.netloc and here != sign_in.origin else ""


def menu(person: Person) -> None:
    """A button with the name; it opens what there is to know, and the way out."""
    name = person.name or person.called
    notice = guide.unverified()
    short = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
    with st.container(key="who"), st.popover(markdown(short), key="who-menu", help=None):
        drawing.draw(
            h.div("cx")[
                h.p[h.b[name]],
                h.p("quiet")[person.email] if person.email and person.email != name else None,
                h.p("small")[h.b[person.role], ". ", guide.MEANS[person.role]],
                notice and h.div("small note")[notice],
            ]
        )
        st.button("Sign out", key="sign-out", on_click=signed_in.leave, args=(program(),), width="stretch")
