"""Compare: the question and two to four ways of answering it, what differs, and the runs side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from crag.analysis.comparison import Differences, differences, figures, table
from crag.core.errors import CragError, InputError
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.types import Action
from crag.export.html import elements as h
from crag.export.html import marks, pages, words
from crag.export.html.elements import Html
from crag.export.html.safe_text import markdown
from ui.app import clicks, fragments, guide, navigation
from ui.app.program import prices_in_use, program
from ui.app.session import REFUSALS, Session
from ui.compare import run_columns as compare_lanes
from ui.compare import state
from ui.compare.run_columns import Lane
from ui.compare.state import MOST, QUESTION, Way
from ui.components import downloads, forms, problems
from ui.components.drawing import draw
from ui.run import pageview
from ui.run import parts as run_parts

_AS_SCORED = "As the scores decide"


def form(session: Session) -> None:
    """The question, the lanes, and the button that starts all of them."""
    asked = st.text_area(
        "Question",
        key=QUESTION,
        height=68,
        placeholder="Ask a question about your documents",
        persist_state="session",
    )
    ways = state.ways()
    chosen: list[Way] = []
    with st.container(key="cmp-ways"):
        for place, column in enumerate(st.columns(len(ways), gap="medium")):
            with column:
                chosen.append(_way(session, ways, place))
    state.set_ways(chosen)
    asks = session.may("ask")
    with st.container(horizontal=True, vertical_alignment="center"):
        begin = st.button("Compare", key="compare-begin", type="primary", disabled=not asks)
        st.button("Add a column", key="compare-add", on_click=clicks.once(_add), disabled=len(ways) == MOST)
        st.caption("The same question, asked in every column at once." if asks else REFUSALS["ask"])
    if begin:
        with problems.reported():
            state.select(_started(session, asked, chosen))
            st.rerun()


def _way(session: Session, ways: list[Way], place: int) -> Way:
    """One lane's strategy and action; its widgets are new whenever lanes are added or removed."""
    way, turn = ways[place], state.state().turn
    known, key = session.strategies, f"cmp-strategy-{turn}-{place}"
    strategy = forms.strategy(f"Column {place + 1}", known, way.strategy, key, persist_state=None)
    plain = known[strategy].settings.evaluator == "none"
    options = ["", *(str(action) for action in Action)]
    forced = st.selectbox(
        "Act on",
        options,
        index=0 if plain else options.index(way.forced),
        format_func=lambda action: f"As if {action}" if action else _AS_SCORED,
        key=f"cmp-forced-{turn}-{place}-{'plain' if plain else 'graded'}",
        disabled=plain,
        help="The chunks are graded as usual; the run then continues as if the scores had led to this action.",
    )
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption(words.about(known[strategy], session.changes(strategy)))
        if len(ways) > 2:
            clicks.button("Remove", f"cmp-remove-{turn}-{place}", clicks.once(_remove), place, type="tertiary")
    return Way(strategy, "" if plain else forced)


def _add() -> None:
    ways = state.ways()
    taken = {way.strategy for way in ways}
    following = next(
        (name for name in ("balanced", "paper", "three-way", *STRATEGIES) if name not in taken), "balanced"
    )
    state.renew_ways([*ways, Way(following)])


def _remove(place: int) -> None:
    ways = state.ways()
    state.renew_ways([*ways[:place], *ways[place + 1 :]])


def _started(session: Session, asked: str, ways: list[Way]) -> list[str]:
    """The ids of the runs, started together. Raises CragError."""
    made: list[tuple[str, Settings]] = []
    for way in ways:
        settings = session.settings(way.strategy)
        forced: Any = way.forced
        made.append((way.strategy, settings.changed(forced=forced) if forced != settings.forced else settings))
    return session.start(asked, made)


_BESIDE = 2
"""Up to so many lanes are wide enough to hold a page's image; of more, it stands above them."""
_WIDE = 990
"""Pixels that the image is wide above them."""

Labels = Mapping[str, str] | None
"""A person's labels by chunk id; None: they can't be given here."""


def follow(session: Session, picked: str) -> None:
    """Do what a click asked for. Raises CragError."""
    kind, _, rest = picked.partition(":")
    if kind == "open" and rest in state.compared_runs():
        session.select(rest)
        navigation.go("ask")
        st.rerun()
    run, _, what = rest.partition(":")
    if kind != "in" or run not in state.compared_runs():
        return
    if what.startswith(("cite:", "chunk:")):
        state.open_source(run, what)
    elif what.startswith("label:"):
        run_parts.toggle(session, session.trace(run), what.removeprefix("label:"))


def show(session: Session) -> None:
    """The form, and the comparison that the address names. Raises CragError."""
    runs = state.compared_runs()
    lanes = _lanes(session, runs)
    if not lanes:
        _first(session)
        return
    state.prefill(session, [each.trace for each in lanes])
    if opened := state.state().opened:
        for each in lanes:
            if each.run == opened[0]:
                pageview.prepare(session, each.trace, opened[1])
    with st.expander("Another comparison", expanded=False, key=f"cmp-again-{lanes[0].run}"):
        form(session)
    labels = run_parts.labels_of(session, lanes[0].trace.meant) if session.may("ask") else None
    jobs = [each.job for each in lanes if each.job is not None and each.following]
    if jobs:
        under_way = partial(_under_way, session, [each.run for each in lanes], labels)
        fragments.follow(session, lambda: any(job.running for job in jobs), under_way)
    else:
        with st.container():
            _over(session, lanes, labels)


def _under_way(session: Session, runs: Sequence[str], labels: Labels) -> None:
    """The runs as far as they have come. Raises CragError."""
    lanes = _lanes(session, runs)
    draw(_question(lanes))
    jobs = [each.job for each in lanes if each.job is not None and each.following]
    if jobs:
        clicks.stop_button(session, jobs, "compare-stop", "What was found stays.", "Stop all")
    _summary(lanes, whole=False)
    _columns(session, lanes, labels, None)


def _over(session: Session, lanes: Sequence[Lane], labels: Labels) -> None:
    """The runs that have ended, and what differs between them."""
    found = differences([each.trace for each in lanes], [each.name for each in lanes], prices_in_use())
    draw(_question(lanes))
    with st.container(horizontal=True):
        _exports(session, lanes)
        st.button("New comparison", key="compare-new", on_click=state.select, args=([],))
    st.markdown(compare_lanes.lead(found))
    _summary(lanes, whole=True)
    _columns(session, lanes, labels, found)


def _summary(lanes: Sequence[Lane], *, whole: bool) -> None:
    known = figures([each.trace for each in lanes], prices_in_use())
    rows = compare_lanes.summary(known, [f"{lane.letter} {lane.name}".strip() for lane in lanes], whole=whole)
    st.table(rows, border="horizontal", hide_index=True, width="content")
    if whole:
        st.caption(compare_lanes.alike(known))


def _columns(session: Session, lanes: Sequence[Lane], labels: Labels, found: Differences | None) -> None:
    """The lanes side by side, and the source that is open: above them where they are narrow."""
    narrow = len(lanes) > _BESIDE
    if narrow:
        with st.container(width=_WIDE):
            _beside(session, lanes)
    draw(compare_lanes.heads(lanes))
    every = compare_lanes.parts_of(lanes, labels, found)
    with st.container(key="cmp-lanes"):
        columns = st.columns(len(lanes), gap="medium")
        for number, (column, each, parts) in enumerate(zip(columns, lanes, every, strict=True)):
            with column:
                compare_lanes.show(session, each, parts, number)
                if not narrow:
                    with st.container(key=f"cmp-page-{number}"):
                        _beside(session, [each])


def _first(session: Session) -> None:
    """Before there is anything to compare. Raises CragError."""
    said = (
        "Ask one question in two to four ways at once: plain RAG beside corrective strategies, or one strategy beside "
        "itself with another action, to see what that action changes."
    )
    if session.library.documents.count() == 0:
        guide.empty(session, said, "There are no documents yet.", key="compare", documents="Add documents")
    else:
        guide.empty(session, said)
        form(session)


def _lanes(session: Session, runs: Sequence[str]) -> list[Lane]:
    """The runs that are to be had; of any other it is said that it is not."""
    opened = state.state().opened
    lanes, missing = [], []
    for run in runs:
        what = opened[1].removeprefix("cite:") if opened is not None and opened[0] == run else ""
        try:
            lanes.append(compare_lanes.load_lane(session, run, int(what) if what.isdigit() else None))
        except CragError:
            missing.append(run)
    if missing:
        state.select([each.run for each in lanes])
        gone = "A run" if len(missing) == 1 else f"{len(missing)} runs"
        problems.show(
            InputError(f"{gone} in the address can't be read from this library.", "Start a new comparison below.")
        )
    compare_lanes.name_lanes(lanes, session.called)
    return lanes


def _question(lanes: Sequence[Lane]) -> Html:
    asked = dict.fromkeys(each.trace.meant for each in lanes)
    return h.div("cx")[h.div("question")[h.joined(h.br, asked)]]


def _beside(session: Session, lanes: Sequence[Lane]) -> None:
    """The page image or web passage that is open, if it is one of these lanes'."""
    opened = state.state().opened
    for each in lanes:
        if opened is not None and opened[0] == each.run:
            whose = f"{each.letter} {each.name}".strip()
            pageview.opened(session, each.trace, opened[1], state.close_source, whose)


def _exported(session: Session, run: str) -> str:
    trace = session.trace(run)
    stale = marks.find_stale(program().engine, session.workspace, trace)
    return pages.page(trace, session.events(run), prices_in_use(), stale)


def _exports(session: Session, lanes: Sequence[Lane]) -> None:
    first = lanes[0].trace
    runs = {each.run: each.name for each in lanes}

    def compared() -> downloads.Table:
        return table(differences(list(map(session.trace, runs)), list(runs.values()), prices_in_use()))

    with st.popover("Export"):
        downloads.table("What differs", compared, pages.file_name(first, "compared"), key="compare")
        for number, each in enumerate(lanes):
            downloads.file(
                f"{markdown(each.name)}, one HTML page",
                partial(_exported, session, each.run),
                pages.file_name(each.trace, f"{number + 1}.html"),
                "text/html",
                key=f"compare-html-{number}",
            )
