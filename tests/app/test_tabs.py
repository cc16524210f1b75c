"""Tabs in the app: what was refused is said, what a tab remembers stays small."""

import re

from tests.support.app_server import ROOT
from ui.app import notices, open_tabs
from ui.app.open_tabs import OpenTabs


def test_refused_files_are_said_in_one_line_and_once(app) -> None:
    for line in ("Add fewer.", "Add fewer.", "Later."):
        notices.put_message("test session id", line)
    notices.put_message("another tab", "Not here.")
    app.run()
    lines = [each.value.replace("\\", "") for each in app.toast]
    assert lines == ["2 files were not accepted. Add fewer.", "1 file was not accepted. Later."]
    app.run()
    assert not app.toast


def test_a_tab_is_open_as_long_as_its_connection_and_its_session_lives_a_while_longer(monkeypatch) -> None:
    now = [0.0]
    register = OpenTabs(lambda: 120.0, lambda: now[0])
    monkeypatch.setattr(open_tabs.script_context, "session_id", lambda: "one")
    with register.opened() as tab:
        assert not register.alive("one"), "its script has not run yet"
        monkeypatch.setattr(open_tabs, "current", lambda: "a tab that somebody made up")
        register.note()
        assert not register.alive("one")
        monkeypatch.setattr(open_tabs, "current", lambda: tab)
        register.note()
        assert register.alive("one") and not register.alive("")
    assert register.alive("one")
    now[0] = 119.0
    assert register.alive("one")
    now[0] = 121.0
    assert not register.alive("one")


def test_a_tab_remembers_at_most_fifteen_objects_beside_its_widgets() -> None:
    calls = (re.findall(r"tab_state\(([A-Z]\w+)\)", path.read_text("utf-8")) for path in (ROOT / "ui").rglob("*.py"))
    assert "RunsState" in (kinds := {kind for found in calls for kind in found}) and len(kinds) <= 15
