"""The Monitor page: its filters, the sentences that matter, charts whose marks open their runs, drift, comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from crag.analysis.monitoring import figures
from crag.analysis.monitoring.choice import behind
from crag.analysis.monitoring.drift import FEWEST, FEWEST_BEFORE
from crag.core.makers import maker
from ui.app import guide, navigation
from ui.app.session import Session
from ui.components import charts, downloads, words
from ui.components import html as h
from ui.components.drawing import draw
from ui.monitor import exports, filters, plots, run_list, stored, tables
from ui.monitor.board import Board, board
from ui.monitor.stored import Seen

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_MARK, _LAST = "mon-mark", "mon-last"
"""In the session: the mark whose runs are to be listed, and which one each chart named last."""
_BY: Mapping[figures.By, tuple[str, Callable[[str], str]]] = {
    "strategy": ("Strategy", words.strategy),
    "evaluator": ("Evaluator", lambda id: maker(id) if id else "none"),
    "scope": ("Asked of", filters.scope_text),
    "via": ("Asked through", filters.asker_text),
}


def follow(session: Session, picked: str) -> None:
    """Do what a click asked for: list a mark's runs, or open a run in Ask."""
    if picked.startswith(run_list.RUN):
        run = picked.removeprefix(run_list.RUN)
        if run_list.known(session, run):
            session.visit(run)
            navigation.go("ask")
            st.rerun()
    elif picked.startswith(tables.PICK):
        st.session_state[_MARK] = picked.removeprefix(tables.PICK)


def show(session: Session) -> None:
    """The page below its title. Raises CragError where the library can't be read."""
    workspace = filters.library(session)
    seen = stored.seen(session, workspace)
    if seen.unread:
        st.caption(f"{words.count(seen.unread, 'library', 'libraries')} could not be read and are left out.")
    if not seen.runs:
        _empty(session)
        return
    _view(session, seen, workspace)


def _empty(session: Session) -> None:
    if guide.stuck(session):
        guide.show(session)
        return
    draw(
        h.div("cx hero")[
            h.p[
                h.b["No runs yet."],
                " Here you see over time how questions end: which action was taken, how often the web was searched, "
                "how long each step takes, what fails, and whether the scores drift.",
            ],
            h.p["Ask a question: each run is counted from then on."],
        ]
    )
    if session.may("ask"):
        st.button("Ask a question", key="mon-to-ask", type="primary", on_click=navigation.go, args=("ask",))


@st.fragment
def _view(session: Session, seen: Seen, workspace: str) -> None:
    """All that hangs on the filters; a change of one runs this alone."""
    own = workspace == session.workspace
    choice = filters.choice(seen.runs)
    made = board(seen, choice, stored.added(session.library) if own else ())
    draw(tables.sentences(made.sentences))
    if made.found.runs:
        _charts(made)
        _compared(made)
        _files(made)
    mark = st.session_state.pop(_MARK, "")
    if mark:
        run_list.show(session, mark, behind(mark, made.found), own)


def _charts(made: Board) -> None:
    theme = charts.current_theme()
    title("Runs and their actions", _width(made))
    _plot(plots.action_mix(made.actions, made.changes, theme), "actions")
    draw(tables.changes(plots.numbered(made.changes, made.found.buckets)))
    draw(tables.of_actions(made.actions))
    with st.container(key="mon-charts"):
        left, right = st.columns(2, gap="large")
        with left:
            title("Web rate", "share of runs that searched the web; dotted: the four weeks before")
            _plot(plots.over_time(made.web, "web", theme, before=made.before["web"]), "web")
            draw(tables.of_estimates("Web rate", "web", made.web, _percent))
        with right:
            title("Rewrites per question", "dashed: 0.5, above which your documents may not cover the questions")
            _plot(plots.rewrites(made.rewrites, made.before["rewrites"], theme), "rewrites")
            draw(tables.of_estimates("Rewrites", "rewrites", made.rewrites, _number))
        left, right = st.columns(2, gap="large")
        with left:
            title("Best score of each run", "of the chunks acted on")
            _plot(plots.scores(made.scores, made.scores_before, theme), "scores")
            draw(tables.of_scores(made.scores, made.scores_before))
        with right:
            title("Drift", "each week against the four before it; looking often raises no false alarms")
            draw(tables.weeks(made.weeks))
            draw(
                h.div("cx")[
                    h.p("legend")[
                        f"From {FEWEST} runs a week and {FEWEST_BEFORE} before it. Only runs of the same evaluator "
                        "and strategy are compared. Where nothing changes, at most 1 week in 20 shows ▲."
                    ]
                ]
            )
        left, right = st.columns(2, gap="large")
        with left:
            title("Latency by step", "logarithmic")
            _plot(plots.latency(made.latency, theme), "latency")
            draw(tables.of_latency(made.latency))
        with right:
            title("Failures", "by who failed and why")
            draw(tables.failure_map(made.failures))
        left, right = st.columns(2, gap="large")
        with left:
            _spent(made, theme)
        with right:
            _faithful(made, theme)


def _width(made: Board) -> str:
    since, until = (words.moment(each.isoformat(), "") for each in (made.found.since, made.found.until))
    name = {"hour": "an hour", "day": "a day", "week": "a week"}[made.found.width]
    return f"a bar {name}, {since} to {until} UTC; click a mark for its runs"


def _spent(made: Board, theme: str) -> None:
    if not any(each.calls for each in made.spending.values()):
        title("Outside calls and cost")
        draw(h.div("cx")[h.p("quiet")["No outside calls: local models make none and cost nothing."]])
        return
    priced = any(each.dollars for each in made.spending.values())
    title("Outside calls and cost", "dollars, as far as prices are known" if priced else "calls: no price is known")
    _plot(plots.spending(made.spending, theme), "calls")
    draw(tables.of_spending(made.spending))


def _faithful(made: Board, theme: str) -> None:
    if any(each.value is not None for each in made.faithfulness.values()):
        title("Faithfulness", "share of sentences that their sources support")
        _plot(plots.over_time(made.faithfulness, "faithful", theme, before=made.before["faithfulness"]), "faithful")
        draw(tables.of_estimates("Supported", "faithful", made.faithfulness, _percent))
    count = figures.gaps(made.found.runs)
    if count:
        draw(h.div("cx")[h.h2["Coverage gaps ", h.span("small")["what the documents do not answer"]]])
        with st.container(horizontal=True, vertical_alignment="center"):
            draw(
                h.div("cx")[
                    h.p[f"{words.count(count, 'run')} found no answer in the documents. ", tables.opener("gaps")]
                ]
            )
            st.button("Look at the gaps in Documents", key="mon-gaps", type="tertiary", on_click=_to_gaps)


def _to_gaps() -> None:
    st.session_state["gaps-open"] = True
    navigation.go("documents")


def title(name: str, about: str = "") -> None:
    draw(h.div("cx mon-title")[h.h2[name, " ", about and h.span("small")[about]]])


def _plot(figure: Figure, name: str) -> None:
    """A chart whose marks open their runs."""
    key = f"mon-plot-{name}"
    st.plotly_chart(
        figure,
        theme=None,
        key=key,
        config={"displayModeBar": False},
        on_select=partial(_clicked, key),
        selection_mode="points",
    )


def _clicked(key: str) -> None:
    """Note the mark that was clicked; a second click on the same one, which unselects it, names it again."""
    last: dict[str, str] = st.session_state.setdefault(_LAST, {})
    picked: Any = st.session_state.get(key)
    points = picked["selection"]["points"] if picked else []
    data = points[0].get("customdata") if points else None
    mark = data[0] if isinstance(data, list | tuple) and data else data
    if isinstance(mark, str):
        last[key] = mark
    if key in last:
        st.session_state[_MARK] = last[key]


def _compared(made: Board) -> None:
    title("Compared", "all figures with their 95 % intervals")
    by = st.segmented_control(
        "Compare by",
        list(_BY),
        default="strategy",
        required=True,
        format_func=lambda name: _BY[name][0],
        key="mon-by",
        persist_state="session",
        label_visibility="collapsed",
    )
    head, named = _BY[by or "strategy"]
    draw(tables.groups(figures.groups(made.found.runs, by or "strategy"), by or "strategy", head, named))


def _files(made: Board) -> None:
    by: figures.By = st.session_state.get("mon-by") or "strategy"
    with st.popover("Export"):
        downloads.table("Runs", lambda: exports.runs(made.found.runs), "monitor-runs", key="mon-runs")
        downloads.table("Over time", lambda: exports.over_time(made), "monitor-over-time", key="mon-time")
        downloads.table(
            "Compared",
            lambda: exports.groups(figures.groups(made.found.runs, by), by),
            f"monitor-{by}",
            key="mon-groups",
        )
        downloads.table("Drift", lambda: exports.drifts(made.weeks), "monitor-drift", key="mon-drift")


def _percent(value: float) -> str:
    return f"{value:.0%}"


def _number(value: float) -> str:
    return f"{value:.2f}"
