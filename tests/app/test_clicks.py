"""Permission at the moment of a click: a role that was lowered since the button was drawn refuses it, and all ask."""

import ast
import importlib
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from crag.admin.roles import Actor
from crag.admin.workspaces import own_name
from crag.core.errors import AccessError
from crag.core.trace import Trace
from crag.runtime.jobs import Job
from tests.support.product import ROOT, modules, tree_of
from tests.support.whole_run import asked_outside
from ui.access.current import Presence
from ui.app import clicks
from ui.app.clicks import CLICKS
from ui.app.program import program

OWN_TAB = {
    f"{module}: {name}"
    for module, names in {
        "ui/access/workspaces.py": ["_leave"],
        "ui/administration/spaces.py": ["_open"],
        "ui/app/guide.py": ["navigation.go", "workspace_entry.go"],
        "ui/app/tables.py": ["on_select", "partial(_open, session, run_of, key)"],
        "ui/app/workspace_menu.py": ["_chose", "workspace_entry.leave_link"],
        "ui/ask/conversation.py": [
            "_chosen",
            "_limit",
            "_put_back",
            "_stop_waiting",
            "_widen",
            "session.reset",
            "session.select",
        ],
        "ui/ask/conversations.py": ["_widen"],
        "ui/ask/refusal.py": ["navigation.go"],
        "ui/ask/runview.py": ["presentation.enter", "state.prepare"],
        "ui/ask/sliders.py": ["_back"],
        "ui/ask/welcome.py": ["navigation.go"],
        "ui/demo/page.py": ["_play"],
        "ui/compare/page.py": ["_add", "_remove", "state.select"],
        "ui/components/rail.py": ["keep"],
        "ui/documents/bulk_actions.py": ["table.pick"],
        "ui/documents/contents.py": ["partial(_turn_to, key, shown)"],
        "ui/documents/map_view.py": ["_clear", "_forget_job", "_list", "_select", "tables.show_run"],
        "ui/documents/gaps.py": ["once(tables.show_run)"],
        "ui/documents/progress.py": ["close"],
        "ui/documents/table.py": ["partial(_take, here.table, ids)"],
        "ui/evaluate/funnel.py": ["_follow"],
        "ui/evaluate/results.py": ["navigation.go"],
        "ui/monitor/page.py": ["_list", "partial(_clicked, key)", "partial(_picked, key, table)"],
        "ui/run/pageview.py": ["_turn", "close"],
        "ui/settings/choices.py": ["_forget", "session.switch"],
        "ui/settings/controls.py": ["_forget", "_took"],
        "ui/settings/models.py": ["session.unchoose"],
        "ui/settings/servers.py": ["_ask_for_list", "_look_again", "_use_server"],
        "ui/signin/page.py": ["signed_in.leave"],
        "ui/tune/page.py": ["sliders.move"],
        "ui/tune/sliders.py": ["move"],
    }.items()
    for name in names
}
"""Callbacks that change nothing but what their own browser tab shows, remembers or chooses for its next question."""
HANDED_IN = {"ui/app/clicks.py: work"}
"""A callback that is a parameter: `confirm` takes none but those that ask."""
CHANGES = re.compile(
    r"(documents\.(delete|describe)|runs\.(delete|restore)|conversations\.(create|rename|delete)|labels\.(save|delete)|evaluations\.(delete|delete_set)"
    r"|purges\.(purge|undo)|people\.(invite|change_role|remove)"
    r"|spaces\.(make|adopt|rename|hand_over|share|unshare|delete)|links\.(issue|end)"
    r"|jobs\(?\)?\.(begin|start)|job\.(answer|stop)|server\.end|engine\.(remove|add|add_files|reconfigure)|\.configure"
    r"|pages\.(add|refresh))$|^(add_set|keep|verify)$"
)
"""Calls by which the app changes what is stored, or what other people's tabs and runs depend on."""
ELSEWHERE = {
    "ui/app/program.py: Program.configure": "each page that calls it asks",
    "ui/app/program.py: stop_of_removed": "the program itself, for who may no longer",
    "ui/app/session.py: Session._start_run": "called by start, which asks",
    "ui/app/sharing.py: _workspace": "called by dialog, which asks in each run of it; the engine asks again",
    "ui/app/sharing.py: _members": "as _workspace",
    "ui/app/sharing.py: _member": "as _workspace",
    "ui/app/sharing.py: _links": "as _workspace",
    "ui/app/sharing.py: _link": "as _workspace",
    "ui/access/current.py: Presence.stop": "asks by _require_for",
    "ui/access/current.py: Presence.answer": "asks by _require_for",
    "ui/documents/map_view.py: _begin": "a cache of what who is here may see is brought up to date",
    "ui/documents/uploads.py: _add": "called by uploads.begin, which asks",
    "ui/documents/uploads.py: start": "called by uploads.begin, which asks",
    "ui/evaluate/evaluation_job.py: _stepped": "within the job that start began, which asks",
    "ui/settings/costs.py: _keep": "called by _prices, which asks",
}


def app_modules() -> Iterator[tuple[str, Path]]:
    for path in modules():
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith("crag/"):
            yield name, path


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """The functions and methods of a module by name; what is defined within one belongs to it."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{each.name}", each) for each in node.body if isinstance(each, ast.FunctionDef))


def asks(function: ast.FunctionDef, before: int = 10**9) -> bool:
    """Whether it asks for a permission, before that line."""
    if any("requires(" in ast.unparse(each) for each in function.decorator_list):
        return True
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call) and node.lineno < before]
    said = [f"{ast.unparse(node.func)}|{'now=True' in ast.unparse(node)}" for node in calls]
    return any(re.search(r"(\.require|^clicks\.(stop|answer))\||\|True$", each) for each in said)


def callback(node: ast.AST) -> ast.expr | None:
    """What a widget is given to call: as `on_click` and its like, or by `clicks.button`."""
    if isinstance(node, ast.keyword) and (node.arg or "").startswith("on_"):
        known = isinstance(node.value, ast.Constant) or node.arg in ("on_pick_change", "on_progress")
        return None if known else node.value
    return node.args[2] if isinstance(node, ast.Call) and ast.unparse(node.func) == "clicks.button" else None


def callbacks() -> dict[str, bool]:
    """Each callback of the app, and whether it asks."""
    found: dict[str, bool] = {}
    for name, path in app_modules():
        tree = tree_of(path)
        known = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        for work in filter(None, map(callback, ast.walk(tree))):
            said = re.sub(r"^(?:clicks\.)?once\((\w+)\)$", r"\1", ast.unparse(work))
            module, _, function = said.rpartition(".")
            other = path.with_name(f"{module}.py")
            of = known.get(said) or (dict(functions(tree_of(other))).get(function) if other.is_file() else None)
            found[f"{name}: {said}"] = said in ("stop", "clicks.stop", "clicks.answer") or (of is not None and asks(of))
    return found


def test_every_callback_asks_at_the_click_or_changes_its_own_tab_alone() -> None:
    found = callbacks()
    assert len(found) > 50
    silent = {name for name, asking in found.items() if not asking} - HANDED_IN
    assert silent - OWN_TAB == set(), "let it ask: ui.app.clicks.requires"
    assert not OWN_TAB - silent, "no longer there, or it asks by now"


def test_whatever_changes_something_asks_before_it() -> None:
    silent, seen = set(), 0
    for name, path in app_modules():
        for function, node in functions(tree_of(path)):
            for call in (each for each in ast.walk(node) if isinstance(each, ast.Call)):
                if not CHANGES.search(ast.unparse(call.func)):
                    continue
                seen += 1
                if not asks(node, call.lineno):
                    silent.add(f"{name}: {function}")
    assert silent == ELSEWHERE.keys() and seen > 40


def test_each_click_that_is_refused_says_so_and_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, path in app_modules():
        if name.startswith("ui/"):
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    shown: list[AccessError] = []
    monkeypatch.setattr("ui.components.problems.announce", shown.append)

    class Refusing(Presence):
        def __init__(self) -> None: ...

        def require(self, act: str, what: str = "") -> None:
            raise AccessError(f"{act}: {what}")

    assert len(CLICKS) >= 10
    for name, act in CLICKS.items():
        module, _, function = name.rpartition(".")
        getattr(importlib.import_module(module), function)(Refusing())  # what it does needs more, and would raise
        assert shown.pop().message.startswith(f"{act}: ")


def test_a_click_that_is_sent_twice_is_done_once_for_each_drawing() -> None:
    done: list[str] = []
    drawn = clicks.once(done.append)
    drawn("first")
    drawn("first")
    clicks.once(done.append)("second")
    assert done == ["first", "second"]


# Drawn for who may, clicked by who may no longer


@pytest.fixture
def people(people):
    """Anna shares her workspace with Ben."""
    share(people, "viewer")
    return people


def share(people, role) -> None:
    anna = people["anna"]
    by = Actor(name=anna.email, id=anna.id)
    program().engine.teams.spaces.share(own_name(anna.id), "person", people["ben"].id, role, by)


def tab_of(who: str, script, **given) -> AppTest:
    tab = AppTest.from_function(script, default_timeout=60)
    tab.session_state["as"] = who
    for name, value in given.items():
        tab.session_state[name] = value
    return tab


def refused(tab: AppTest) -> str:
    assert not tab.exception
    return " ".join(each.value for each in tab.toast).replace("\\", "")


def approving() -> None:
    import streamlit as st

    from ui.app.session import Session
    from ui.run import approval

    approval.ask(Session(), st.session_state["job"], st.session_state["trace"])


@pytest.mark.parametrize("role", ["viewer", "reader"])
def test_a_web_query_is_approved_by_who_may_ask_when_they_click(people, role) -> None:
    space, over = own_name(people["anna"].id), threading.Event()
    job: Job = program().jobs.begin(Job("run", "q", lambda cancel, emit: over.wait(60), space))
    tab = tab_of("ben", approving, job=job, trace=Trace.from_events(asked_outside()))
    tab.query_params["ws"] = space
    tab.run()
    share(people, role)
    tab.button(key="send-1").click().run()
    over.set()
    assert job.answered(1) is (role == "viewer")
    assert ("read-only" in refused(tab)) is (role == "reader")
    if role == "reader":
        [entry] = program().engine.teams.audit.entries(act="refused")
        assert (entry.who, entry.what, entry.workspace) == ("ben@example.org", "answer", space)


def unloading() -> None:
    import streamlit as st

    from ui.app.session import Session
    from ui.settings import servers

    st.button("Unload", key="unload", on_click=servers._unload, args=(Session(), st.session_state["server"]))


@pytest.mark.parametrize("role", ["admin", "editor"])
def test_a_model_is_unloaded_by_who_is_admin_when_they_click(people, role) -> None:
    ended: list[bool] = []
    tab = tab_of("cleo", unloading, server=SimpleNamespace(end=lambda: ended.append(True))).run()
    program().engine.teams.people.change_role(people["cleo"].id, role, by="dora@example.org")
    tab.button(key="unload").click().run()
    assert ended == ([True] if role == "admin" else [])
    assert ("Only an admin" in refused(tab)) is (role == "editor")
