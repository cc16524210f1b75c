"""The Monitor page: sentences that matter, charts whose marks open their runs, comparisons, lists of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from crag.analysis.monitoring import figures
from crag.analysis.monitoring.figures import Change, behind
from crag.core.model_ids import maker
from crag.core.runfacts import RunFacts
from crag.core.types import Action
from crag.export.html import words
from crag.export.html.safe_text import markdown
from crag.messages.monitoring import Said, change_sentence
from crag.providers import registry
from ui.app import clicks, guide, navigation
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
    if not runs:
        return
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
        "Ended": run.outcome if run.outcome != "answered" else "",
        "Asked of": scope_text(run.scope) if run.scope else "",
        "Through": asker_text(run.via) if run.via not in ("", "app") else "",
        "Failed": ", ".join(f"{registry.title(who)}: {why}" for who, _, why in refused),
    }
    return {name: said for name, said in row.items() if said}


def mark_text(mark: str) -> str:
    """What a mark stands for, in words."""
    kind, _, rest = mark.partition("|")
    one, _, other = rest.partition("|")
    when = f"{bucket_text(one)}, " if one[:1].isdigit() and "-" in one else ""
    match kind:
        case "action":
            return f"{when}{'no action' if other == 'none' else other}"
        case "score":
            return f"Best score from {int(one) / 20:.2f}{', the four weeks before' if other == 'before' else ''}"
        case "step":
            least = "the slower half" if other == "median" else "the slowest twentieth"
            return f"{'Whole run' if one == 'run' else one.capitalize()}, {least}"
        case "failed":
            return f"{registry.title(one)} failed: {other}"
        case "group":
            named = words.strategy(other) if one == "strategy" else other or "all documents"
            return _WEEKS[other] if one == "week" and other in _WEEKS else named
        case "outcome":
            return one
        case _:
            return when + _KINDS.get(kind, "all")


_KINDS = {
    "web": "searched the web",
    "rewrites": "with rewritten queries, most first",
    "calls": "with outside calls, most expensive first",
    "faithful": "answers that were checked, least supported first",
    "gaps": "not answered by the documents",
    "runs": "All runs",
}


_WEEKS = {"now": "The last seven days", "before": "The four weeks before"}

_EMPTY = (
    "**No runs yet.** Here you see over time how questions end: which action was taken, how often the web was "
    "searched, how long each step takes, and what fails.\n\n"
    "Ask a question: each run is counted from then on."
)
_BY: Mapping[figures.By, tuple[str, Callable[[str], str]]] = {
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
    made = board(seen, choice, stored.added(session.library) if own else ())
    _sentences(made.sentences)
    if made.found.runs:
        _charts(made)
        _compared(made)
        _files(made)
    mark, state().mark = state().mark, ""
    if mark:
        show_runs(session, mark, behind(mark, made.found), own)


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


def _charts(made: Board) -> None:
    theme = charts.current_theme()
    heading("Runs and their actions", _width(made))
    _plot(plots.action_mix(made.actions, made.changes, theme), "actions")
    _changes(plots.numbered(made.changes, made.found.buckets))
    _table(tables.over_time(made))
    with st.container(key="mon-charts"):
        left, right = st.columns(2, gap="large")
        with left:
            heading("Web rate", "share of runs that searched the web; dotted: the four weeks before")
            _plot(plots.over_time(made.web, "web", theme, before=made.before["web"]), "web")
        with right:
            heading("Rewrites per question", "dashed: 0.5, above which your documents may not cover the questions")
            _plot(plots.rewrites(made.rewrites, made.before["rewrites"], theme), "rewrites")
        left, right = st.columns(2, gap="large")
        with left:
            heading("Best score of each run", "of the chunks acted on")
            _plot(plots.scores(made.scores, made.scores_before, theme), "scores")
            _table(tables.of_scores(made.scores, made.scores_before))
        with right:
            heading("Latency by step", "logarithmic")
            _plot(plots.latency(made.latency, theme), "latency")
            _table(tables.of_latency(made.latency))
        left, right = st.columns(2, gap="large")
        with left:
            heading("Failures", "by who failed and why")
            if made.failures:
                _table(tables.of_failures(made.failures), folded=False)
            else:
                st.caption("Nothing failed in this span.")
        with right:
            _spent(made, theme)
        left, right = st.columns(2, gap="large")
        with left:
            _faithful(made, theme)
        with right:
            _gaps(made)


def _width(made: Board) -> str:
    since, until = (words.moment(each.isoformat(), "") for each in (made.found.since, made.found.until))
    name = {"hour": "an hour", "day": "a day", "week": "a week"}[made.found.width]
    return f"a bar {name}, {since} to {until} UTC; click a bar to list its runs"


def _spent(made: Board, theme: str) -> None:
    if not any(each.calls for each in made.spending.values()):
        heading("Outside calls and cost")
        st.caption("No outside calls: local models make none and cost nothing.")
        return
    priced = any(each.dollars for each in made.spending.values())
    heading("Outside calls and cost", "dollars, as far as prices are known" if priced else "calls: no price is known")
    _plot(plots.spending(made.spending, theme), "calls")


def _faithful(made: Board, theme: str) -> None:
    if any(each.value is not None for each in made.faithfulness.values()):
        heading("Faithfulness", "share of sentences that their sources support")
        _plot(plots.over_time(made.faithfulness, "faithful", theme, before=made.before["faithfulness"]), "faithful")


def _gaps(made: Board) -> None:
    count = figures.gaps(made.found.runs)
    if count:
        heading("Coverage gaps", "what the documents do not answer")
        st.markdown(f"{words.count(count, 'run')} found no answer in the documents.")
        with st.container(horizontal=True):
            st.button("List these runs", key="mon-gap-runs", type="tertiary", on_click=_list, args=("gaps",))
            st.button("Look at the gaps in Documents", key="mon-gaps", type="tertiary", on_click=_to_gaps)


def _to_gaps() -> None:
    st.session_state["gaps-open"] = True
    navigation.go("documents")


def _changes(found: Mapping[str, Sequence[tuple[int, Change]]]) -> None:
    """What changed, by the numbers in the chart."""
    items = [
        f"**{number}** {markdown(f'{plots.bucket_text(bucket)}: {change_sentence(each.kind, each.what)}')}"
        for bucket, group in found.items()
        for number, each in group
    ]
    if items:
        st.caption(" · ".join(items))


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
    mark = data[0] if isinstance(data, list | tuple) and data else data
    _note(key, mark if isinstance(mark, str) else None)


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
    heading("This week", "the last seven days beside the four weeks before, with 95 % intervals")
    _table(tables.of_groups(figures.weeks(made.found), "week", "Time", _WEEKS.__getitem__), folded=False)
    heading("Compared", "all figures with their 95 % intervals")
    by = forms.one_of("Compare by", {name: title for name, (title, _) in _BY.items()}, "mon-by")
    head, named = _BY[by]
    _table(tables.of_groups(figures.groups(made.found.runs, by), by, head, named), folded=False)


def _files(made: Board) -> None:
    by: figures.By = st.session_state.get("mon-by") or "strategy"
    with st.popover("Export"):
        downloads.table("Runs", lambda: tables.export_runs(made.found.runs), "monitor-runs", key="mon-runs")
        downloads.table("Over time", lambda: tables.export_over_time(made), "monitor-over-time", key="mon-time")
        downloads.table(
            "Compared",
            lambda: tables.export_groups(figures.groups(made.found.runs, by), by),
            f"monitor-{by}",
            key="mon-groups",
        )
