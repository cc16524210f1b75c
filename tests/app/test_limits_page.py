"""Limits in the app: shown in Settings, changed there by who may, and said where one is near or reached."""

from datetime import UTC, datetime

import pytest

from tests.support.app_text import plain
from ui.app.program import program

WIDGET = "limit-default-{turn}-library_questions_minute"


@pytest.fixture
def settings(app):
    app.run()
    app.switch_page("pages/settings.py").run()
    assert not app.exception
    return app


def saved(app):
    return next(each for each in app.button if each.label == "Save limits").click().run()


def test_every_limit_is_shown_with_what_is_used_of_it(settings):
    shown = plain(settings)
    for part in ("0 of 50,000 documents", "0 of 600 questions", "$0.00 of $50.00", "of 5,000 MB", "no limit"):
        assert part in shown, part


def test_a_changed_limit_holds_at_once_and_another_s_change_is_not_overwritten(settings):
    settings.number_input(key=WIDGET.format(turn=0)).set_value(3)
    assert "Saved." in plain(saved(settings))
    quotas = program().engine.teams.quotas
    assert quotas.most("library_questions_minute", "default") == 3 and quotas.most("library_questions_minute") == 600
    [entry] = program().engine.teams.audit.entries(act="limit")
    assert (entry.who, entry.workspace, entry.detail) == ("owner", "default", "600 → 3")
    settings.number_input(key=WIDGET.format(turn=1)).set_value(9)
    quotas.change("default", "library_questions_minute", 5, seen=1, by="ada@example.org")
    saved(settings)
    assert "ada@example.org changed this limit meanwhile; it is 5." in plain(settings)
    assert quotas.most("library_questions_minute", "default") == 5
    settings.number_input(key=WIDGET.format(turn=2)).set_value(9)
    saved(settings)
    assert quotas.most("library_questions_minute", "default") == 9, "who has seen it may change it"
    next(each for each in settings.button if each.label == "Restore the previous limits").click().run()
    assert quotas.most("library_questions_minute", "default") == 600


def test_who_does_not_run_the_program_sees_what_applies_and_changes_nothing(app, monkeypatch):
    monkeypatch.setenv("CRAG_WORKSPACES", "private")
    monkeypatch.setenv("CRAG_ALL_QUESTIONS_MINUTE", "1000")
    app.run()
    app.switch_page("pages/settings.py").run()
    assert not app.exception and "0 of 600 questions" in plain(app) and "1,000 questions" in plain(app)
    assert not [each for each in app.number_input if str(each.key).startswith("limit-")]


def test_a_refused_question_says_when_it_may_be_asked_and_four_fifths_are_told(app, monkeypatch):
    monkeypatch.setenv("CRAG_LIBRARY_QUESTIONS_MINUTE", "4")
    engine, moment = program().engine, datetime.now(UTC)
    monkeypatch.setattr(engine.teams.quotas.usage, "now", lambda: moment)  # no minute ends meanwhile
    for _ in engine.add("moon.txt", b"The moon circles the earth in twenty-seven days."):
        pass
    for _ in range(4):
        engine.teams.quotas.ask("default")
    app.run()
    assert "The limit is reached: 4 questions this minute." in plain(app)
    app.chat_input(key="question").set_value("How long does the moon take?").run()
    assert "This workspace may be asked 4 questions a minute, and was asked as many." in plain(app)
    assert "Ask again in" in plain(app) and engine.library().runs.ids() == []
