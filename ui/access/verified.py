"""The sign-ins that Streamlit has verified in this process, by the cookie that holds each.

A script knows what the signed cookie of its browser says; a request beside it brings the same cookie. So the person
who uploads a file or asks for one is known by the cookie that their page was opened with. Nothing is verified twice.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

COOKIE = "_streamlit_user"
"""Streamlit's cookie of a sign-in; a long one goes on in others whose names begin so."""
_MOST = 10_000


def digest(cookies: Mapping[str, str]) -> str:
    """Names the sign-in that these cookies hold; "" where they hold none."""
    held = sorted((name, value) for name, value in cookies.items() if name.startswith(COOKIE) and value)
    return hashlib.sha256(repr(held).encode()).hexdigest() if held else ""


class VerifiedSignIns:
    """What each cookie says, those seen last; and the cookies whose sign-in was ended unseen. Thread-safe."""

    def __init__(self, most: int = _MOST) -> None:
        self._most, self._lock = most, threading.Lock()
        self._claims: OrderedDict[str, Mapping[str, Any]] = OrderedDict()
        self._ended: OrderedDict[str, None] = OrderedDict()

    def note(self, cookies: Mapping[str, str], claims: Mapping[str, Any]) -> None:
        """A page was opened with these cookies, and Streamlit says that they hold these claims."""
        if name := digest(cookies):
            with self._lock:
                self._claims[name] = dict(claims)
                self._claims.move_to_end(name)
                while len(self._claims) > self._most:
                    self._claims.popitem(last=False)

    def claims(self, cookies: Mapping[str, str]) -> Mapping[str, Any] | None:
        """What these cookies say; None where no page was opened with them, or their sign-in was ended."""
        name = digest(cookies)
        with self._lock:
            return None if name in self._ended else self._claims.get(name)

    def end(self, cookies: Mapping[str, str]) -> None:
        """From now on these cookies sign nobody in here."""
        if name := digest(cookies):
            with self._lock:
                self._ended[name] = None
                while len(self._ended) > self._most:
                    self._ended.popitem(last=False)

    def ended(self, cookies: Mapping[str, str]) -> bool:
        with self._lock:
            return digest(cookies) in self._ended


sign_ins = VerifiedSignIns()
"""Of this process, whose browsers stay with it."""
