"""The Monitor page: sentences that matter, charts whose marks open their runs, comparisons, lists of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from crag.analysis.monitoring.figures import BINS, By, Chosen, Kind, behind, read_mark
from crag.core.model_ids import maker
from crag.core.runfacts import RunFacts
from crag.core.types import Action
from crag.export.html import words
from crag.export.html.safe_text import markdown
from crag.messages.answers import STATES
from crag.messages.monitoring import MOST_REWRITES, Said
from crag.providers import registry
from ui.app import clicks, guide
from ui.app import tables as cells
from ui.app.session import Session
from ui.components import charts, downloads, forms
from ui.components.drawing import heading
from ui.components.tab_state import tab_state
from ui.monitor import filters, plots, stored, tables
from ui.monitor.filters import asker_text, scope_text
from ui.monitor.plots import bucket_text
from ui.monitor.stored import Board, Seen, board
from ui.monitor.tables import Table

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_SHOWN = 1000


@st.dialog("Runs", width="large")
def show_runs(session: Session, mark: str, runs: Sequence[RunFacts], own: bool) -> None:
    """The runs that a mark stands for, as many as a person reads; `own`: they are of this session's library."""
    st.markdown(f"**{markdown(mark_text(mark))}**: {words.count(len(runs), 'run')}.")
    shown = runs[:_SHOWN]
    questions = session.library.runs.questions([run.run_id for run in shown]) if own else {}
    rows = [_row(run, questions.get(run.run_id, "")) for run in shown]
    st.caption("Select a question to open its run in Ask.")
    here = [run.run_id if run.run_id in questions else "" for run in shown]
    cells.open_run(session, rows, lambda row, column: here[row], "mon-list", "Runs")
    if len(runs) > _SHOWN:
        st.caption(f"And {len(runs) - _SHOWN:,} more: the export has all of them.")
    with st.container(horizontal=True):
        downloads.table("All of these", lambda: tables.export_runs(runs), "monitor-runs", key="mon-listed")


def _row(run: RunFacts, question: str) -> cells.Row:
    refused = (each.rpartition(": ") for each in run.refused)
    row = {
        "Question": question or f"A run in the library {run.workspace or 'of another version'}",
        "Action": f"{words.ICONS[Action(run.action)]} {run.action}" if run.action else "",
        "Asked": words.moment(run.started_at),
        "Strategy": words.strategy(run.strategy),
        "Took": words.format_duration(run.seconds),
        "Best score": f"{run.best:.2f}" if run.best is not None else "",
        "Rewrites": f"{run.rewrites:,}" if run.rewrites else "",
        "Web": "searched" if run.web else "",
        "Ended": STATES[run.outcome],
        "Asked of": scope_text(run.scope) if run.scope else "",
        "Through": asker_text(run.via) if run.via not in ("", "app") else "",
        "Failed": ", ".join(f"{registry.title(who)}: {why}" for who, _, why in refused),
    }
    return {name: said for name, said in row.items() if said}


def mark_text(mark: str) -> str:
    """What a mark stands for, in words."""
    kind, measure, name = read_mark(mark)
    return ", ".join(filter(None, (_group_text(kind, name), tables.head(measure)))) or "All runs"


def _group_text(kind: str, name: str) -> str:
    """A group in words; empty of all that is looked at."""
    match kind:
        case "time":
            return bucket_text(name)
        case "week" | "before":
            return _WEEKS.get(name or kind, "")
        case "score" | "score before":
            before = ", the four weeks before" if kind == "score before" else ""
            return f"Best score from {int(name) / BINS:.2f}{before}"
        case "failure":
            return tables.failure_text(name)
        case "strategy" | "evaluator" | "scope" | "via":
            return _BY[kind][1](name)
    return ""


_WEEKS = {"now": "The last seven days", "before": "The four weeks before"}

_EMPTY = (
    "**No runs yet.** Here you see over time how questions end: which action was taken, how often the web was "
    "searched, how long each step takes, and what fails.\n\n"
    "Ask a question: each run is counted from then on."
)
_BY: Mapping[By, tuple[str, Callable[[str], str]]] = {
    "strategy": ("Strategy", words.strategy),
    "evaluator": ("Evaluator", lambda id: maker(id) if id else "none"),
    "scope": ("Asked of", filters.scope_text),
    "via": ("Asked through", filters.asker_text),
}


@dataclass(slots=True)
class MonitorState:
    """What a browser tab remembers of the Monitor page.

    `mark`: whose runs are to be listed. `last`: the mark that each chart and table named last, by its key.
    """

    mark: str = ""
    last: dict[str, str] = field(default_factory=dict)


def state() -> MonitorState:
    """The tab's."""
    return tab_state(MonitorState)


def show(session: Session) -> None:
    """The page below its title. Raises CragError where the library can't be read."""
    workspace = filters.library(session)
    seen = stored.seen(session, workspace)
    if seen.unread:
        st.caption(f"{words.count(seen.unread, 'library', 'libraries')} could not be read and are left out.")
    if not seen.runs:
        guide.empty(session, _EMPTY, key="mon", ask="Ask a question")
        return
    _view(session, seen, workspace)


@st.fragment
def _view(session: Session, seen: Seen, workspace: str) -> None:
    """All that hangs on the filters; a change of one runs this alone."""
    own = workspace == session.workspace
    choice = filters.choice(seen.runs)
    made = board(seen, choice)
    _sentences(made.sentences)
    if made.found.span.runs:
        _charts(made)
        _compared(made)
        _files(made)
    chosen, state().mark = state().mark, ""
    if runs := behind(chosen, made.found):
        show_runs(session, chosen, runs, own)


def _sentences(said: Sequence[Said]) -> None:
    """The sentences that matter, each of which lists its runs; those that warn first, with a sign."""
    for place, each in enumerate(said):
        if each.warns:
            _sentence(each, place)
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="mon-says"):
        for place, each in enumerate(said):
            if not each.warns:
                _sentence(each, place)


def _sentence(each: Said, place: int) -> None:
    icon = ":material/warning:" if each.warns else ":material/list:"
    if not each.mark:
        st.markdown(f"{icon if each.warns else ''} {markdown(each.text)}".strip(), width="content")
        return
    clicks.button(
        markdown(each.text),
        f"mon-says-{place}",
        _list,
        each.mark,
        icon=icon,
        type="secondary" if each.warns else "tertiary",
        help="List its runs",
    )


@dataclass(frozen=True, slots=True)
class Panel:
    """One part of the page: a chart with its table folded below it, a table alone, or what is said in their place."""

    title: str
    about: str = ""
    figure: Figure | None = None
    table: Table | None = None
    said: str = ""


def _panels(found: Chosen, theme: str) -> Iterator[Panel]:
    before = "dotted: the four weeks before"
    web = plots.over_time(found, "web", theme)
    yield Panel("Web rate", f"share of runs that searched the web; {before}", web)
    rewrites = plots.over_time(found, "rewrites", theme, percent=False, limit=MOST_REWRITES)
    about = f"dashed: {MOST_REWRITES}, above which your documents may not cover the questions"
    yield Panel("Rewrites per question", about, rewrites)
    scores = plots.scores(found, theme)
    yield Panel("Best score of each run", "of the chunks acted on", scores, tables.of_scores(found))
    yield Panel("Latency by step", "logarithmic", plots.latency(found, theme), tables.of_latency(found))
    failures = tables.of_failures(found) if found.groups["failure"] else None
    yield Panel("Failures", "by who failed and why", None, failures, "Nothing failed in this span.")
    if found.span.total("calls"):
        priced = found.span.total("dollars") > 0
        about = "dollars, as far as prices are known" if priced else "calls: no price is known"
        yield Panel("Outside calls and cost", about, plots.spending(found, theme))
    else:
        yield Panel("Outside calls and cost", said="No outside calls: local models make none and cost nothing.")
    if found.span["faithfulness"].known:
        faithful = plots.over_time(found, "faithfulness", theme)
        yield Panel("Faithfulness", f"share of sentences that their sources support; {before}", faithful)


def _charts(made: Board) -> None:
    theme, found = charts.current_theme(), made.found
    heading("Runs and their actions", _width(found))
    _plot(plots.action_mix(found, theme), "Runs and their actions")
    _table(tables.of_groups(found.groups["time"].values(), "time", "Time", bucket_text))
    with st.container(key="mon-charts"):
        panels = list(_panels(found, theme))
        for place in range(0, len(panels), 2):
            for column, panel in zip(st.columns(2, gap="large"), panels[place : place + 2], strict=False):
                with column:
                    _show_panel(panel)


def _show_panel(panel: Panel) -> None:
    heading(panel.title, panel.about)
    if panel.figure is not None:
        _plot(panel.figure, panel.title)
    if panel.table is not None:
        _table(panel.table, folded=panel.figure is not None)
    elif panel.figure is None:
        st.caption(panel.said)


def _width(found: Chosen) -> str:
    since, until = (words.moment(each.isoformat(), "") for each in (found.since, found.until))
    name = {"hour": "an hour", "day": "a day", "week": "a week"}[found.width]
    return f"a bar {name}, {since} to {until} UTC; click a bar to list its runs"


def _table(table: Table, *, folded: bool = True) -> None:
    """A table whose numbers list their runs; `folded`: it says what a chart shows."""
    key = f"mon-table-{table.name}"
    fold = st.expander("As a table", key=f"{key}-fold", on_change="rerun") if folded else st.container()
    if not folded or fold.open:  # type: ignore[attr-defined]
        with fold:
            cells.chosen(table.shown(), key, table.name, on_select=partial(_picked, key, table))


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
    """Note the mark of the point that was clicked in a chart."""
    chosen: Any = st.session_state.get(key)
    points = chosen["selection"]["points"] if chosen else []
    data = points[0].get("customdata") if points else None
    first = data[0] if isinstance(data, list | tuple) and data else data
    _note(key, first if isinstance(first, str) else None)


def _picked(key: str, table: Table) -> None:
    """Note the mark of the cell that was selected in a table."""
    cell = cells.selected(key)
    _note(key, table.mark(*cell) if cell else None)


def _note(key: str, mark: str | None) -> None:
    """List the runs of a mark; a second click on the same one, which unselects it, names it again."""
    last = state().last
    if mark is not None:
        last[key] = mark
    _list(last.get(key, ""))


def _list(mark: str) -> None:
    state().mark = mark


def _compared(made: Board) -> None:
    groups = made.found.groups
    heading("This week", "the last seven days beside the four weeks before, with 95 % intervals")
    _table(tables.of_groups(groups["week"].values(), "week", "Week", _WEEKS.__getitem__), folded=False)
    heading("Compared", "all figures with their 95 % intervals")
    by = forms.one_of("Compare by", {name: title for name, (title, _) in _BY.items()}, "mon-by")
    head, named = _BY[by]
    _table(tables.of_groups(groups[by].values(), by, head, named), folded=False)


def _files(made: Board) -> None:
    groups = made.found.groups
    by: By = st.session_state.get("mon-by") or "strategy"
    files: Mapping[str, tuple[Kind, str]] = {"Over time": ("time", "over-time"), "Compared": (by, by)}
    with st.popover("Export"):
        runs = made.found.span.runs
        downloads.table("Runs", lambda: tables.export_runs(runs), "monitor-runs", key="mon-runs")
        for label, (kind, name) in files.items():
            export = partial(tables.export_groups, groups[kind].values(), kind)
            downloads.table(label, export, f"monitor-{name}", key=f"mon-file-{name}")
