"""How many browser tabs are open at once: who is let in, and who has to wait, before a socket is opened.

A tab that has a session comes back to it however full it is. A page that is loaded again is asked for before the old
one is closed: if it has to wait, the place that becomes free is its browser's own for some seconds.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.types import Scope

from ui.access import browser
from ui.server.headers import values

_KEPT = 10.0
"""Seconds for which a place that became free is its browser's own."""
_OF_A_SESSION = 3
"""Sockets that one session may have: the latest, and some whose end the server has not noticed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Full:
    """So many tabs are open, `most` of them may be: in all, or of this browser (`own`). `again`: seconds to wait."""

    open: int
    most: int
    own: bool
    again: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who opens a tab. `browser`: what tells it from others, "" where it has shown nothing. `session`: its own."""

    browser: str
    session: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Most:
    """How many tabs there may be: in all, and of one browser; 0: no limit."""

    all: int
    own: int


class Seats:
    """The open tabs of this process. Used on the server's event loop alone."""

    def __init__(
        self, most: Callable[[], Most], alive: Callable[[str], bool], now: Callable[[], float] = time.monotonic
    ) -> None:
        """`most` may take a moment. `alive`: whether there is a session of this id, connected or kept."""
        self.most, self._alive, self._now = most, alive, now
        self._browsers: Counter[str] = Counter()
        self._sessions: Counter[str] = Counter()
        self._left: list[tuple[str, float]] = []
        """The browsers that places are kept for, and until when."""
        self._waiting: dict[str, float] = {}
        """The browsers with open tabs that had to wait for one more, and until when that is remembered."""

    @property
    def open(self) -> int:
        """How many there are."""
        return self._browsers.total()

    def full(self, caller: Caller, most: Most) -> Full | None:
        """Why this caller has to wait; None where there is a place."""
        if caller.session and self._alive(caller.session) and self._sessions[caller.session] < _OF_A_SESSION:
            return None
        now = self._now()
        self._left = [each for each in self._left if each[1] > now]
        self._waiting = {browser: until for browser, until in self._waiting.items() if until > now}
        mine = self._browsers[caller.browser] if caller.browser else 0
        taken = self.open + sum(browser != caller.browser for browser, _ in self._left)
        own = bool(most.own) and mine >= most.own
        if not own and not (most.all and taken >= most.all):
            return None
        if mine:
            self._waiting[caller.browser] = now + _KEPT
        again = 2 if mine else 10  # its own tab may be the one that is closed this moment
        return Full(open=mine if own else taken, most=most.own if own else most.all, own=own, again=again)

    @contextmanager
    def taken(self, caller: Caller) -> Iterator[None]:
        """For as long as the tab is open."""
        mine = next((each for each in self._left if each[0] == caller.browser), None)
        if mine is not None:
            self._left.remove(mine)
        self._browsers[caller.browser] += 1
        self._sessions[caller.session] += 1
        try:
            yield
        finally:
            for counter, key in ((self._browsers, caller.browser), (self._sessions, caller.session)):
                counter[key] -= 1
                if not counter[key]:
                    del counter[key]
            if self._waiting.get(caller.browser, 0.0) > self._now():
                self._left.append((caller.browser, self._now() + _KEPT))


def caller(scope: Scope) -> Caller:
    """Who sends a request: by the browser's own cookie, and the session that its socket asks for."""
    asked = [each.strip() for said in values(scope, b"sec-websocket-protocol") for each in said.split(",")]
    cookies = "; ".join(values(scope, b"cookie"))
    return Caller(browser=browser.named(cookies), session=asked[2] if len(asked) > 2 else "")
