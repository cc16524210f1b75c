"""The Monitor page: empty, with few runs, filtered; a mark's runs in a list; other libraries for who administers."""

from datetime import UTC, datetime, timedelta

import pytest

from crag.analysis.monitoring.figures import mark
from tests.support.app_text import said, select, visit
from tests.support.tab_states import state_in
from tests.support.tune_runs import run
from ui.access.visitor import Visitor
from ui.app.program import program
from ui.app.tab import PageState
from ui.monitor import stored
from ui.monitor.page import MonitorState


def lately(number, scores, *, hours=1.0, **more):
    """A run of so many hours ago."""
    from dataclasses import replace

    at = (datetime.now(UTC) - timedelta(hours=hours)).isoformat(timespec="milliseconds")
    return replace(run(number, scores, **more), started_at=at, run_id=f"run{number}")


@pytest.fixture
def tab():
    """The Monitor page, run once; call it to have runs stored before."""

    def opened(*traces, workspace="default"):
        for trace in traces:
            program().engine.library(workspace).runs.save(trace, [])
        return visit("monitor")

    return opened


def sentences(app):
    """What the page says of its runs, as text."""
    return "\n".join([said(app), *(button.label for button in app.button)]).replace("\\", "")


def picked(app, mark):
    """The list that opens where a mark is clicked."""
    state_in(app, MonitorState).mark = mark
    app.run()
    assert not app.exception
    return said(app)


def test_without_runs_it_says_what_to_do(tab):
    app = tab()
    assert "No runs yet." in said(app) and not app.get("plotly_chart")
    app.button(key="mon-to-ask").click().run()
    assert not app.exception and state_in(app, PageState).wanted == "ask"


def test_runs_of_a_chosen_span_and_strategy_are_drawn(tab):
    app = tab(*(lately(number, [0.9]) for number in range(3)), lately(9, [0.01], strategy="paper", hours=50))
    text = sentences(app)
    assert "4 runs: 75% CORRECT, 0% AMBIGUOUS, 25% INCORRECT" in text
    app.segmented_control(key="mon-span").set_value("day").run()
    assert "3 runs" in sentences(app)
    app.selectbox(key="mon-strategy").set_value("paper").run()
    assert "No runs" in said(app)
    assert not app.exception


def test_a_mark_lists_just_its_runs_each_of_which_opens(tab):
    app = tab(lately(1, [0.9]), lately(2, [0.01], question="Which harbour?"), lately(3, [0.01], hours=30))
    day = (datetime.now(UTC) - timedelta(hours=1)).date().isoformat()
    picked(app, mark("time", "INCORRECT", day))
    listed = [each.value for each in app.dataframe if "Question" in each.value][-1]
    assert list(listed["Question"]) == ["Which harbour?"]
    select(app, "mon-table-By strategy", 0, "Runs")
    [listed] = [each.value for each in app.dataframe if "Question" in each.value]
    assert len(listed) == 3
    assert "**All runs**: 3 runs." in picked(app, mark("span", "runs"))
    assert "runs." not in picked(app, "time|CORRECT|<b>")


class Here:
    """A session of somebody."""

    def __init__(self, administers: bool) -> None:
        self.workspace = "default"
        self.visitor = Visitor(name="x", role="editor", administers=administers)
        self.library = program().engine.library()

    def may(self, act: str) -> bool:
        return self.visitor.may(act)  # type: ignore[arg-type]


def test_other_libraries_are_seen_by_who_administers_alone(tab):
    tab(lately(1, [0.9]))
    program().engine.library("other").runs.save(lately(2, [0.9]), [])
    program().engine.library("other").rest()  # what lies in its file is listed
    other, admin = Here(administers=False), Here(administers=True)
    assert list(stored.workspaces(other)) == ["default"]
    for wanted in ("other", stored.ALL, "default"):
        assert {each.run_id for each in stored.seen(other, wanted).runs} <= {"run1"}
    assert list(stored.workspaces(admin)) == ["default", "other"]
    assert {each.run_id for each in stored.seen(admin, stored.ALL).runs} == {"run1", "run2"}
    assert {each.run_id for each in stored.seen(admin, "other").runs} == {"run2"}
