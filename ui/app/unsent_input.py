"""What was typed when a sign-in ran out, kept for the same person until they have signed in again.

In memory alone and for a while: it is in no file, and gone with the process.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from crag.admin.people import Person
from ui.access import workspace_entry
from ui.app import tab

_FIELDS = ("question", "compare-question")
"""Where questions are typed, by the keys of their boxes."""
_MOST, _LONGEST, _SECONDS = 500, 10_000, 3600.0
"""So many drafts are kept, of so many characters a box, for so long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What stood in which box, and the workspace that it was meant for."""

    texts: Mapping[str, str]
    workspace: str


class Drafts:
    """One draft for each person, the one that came last. Thread-safe."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now, self._lock = now, threading.Lock()
        self._kept: OrderedDict[tuple[str, str], tuple[float, Draft]] = OrderedDict()

    def keep(self, whose: tuple[str, str], draft: Draft) -> None:
        """`whose`: issuer and subject of the person."""
        with self._lock:
            self._kept.pop(whose, None)
            self._kept[whose] = self._now() + _SECONDS, draft
            while len(self._kept) > _MOST or next(iter(self._kept.values()))[0] <= self._now():
                self._kept.popitem(last=False)

    def of(self, whose: tuple[str, str]) -> Draft | None:
        with self._lock:
            until, draft = self._kept.get(whose, (0.0, None))
            return draft if until > self._now() else None

    def forget(self, whose: tuple[str, str]) -> None:
        with self._lock:
            self._kept.pop(whose, None)


_drafts = Drafts()


def keep(whose: tuple[str, str]) -> None:
    """Keeps what was typed in this tab, whose sign-in has ended; nothing where nothing was."""
    texts = {name: str(st.session_state.get(name) or "")[:_LONGEST] for name in _FIELDS}
    found = {name: text for name, text in texts.items() if text.strip()}
    if found:
        tab.page().draft_kept = True
        _drafts.keep(whose, Draft(texts=found, workspace=workspace_entry.here().get(workspace_entry.WORKSPACE, "")))


def kept() -> bool:
    """Whether anything that was typed in this tab waits for its person to sign in again."""
    return tab.page().draft_kept


def give_back(person: Person, workspace: str) -> None:
    """In a tab's first run after somebody signed in: what they had typed is in its box, in the workspace it was for."""
    page, whose = tab.page(), (person.issuer, person.subject)
    if page.drafts == "done":
        return
    draft = _drafts.of(whose)
    if draft is not None and draft.workspace not in ("", workspace) and not page.drafts:
        page.drafts = "going there"
        workspace_entry.go(draft.workspace)
        st.rerun()
    page.drafts = "done"
    if draft is not None:
        _drafts.forget(whose)
        for name, text in draft.texts.items():
            st.session_state[name] = text
        st.toast("Your unsent input from before you signed in is restored.")
