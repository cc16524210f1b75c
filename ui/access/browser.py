"""A browser's own cookie: it tells one browser from others, says nothing of a person, and no script can read it."""

from __future__ import annotations

import re
import secrets

import streamlit as st
from starlette.requests import cookie_parser

from ui.access.visitor import state

COOKIE = "crag_browser"
_YEAR = 365 * 86_400
_VALUE = re.compile(r"[A-Za-z0-9_-]{32}")


def cookie(sent: str, *, path: str, framed: bool) -> str:
    """What to tell a browser that sent these cookies, so that it is known again; "" where it is."""
    if named(sent):
        return ""
    kind = "SameSite=None; Secure; Partitioned" if framed else "SameSite=Lax"
    return f"{COOKIE}={secrets.token_urlsafe(24)}; Path={path or '/'}; Max-Age={_YEAR}; HttpOnly; {kind}"


def named(sent: str) -> str:
    """The browser that sent these cookies; "" where they name none."""
    found = cookie_parser(sent).get(COOKIE, "")
    return found if _VALUE.fullmatch(found) else ""


def of_tab() -> str:
    """The browser of the tab whose script runs; "" for one that keeps no cookies."""
    # The tab may have lost its connection for a moment, and with it what its browser said.
    if (said := st.context.cookies.get(COOKIE)) is not None:
        state().browser = said
    return state().browser
