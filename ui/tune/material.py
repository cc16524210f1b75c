"""What the Tune page decides anew: the stored runs that were chosen, what they took, and what is known of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from crag.evaluation.evaluate import evaluations
from crag.strategies import STRATEGIES
from crag.whatif.entries import Entry
from crag.whatif.ledger import Ledger
from ui.app import workspaces
from ui.app.session import Session
from ui.kit import words
from ui.run import meter
from ui.tune import labels as tune_labels
from ui.tune import ledgers, memo
from ui.tune.labels import Labels
from ui.tune.ledgers import Book

__all__ = ["Material", "chosen", "read"]

_CHOICE, _KEPT = "tune-runs", "tune-runs-kept"
_ALL = "all"
_AT_ONCE = 20
"""So many runs are read before the progress is shown anew."""


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """The runs looked at: with what they took in seconds, in dollars (None: no outside calls), and their labels.

    `key` belongs into the address of a private library; else it is empty.
    """

    ledger: Ledger
    cost: Ledger | None
    labels: Labels
    entries: Mapping[str, Entry]
    key: str


def read(session: Session) -> Book:
    """The runs of the session's library, brought up to date, with progress where that takes long. Raises CragError."""
    book, slot = ledgers.book(session.workspace), st.empty()
    for done, total in book.renew(session.library, tune_labels.expected(session)):
        if total > _AT_ONCE and done % _AT_ONCE == 0:
            slot.progress(done / total, f"Reading past runs: {done:,} of {total:,}. This happens once.")
    slot.empty()
    return book


def chosen(session: Session, book: Book) -> Material:
    """The runs that the person chose, ready to be decided anew. Raises CragError."""
    runs = _runs(session, book)
    key = session.workspace, book.version, runs
    thumbs = tuple(session.library.labels.all())
    prices = meter.in_use()
    ledger = book.ledger(runs)

    def cost() -> Ledger | None:
        reads = book.reads
        return ledgers.dollars([reads[entry.run_id] for entry in ledger.entries], prices)

    def labels() -> Labels:
        return tune_labels.brought_together(ledger, book.judged, thumbs)

    sets = tune_labels.known_sets(session)
    return Material(
        ledger=ledger,
        cost=memo.of("cost", (key, prices), cost),
        labels=memo.of("labels", (key, thumbs, sets), labels),
        entries={entry.run_id: entry for entry in ledger.entries},
        key=workspaces.key(),
    )


def _runs(session: Session, book: Book) -> frozenset[str] | None:
    """The runs to look at; None for all."""
    reads = book.reads
    options = {_ALL: f"All ({words.count(len(reads), 'run')})"}
    for name, number in Counter(read.entry.strategy for read in reads.values()).most_common():
        options[f"strategy:{name}"] = f"Asked with {_title(name)} ({number:,})"
    members: dict[str, frozenset[str]] = {}
    for each in evaluations(session.library):
        own = frozenset(id for id in reads if id.startswith(f"{each.id}-"))
        if own:
            members[f"evaluation:{each.id}"] = own
            about = f"{each.set_name}, {_title(each.strategy)}, {words.ago(each.started_at)}"
            options[f"evaluation:{each.id}"] = f"Evaluated: {about} ({len(own):,})"
    if st.session_state.get(_CHOICE) not in options:
        kept = st.session_state.get(_KEPT, _ALL)
        st.session_state[_CHOICE] = kept if kept in options else _ALL
    choice = st.selectbox("Runs", list(options), format_func=options.__getitem__, key=_CHOICE)
    st.session_state[_KEPT] = choice
    kind, _, name = choice.partition(":")
    if kind == "strategy":
        return frozenset(id for id, read in reads.items() if read.entry.strategy == name)
    return members.get(choice)


def _title(strategy: str) -> str:
    return STRATEGIES[strategy].title if strategy in STRATEGIES else strategy
