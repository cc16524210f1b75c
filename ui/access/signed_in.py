"""Who is there, where people sign in: asked for each run of the script, and by whatever does something."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import streamlit as st

from crag.admin.people import Person
from crag.core.errors import AccessError
from crag.engine import Engine
from ui.access import oidc
from ui.access.verified import COOKIE, sign_ins
from ui.access.visitor import Seen, state

_KEPT = 2.0
"""Seconds that an answer is kept: after which a person who was removed can do nothing more."""


class RunningProgram(Protocol):
    """What access asks of the program that runs.

    `who` says who is there, for a program that embeds the app and signs people in itself; None: Streamlit's way.
    """

    @property
    def engine(self) -> Engine: ...
    @property
    def who(self) -> Callable[[], Person | None] | None: ...


def person(program: RunningProgram, *, now: bool = False) -> Person | None:
    """The person who signed in in this browser session; None where nobody has to.

    With `now` it is asked at this moment: for who is about to change something. Raises AccessError where nobody has
    signed in, or who has may not come in (any more), and StorageError.
    """
    if now:
        state().seen = None
    if program.who is not None:
        return program.who()
    seen = _seen(program)
    return seen.person if seen else None


def unverified() -> str:
    """The e-mail of who is here that gives them nothing, because their provider does not confirm it; "" for none."""
    seen = state().seen
    return seen.signed.identity.unverified if seen is not None else ""


def _seen(program: RunningProgram) -> Seen | None:
    sign_in = oidc.configured()
    if sign_in is None:
        return None
    if sign_in.problem:
        raise AccessError("Sign-in is not set up correctly, so nobody is let in.", "Ask your administrator.")
    own = state()
    seen = own.seen
    if seen is not None and time.monotonic() - seen.at < _KEPT and time.time() < seen.signed.ends and arrived():
        return seen
    own.seen = None
    if not arrived():
        if COOKIE in st.context.cookies and not own.left:
            _refuse(program, "visitor", "a cookie that is forged, too old, or of another address")
        raise AccessError("Nobody has signed in.", "Sign in.")
    engine = program.engine
    try:
        config = engine.config
        signed = oidc.signed(st.user.to_dict(), sign_in, config.people.signin_hours, config.people.groups_claim)
        over = engine.teams.people.signed_out(signed.hash)
        if not over and sign_ins.ended(st.context.cookies):
            by, over = signed.identity.email or signed.identity.name or "visitor", True
            engine.teams.people.sign_out(signed.hash, signed.forgotten_at, by=by)
        if over:
            raise AccessError("You have signed out.", "Sign in again.")
    except AccessError as error:
        _refuse(program, "visitor", error.message)
        raise
    try:
        found = engine.teams.people.admit(signed.identity, new_sign_in=over is None)
    except AccessError as error:
        _refuse(program, signed.identity.email or signed.identity.name or "visitor", error.message)
        raise
    if over is None:
        engine.teams.people.note_sign_in(signed.hash, signed.forgotten_at, by=found.called)
    sign_ins.note(st.context.cookies, st.user.to_dict())
    own.seen, own.refusal = Seen(person=found, signed=signed, at=time.monotonic()), ""
    return own.seen


def arrived() -> bool:
    """Whether the browser came with what a provider said, whatever that is worth."""
    return bool(st.user.to_dict().get("is_logged_in"))


def account() -> str:
    """Which account of the provider that is, in its words; empty where they say none."""
    said = st.user.to_dict()
    found = next((said[name] for name in ("email", "preferred_username", "name") if said.get(name)), "")
    return found[:200] if isinstance(found, str) else ""


def leave(program: RunningProgram) -> None:
    """Sign out: here, in other tabs, and wherever the cookie was copied to; then at the provider, if it can."""
    seen = state().seen
    if seen is not None:
        program.engine.teams.people.sign_out(seen.signed.hash, seen.signed.forgotten_at, by=seen.person.called)
    st.session_state.clear()
    state().left = True
    st.logout()


def _refuse(program: RunningProgram, who: str, why: str) -> None:
    """Notes it, once for each session and reason."""
    if state().refusal != why:
        state().refusal = why
        program.engine.teams.audit.note("refused", who, what="sign-in", detail=why, refused=True)
