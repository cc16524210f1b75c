"""The edge where people sign in: how often one may try, what is noted, whose uploads are taken, and safe cookies."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs

from starlette.requests import cookie_parser
from starlette.types import Message, Scope, Send

from crag.admin.people import Person
from crag.admin.roles import may
from crag.core.errors import AccessError, CragError, StorageError
from crag.runtime.limits import Buckets
from crag.runtime.slow_clients import RefusedError
from ui.access import oidc
from ui.access.oidc import Signed, SignIn
from ui.access.verified import COOKIE, sign_ins
from ui.app.program import program
from ui.server.headers import Header, values

LOGOUT = "/auth/logout"
ROUTES = ("/auth/login", LOGOUT, "/oauth2callback")
_HERE = "Use a page of this app for that."
_A_MINUTE = 60
"""Requests to the routes above that one address may make: a sign-in is two, and each asks the provider something."""
_ERROR = re.compile(r"[a-z_]{1,40}")


class Attempts:
    """So many requests to the routes above for each address; who goes on while refused stays refused."""

    def __init__(self, rate: int = _A_MINUTE, now: Callable[[], float] = time.monotonic) -> None:
        self._buckets = Buckets(rate, now, harsh=True)

    def take(self, address: str) -> None:
        """One more of this address. Raises RefusedError where there were too many."""
        if self._buckets.take(address) > 0:
            raise RefusedError(429, "rate", "Too many sign-ins from this address.", "Try again in a minute.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signing:
    """`note` writes a refused callback into the audit log; `editor` says which cookies may send files; `ended` marks
    the sign-in of cookies as over.
    """

    sign_in: SignIn
    attempts: Attempts
    note: Callable[[str], None]
    editor: Callable[[Mapping[str, str]], bool]
    ended: Callable[[Mapping[str, str]], None]

    def check(self, scope: Scope, path: str) -> None:
        """Raises RefusedError for a request to the routes of sign-in that another site led here, or of too many."""
        if path != "/oauth2callback" and values(scope, b"sec-fetch-site") == ["cross-site"]:
            raise RefusedError(403, "foreign", "Pages of other sites may not sign anybody in or out here.", _HERE)
        self.attempts.take(str((scope.get("client") or ("",))[0]))

    async def leave(self, scope: Scope) -> None:
        """The sign-in of who asks to be signed out is over wherever its cookie was copied to, before that is cleared.

        Raises RefusedError where that can't be stored: to clear the cookie alone would look like the end of it.
        """
        try:
            await asyncio.to_thread(self.ended, cookies_of(scope))
        except StorageError as error:
            cause = f"You are still signed in: signing out could not be saved. {error.message}"
            raise RefusedError(503, "storage", cause, error.remedy) from error

    async def may_upload(self, scope: Scope) -> bool:
        """Whether who sends a file has signed in and may add documents somewhere."""
        return await asyncio.to_thread(self.editor, cookies_of(scope))

    def watched(self, scope: Scope, path: str, send: Send) -> Send:
        """`send` that keeps answers of sign-in out of caches, and notes a callback that let nobody in."""

        async def watching(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ())]
                message = {**message, "headers": [*headers, (b"cache-control", b"no-store")]}
                why = _refused(scope) if path == "/oauth2callback" and not _let_in(headers) else ""
                if why:
                    await asyncio.to_thread(self.note, why)
            await send(message)

        return watching

    def secured(self, headers: list[Header]) -> list[Header]:
        """Where browsers come by TLS, cookies go by nothing else; Streamlit leaves that out."""
        if not self.sign_in.secure:
            return headers
        return [(name, _secure(value) if name.lower() == b"set-cookie" else value) for name, value in headers]


def may_edit(cookies: Mapping[str, str]) -> bool:
    """Whether a browser with these cookies is of somebody who signed in and may edit."""
    person = somebody(cookies)
    return person is not None and may(person.role, "edit")


def somebody(cookies: Mapping[str, str]) -> Person | None:
    """Who has signed in in a browser with these cookies and may come in; None for nobody, and where nobody can tell."""
    try:
        signed = _signed(cookies, program().engine.config.people.signin_hours)
        if signed is None:
            return None
        people = program().engine.teams.people
        person = people.of(signed.identity.issuer, signed.identity.subject)
        return person if person is not None and person.welcome and not people.signed_out(signed.hash) else None
    except CragError:
        return None


def end(cookies: Mapping[str, str]) -> None:
    """The sign-in that these cookies hold, of any age, is over; where they hold none nothing happens.

    Raises StorageError.
    """
    try:
        signed = _signed(cookies, oidc.ANY_AGE)
    except AccessError:
        return  # of another program or provider, which counts nowhere
    if signed is None:
        sign_ins.end(cookies)  # no page was opened with them, so nobody knows yet whose they are
        return
    identity = signed.identity
    by = identity.email or identity.name or "visitor"
    program().engine.teams.people.sign_out(signed.hash, signed.forgotten_at, by=by)


def _signed(cookies: Mapping[str, str], hours: int) -> Signed | None:
    """The sign-in that these cookies hold, where a page was opened with them. Raises AccessError."""
    sign_in, said = oidc.configured(), sign_ins.claims(cookies)
    if sign_in is None or sign_in.problem or said is None:
        return None
    return oidc.signed(said, sign_in, hours, program().engine.config.people.groups_claim)


def _refused(scope: Scope) -> str:
    """Why a callback let nobody in; "" for a call of nothing, as after signing out."""
    query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    if error := query.get("error"):
        return f"the provider said {error[0]}" if _ERROR.fullmatch(error[0]) else "the provider said no"
    return "a callback whose state, code or token does not fit" if "code" in query or "state" in query else ""


def _let_in(headers: list[Header]) -> bool:
    ours = (value for name, value in headers if name.lower() == b"set-cookie" and value.startswith(COOKIE.encode()))
    return any(not re.match(rb'[^=]+=("")?;', value) for value in ours)


def _secure(cookie: bytes) -> bytes:
    named = any(part.strip().lower() == b"secure" for part in cookie.split(b";"))
    return cookie if named else cookie + b"; Secure"


def cookies_of(scope: Scope) -> dict[str, str]:
    """The cookies of a request, read as Streamlit reads them."""
    return cookie_parser("; ".join(values(scope, b"cookie")))
