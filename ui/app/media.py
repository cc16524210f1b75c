"""For whom a picture or a download was made: Streamlit serves it to all who know its address, this program does not."""

from __future__ import annotations

import os
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st
from starlette.requests import cookie_parser
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileKind, MediaFileStorage
from streamlit.runtime.scriptrunner import get_script_run_ctx

from crag.admin.people import Person
from crag.core.errors import CragError
from crag.engine import Engine
from ui.access import oidc, workspace_entry

COOKIE = "crag_browser"
"""Names a browser, at random: what is made for one of its tabs is given to it alone."""
_YEAR = 365 * 86_400
_VALUE = re.compile(r"[A-Za-z0-9_-]{32}")
_FILES, _EACH = 10_000, 200
"""So many files are remembered, and of each so many for whom it was made; those made last."""
_BROWSER = "media-browser"
_KEPT_SECONDS, _DOWNLOADS = 30.0, 100
"""So long a download is kept after it was made, and so many of them at most, those made last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The browser, and as whom its tab was there: a person, the reader of a link, or neither, by key or alone."""

    browser: str
    workspace: str
    person: str = ""
    link: str = ""

    def may_see(self, engine: Engine, browser: str, person: Person | None) -> bool:
        """Whether a browser in which this person has signed in may have what was made.

        Raises AccessError for a link that has ended, StorageError.
        """
        if not browser or not secrets.compare_digest(browser, self.browser):
            return False
        if self.link:
            return engine.teams.links.opened(self.link).workspace == self.workspace
        if not self.person:
            return True
        if person is None or person.id != self.person:
            return False
        return person.role == "admin" or engine.teams.spaces.role_in(person, self.workspace) is not None


class Owners:
    """By the name of a file, for whom it was made. Thread-safe; what is asked for again is forgotten last."""

    def __init__(self, files: int = _FILES, each: int = _EACH) -> None:
        self._most, self._each = files, each
        self._lock = threading.Lock()
        self._held: OrderedDict[str, OrderedDict[Owner, None]] = OrderedDict()

    def note(self, file: str, owner: Owner) -> None:
        """This file was made for this one, too."""
        with self._lock:
            of = self._held.setdefault(file, OrderedDict())
            self._held.move_to_end(file)
            of[owner] = None
            of.move_to_end(owner)
            while len(of) > self._each:
                of.popitem(last=False)
            while len(self._held) > self._most:
                self._held.popitem(last=False)

    def of(self, file: str) -> tuple[Owner, ...]:
        with self._lock:
            return tuple(self._held.get(file, ()))


owners = Owners()
"""Of this process, whose browsers stay with it."""


class KeptMedia(MediaFileManager):
    """Streamlit's files, of which what was made at a click is kept until its browser can have come for it.

    Streamlit lets go of it when the second script has ended, of anybody: on a full server after a tenth of a second.
    """

    def __init__(self, storage: MediaFileStorage) -> None:
        super().__init__(storage)
        self._held = threading.Lock()
        self._under_way = 0
        self._made: OrderedDict[str, float] = OrderedDict()

    def execute_deferred(self, file_id: str) -> str:
        with self._held:
            self._under_way += 1
        try:
            address = super().execute_deferred(file_id)
            with self._held:
                self._made[file_of(address)] = time.monotonic()
                self._made.move_to_end(file_of(address))
                while len(self._made) > _DOWNLOADS:
                    self._made.popitem(last=False)
            return address
        finally:
            with self._held:
                self._under_way -= 1

    def _get_inactive_file_ids(self) -> set[str]:
        found = super()._get_inactive_file_ids()
        with self._held:
            while self._made and next(iter(self._made.values())) < time.monotonic() - _KEPT_SECONDS:
                self._made.popitem(last=False)
            if self._under_way:  # one of them may be stored already, and not be noted here
                return {id for id in found if self._file_metadata[id].kind is MediaFileKind.MEDIA}
            return found - self._made.keys()


class OwnedMedia(KeptMedia):
    """The same, each noted with whom the running script makes it for."""

    def add(self, *given: Any, **named: Any) -> str:
        address = super().add(*given, **named)
        _note(address, _owner())
        return address

    def add_deferred(self, data_callable: Callable[[], Any], *given: Any, **named: Any) -> str:
        """What is made at a click, outside of any script, is for whom the button was drawn."""
        owner = _owner()

        def made() -> Any:
            _making.owner = owner
            return data_callable()

        return super().add_deferred(made, *given, **named)

    def execute_deferred(self, file_id: str) -> str:
        address = super().execute_deferred(file_id)
        _note(address, _making.owner)
        return address


_making = threading.local()
"""In a thread that makes a file at a click: for whom."""


def _note(address: str, owner: Owner | None) -> None:
    if owner is not None:
        owners.note(file_of(address), owner)


def _owner() -> Owner | None:
    """Who looks at the tab of the running script; None where that is no browser with our cookie."""
    if get_script_run_ctx() is None:
        return None
    state = st.session_state
    # The tab may have lost its connection for a moment, and with it what its browser said.
    if (said := st.context.cookies.get(COOKIE)) is not None:
        state[_BROWSER] = said
    browser = str(state.get(_BROWSER, ""))
    if not browser:
        return None
    person, link = workspace_entry.as_whom()
    # Where another program says who is there, no cookie of ours says it again.
    person = person if oidc.on() else ""
    return Owner(browser=browser, workspace=str(state.get("workspace", "")), person=person, link=link)


def file_of(address: str) -> str:
    """The name under which Streamlit holds what it serves at this address."""
    return os.path.splitext(address.rpartition("/")[2])[0]


def may_see(engine: Engine, address: str, cookies: Mapping[str, str], person: Callable[[], Person | None]) -> bool:
    """Whether a browser with these cookies may have the file. `person` says who has signed in there."""
    browser = cookies.get(COOKIE, "")
    mine = [each for each in owners.of(file_of(address)) if each.browser == browser]
    if not mine:
        return False
    there = person() if any(each.person for each in mine) else None
    try:
        return any(each.may_see(engine, browser, there) for each in mine)
    except CragError:
        return False


def cookie(sent: str, *, path: str, framed: bool) -> str:
    """What to tell a browser that sent these cookies, so that it is known again; "" where it is."""
    if _VALUE.fullmatch(cookie_parser(sent).get(COOKIE, "")):
        return ""
    kind = "SameSite=None; Secure; Partitioned" if framed else "SameSite=Lax"
    return f"{COOKIE}={secrets.token_urlsafe(24)}; Path={path or '/'}; Max-Age={_YEAR}; HttpOnly; {kind}"
