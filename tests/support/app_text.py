"""What a page of the app says, for assertions, and clicks on what it draws."""

import json

from streamlit.testing.v1 import AppTest

from crag.core.trace import Trace
from tests.support.app_server import ROOT
from tests.support.tab_states import state_in
from ui.app.program import program
from ui.components.click_bridge import Clicks


def visit(page: str = "", who: str = "", **address: object) -> AppTest:
    """A browser of its own, opening the app at an address and then a page, by its name; `who` is in it."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.session_state["as"] = who
    for name, value in address.items():
        app.query_params[name] = value
    app.run()
    if page:
        app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    return app


def ask(app: AppTest, question: str) -> Trace:
    """The run of a question that is asked on the Ask page, which was shown before."""
    app.chat_input(key="question").set_value(question).run()
    assert not app.exception
    return latest()


def over(app: AppTest) -> AppTest:
    """The page after all jobs under way have ended."""
    for job in program().jobs.running():
        for _ in job.follow():
            pass
    app.run()
    assert not app.exception
    return app


def latest() -> Trace:
    """The last run of the one library."""
    runs = program().engine.library().runs
    return runs.trace(runs.latest(1)[0].run_id)


def plain(app: AppTest) -> str:
    """Everything the page says, without what keeps Markdown from reading it."""
    return said(app).replace("\\", "")


def said(app: AppTest) -> str:
    """Everything the page says, tags and all."""
    html = [element.proto.body.replace("&#x27;", "'") for element in app.get("html")]
    text = [*app.markdown, *app.error, *app.warning, *app.success, *app.info, *app.caption, *app.title, *app.header]
    cells = [str(cell) for table in app.table for row in [table.value.columns, *table.value.to_numpy()] for cell in row]
    bars = [element.proto.text for element in app.get("progress")]
    folds = [expander.label for expander in app.expander]
    escaped = (each.replace("\\", "") for each in (*bars, *cells))
    return "\n".join([*html, *(str(element.value) for element in text), *folds, *escaped])


def select(app: AppTest, key: str, row: int, column: str) -> AppTest:
    """A click on a cell of the table of this key, as the browser tells of it."""
    [table] = [each for each in app.dataframe if each.proto.id.endswith(f"-{key}")]
    states = app._tree.get_widget_states()
    state = states.widgets.add()
    state.id = table.proto.id
    state.string_value = json.dumps({"selection": {"rows": [], "columns": [], "cells": [[row, column]]}})
    return app._run(states)


def pick(app: AppTest, what: str) -> AppTest:
    """A click on what is drawn with this data-pick, as the browser tells of it; the page was shown before."""
    clicks = state_in(app, Clicks)
    clicks.take([[clicks.heard + 1, what]])
    return app.run()
