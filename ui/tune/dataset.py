"""What the Tune page decides again: the stored runs that were chosen, what they took, and what is known of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from crag.analysis.evaluate import evaluations
from crag.analysis.whatif.entries import Entry
from crag.analysis.whatif.replay_plan import StoredDecisions
from crag.export.html import words
from crag.messages.answers import origin_text
from ui.app.program import prices_in_use
from ui.app.session import Session
from ui.components import forms
from ui.documents.state import PICKED, TUNE_RUNS, state
from ui.tune import labels as tune_labels
from ui.tune import stored
from ui.tune.cache import cached
from ui.tune.labels import Labels
from ui.tune.stored import StoredRuns

_ALL = "all"
_AT_ONCE = 20
"""Runs that are read between two updates of the progress."""


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """The runs looked at: with what they took in seconds, in dollars (None: no outside calls), and their labels."""

    ledger: StoredDecisions
    cost: StoredDecisions | None
    labels: Labels
    entries: Mapping[str, Entry]


def read(session: Session) -> StoredRuns:
    """The runs of the session's library, brought up to date, with progress where that takes long. Raises CragError."""
    stored_runs, slot = stored.runs_of(session.workspace), st.empty()
    for done, total in stored_runs.refresh(session.library, tune_labels.expected(session)):
        if total > _AT_ONCE and done % _AT_ONCE == 0:
            slot.progress(done / total, f"Reading past runs: {done:,} of {total:,}. This happens once.")
    slot.empty()
    return stored_runs


def chosen(session: Session, stored_runs: StoredRuns) -> Callable[[], Material]:
    """What finds the runs that the person chose, ready to be decided again. Raises CragError; so does what it returns.

    That holds none of them: else each tab that is left open would keep the runs as they were when it was drawn.
    """
    choice = _choice(session, stored_runs)

    def found() -> Material:
        state = stored_runs.state  # before the ledger: what comes in between is seen by the next call
        thumbs = tuple(session.library.labels.all())
        prices, sets = prices_in_use(), tune_labels.set_ids(session)

        ledger = cached("ledger", state, choice, lambda: stored_runs.ledger(choice))

        def cost() -> StoredDecisions | None:
            runs = stored_runs.runs
            return stored.dollars([runs[entry.run_id] for entry in ledger.entries], prices)

        def labels() -> Labels:
            return tune_labels.label_runs(ledger, stored_runs.judged, thumbs)

        return Material(
            ledger=ledger,
            cost=cached("cost", state, (choice, prices), cost),
            labels=cached("labels", state, (choice, thumbs, sets), labels),
            entries={entry.run_id: entry for entry in ledger.entries},
        )

    return found


def _choice(session: Session, stored_runs: StoredRuns) -> frozenset[str] | None:
    """The runs to look at; None for all."""
    runs = stored_runs.runs
    options = {_ALL: f"All ({words.count(len(runs), 'run')})"}
    for name, number in Counter(read.entry.strategy for read in runs.values()).most_common():
        options[f"strategy:{name}"] = f"Asked with {words.strategy(name)} ({number:,})"
    for via, number in Counter(read.entry.via for read in runs.values()).most_common():
        if said := origin_text(via):
            options[f"via:{via}"] = f"Asked {said} ({number:,})"
    members: dict[str, frozenset[str]] = {}
    for each in evaluations(session.library):
        own = frozenset(id for id in runs if id.startswith(f"{each.id}-"))
        if own:
            members[f"evaluation:{each.id}"] = own
            about = f"{each.set_name}, {words.strategy(each.strategy)}, {words.ago(each.started_at)}"
            options[f"evaluation:{each.id}"] = f"Evaluated: {about} ({len(own):,})"
    if mapped := state().picked & runs.keys():
        members[PICKED] = mapped
        options[PICKED] = f"Selected on the map ({len(mapped):,})"
    if st.session_state.get(TUNE_RUNS) not in options:
        st.session_state[TUNE_RUNS] = _ALL
    choice = forms.choice("Runs", options, TUNE_RUNS)
    kind, _, name = choice.partition(":")
    if kind == "strategy":
        return frozenset(id for id, read in runs.items() if read.entry.strategy == name)
    if kind == "via":
        return frozenset(id for id, read in runs.items() if read.entry.via == name)
    return members.get(choice)
