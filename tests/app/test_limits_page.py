"""Limits in the app: shown in Settings, and said where one is near or reached."""

from tests.support.app_text import plain, visit
from ui.app.program import program


def test_every_limit_is_shown_with_what_is_used_of_it_and_where_it_is_set():
    page = plain(visit("settings"))
    for part in ("0 of 600 questions", "$0.00 of $50.00", "of 50,000 MB", "CRAG_ALL_DOLLARS_DAY"):
        assert part in page, part


def test_who_does_not_run_the_program_sees_the_limits_alone(monkeypatch):
    monkeypatch.setenv("CRAG_WORKSPACES", "private")
    page = plain(visit("settings"))
    assert "600 questions" in page and "of 600" not in page


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
