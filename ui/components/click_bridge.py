"""Clicks on what is drawn (citations, chunks, earlier questions) as values for the script."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st

from ui.components import problems
from ui.components.drawing import asset_text
from ui.components.script_context import Interrupted
from ui.components.tab_state import tab_state

_KEY = "picked"


@dataclass(slots=True)
class Clicks:
    """What was clicked and is not done yet, oldest first, up to which number the browser was heard, and the run."""

    waiting: list[str] = field(default_factory=list)
    heard: int = 0
    turn: int = 0
    doing: threading.Lock = field(default_factory=threading.Lock, compare=False)

    def take(self, sent: object) -> None:
        """Take in numbered clicks as the browser tells them; those it tells again change nothing."""
        for each in sent if isinstance(sent, list) else ():
            match each:
                case [int(number), str(pick)] if number > self.heard and len(pick) < 300:
                    self.heard = number
                    self.waiting.append(pick)


def handle_clicks(act: Callable[[str], object]) -> None:
    """Do what was clicked: `act` is given each element's data-pick, in order. What fails of it is shown on the page.

    Of an element inside one with data-scope: "in:SCOPE:" and the data-pick. The value comes from the browser, so it is
    checked where it is looked up. Where a touch of the page interrupts `act`, the next run does it.
    """
    clicks = tab_state(Clicks)
    clicks.turn += 1  # with news in every run, the browser tells again what was not heard
    listener = st.components.v2.component("crag_picker", js=asset_text("picker.js"), isolate_styles=False)
    with st.container(key="picker", height=1, border=False):
        listener(key=_KEY, data={"heard": clicks.heard, "turn": clicks.turn}, on_pick_change=_keep)
    # An interrupted run may still be at it in its own thread, and may put a click back.
    with problems.reported(), clicks.doing:
        while clicks.waiting:
            pick = clicks.waiting.pop(0)
            try:
                act(pick)
            except Interrupted:
                clicks.waiting.insert(0, pick)
                raise


def _keep() -> None:
    """A callback, for the script's own run may be interrupted before it comes to look."""
    sent = getattr(st.session_state.get(_KEY), "pick", None)
    tab_state(Clicks).take(sent)
