"""Limits in the app: shown in Settings, and said where one is near or reached."""

from tests.support.app_text import plain
from ui.app.program import program


def test_every_limit_is_shown_with_what_is_used_of_it_and_where_it_is_set(app):
    app.run()
    app.switch_page("pages/settings.py").run()
    assert not app.exception
    for part in ("0 of 600 questions", "$0.00 of $50.00", "of 50,000 MB", "CRAG_ALL_DOLLARS_DAY"):
        assert part in plain(app), part


def test_who_does_not_run_the_program_sees_the_limits_alone(app, monkeypatch):
    monkeypatch.setenv("CRAG_WORKSPACES", "private")
    app.run()
    app.switch_page("pages/settings.py").run()
    assert not app.exception and "600 questions" in plain(app) and "of 600" not in plain(app)


def test_a_refused_question_says_when_it_may_be_asked_and_four_fifths_are_told(app, monkeypatch):
    monkeypatch.setenv("CRAG_ALL_QUESTIONS_MINUTE", "1")
    engine = program().engine
    for _ in engine.add("moon.txt", b"The moon circles the earth in twenty-seven days."):
        pass
    engine.teams.quotas.ask()
    app.run()
    assert "1 of 1 questions this minute" in plain(app)
    app.chat_input(key="question").set_value("How long does the moon take?").run()
    assert "Only 1 question a minute may be asked here." in plain(app)
    assert "Ask again in" in plain(app) and engine.library().runs.ids() == []
