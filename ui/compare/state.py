"""Which runs a browser tab compares, what is opened beside them, and how other pages lead to a comparison."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from ui.app import navigation, tab
from ui.app.session import Session
from ui.components.tab_state import LibraryState, tab_state

MOST = 4
"""So many runs stand side by side at most."""

_RUN = re.compile(r"[\w-]{1,80}")

QUESTION = "compare-question"
"""The key of the widget that holds what the next comparison asks."""


@dataclass(frozen=True, slots=True)
class Way:
    """How one lane of the next comparison asks. `forced`: an action, or empty for what the scores say."""

    strategy: str
    forced: str = ""


@dataclass(slots=True)
class CompareState(LibraryState):
    """The runs compared, the run and source that are open, the ways of the next comparison, how often they changed."""

    runs: list[str] = field(default_factory=list)
    opened: tuple[str, str] | None = None
    ways: list[Way] | None = None
    turn: int = 0

    def forget(self) -> None:
        self.runs, self.opened, self.ways = [], None, None


def compared_runs() -> list[str]:
    """The runs compared: those of the address, so that a reload brings them back, or this tab's own."""
    address = st.query_params.get("runs", "")
    named = [run for run in address.split(",") if _RUN.fullmatch(run)]
    runs: list[str] = list(dict.fromkeys(named))[:MOST] or state().runs
    select(runs)
    return runs


def select(runs: Sequence[str]) -> None:
    """Compare these from now on; none: start again."""
    if list(runs) != state().runs:
        close_source()
    state().runs = list(runs)
    if runs:
        st.query_params["runs"] = ",".join(runs)
    else:
        st.query_params.pop("runs", None)


def open_source(run: str, what: str) -> None:
    close_source()
    state().opened = (run, what)


def close_source() -> None:
    state().opened = None
    tab.runs().leaf = None


def prefill(session: Session, traces: Sequence[Trace]) -> None:
    """Let the next comparison start from the question and the ways of these runs, unless another is being made."""
    if state().ways is None:
        st.session_state[QUESTION] = traces[0].meant
        asked = [(trace.strategy, Settings.stored(trace.settings).settings) for trace in traces]
        known = [Way(session.called(*each), each[1].forced) for each in asked if each[0] in STRATEGIES]
        set_ways(known if len(traces) > 1 else ways())


def ways() -> list[Way]:
    """The lanes of the next comparison."""
    return list(state().ways or (Way("plain-rag"), Way("balanced")))


def set_ways(wanted: Sequence[Way]) -> None:
    """Ask the next comparison in these ways."""
    state().ways = list(wanted)


def renew_ways(wanted: Sequence[Way]) -> None:
    """Ask the next comparison in these ways, each with new widgets."""
    set_ways(wanted)
    state().turn += 1


def prepare(trace: Trace) -> None:
    """From a run to a comparison of its question: plain RAG beside the run's own strategy."""
    own = trace.strategy if trace.strategy in STRATEGIES and trace.strategy != "plain-rag" else "balanced"
    state().runs = []
    st.session_state[QUESTION] = trace.meant
    set_ways([Way("plain-rag"), Way(own)])
    navigation.go("compare")


def try_button(session: Session, trace: Trace, key: str, changes: Mapping[str, Any]) -> None:
    """A button, for who may ask, that compares a run with another of changed settings. Raises CragError."""
    said = "Asks again with this change, and shows both runs side by side."
    if session.may("ask") and st.button("Try it in Compare", key=key, help=said):
        settings = Settings.stored(trace.settings).settings.changed(**changes)
        compare(trace.run_id, *session.start(trace.meant, [(trace.strategy, settings)]))
        st.rerun()


def compare(*runs: str) -> None:
    """Go to these runs side by side."""
    close_source()
    state().runs = list(runs)
    navigation.go("compare")


def state() -> CompareState:
    """The tab's."""
    return tab_state(CompareState)
