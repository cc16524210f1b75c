"""Tune, “Learn from your labels”: what is learned is shown, used at a click, and put away at another."""

from __future__ import annotations

from crag.analysis.evaluate import add_set
from crag.analysis.questions.sets import Question, QuestionSet
from crag.evaluation.adaptation import read_adaptation
from tests.support.app_text import said
from tests.support.tune_runs import add_report, run
from ui.app.program import program


def opened(app, count):
    """Tune over runs that score one page high, which a set calls right two times in three."""
    library = program().engine.library()
    add_report(library, program().engine.embedder.dimension)
    questions = []
    for number in range(count):
        library.runs.save(run(number, [0.97, 0.03], strategy="paper", evaluator="local-6"), [])
        page = 1 if number % 3 else 2
        asked = f"Why did it happen in {number}?"
        questions.append(Question(id=str(number), question=asked, sources=("report.pdf",), pages=(page,)))
    add_set(library, QuestionSet(name="known", questions=tuple(questions)))
    app.run()
    app.switch_page("pages/tune.py").run()
    app.selectbox(key="tune-strategy").set_value("paper").run()
    assert not app.exception
    return app


def test_what_is_learned_is_shown_then_used_then_put_away(app):
    page, library = opened(app, 60), program().engine.library()
    words = said(page)
    assert "It helps: log loss" in words and "labelled retrievals are needed; 0 are there" in words
    assert "60 of 60 stored runs would change: 60 from CORRECT to AMBIGUOUS" in words
    page.button(key="tune-adapt").click().run()
    assert "In use, learned on" in said(page) and page.button(key="tune-adapt").disabled
    used = read_adaptation(library.labels.adaptation())
    assert used is not None and used.chunks is not None and used.chunks.labels == 120
    page.button(key="tune-unadapt").click().run()
    assert "The shipped scores are in use" in said(page) and library.labels.adaptation() == ""


def test_too_few_labels_are_said_and_nothing_can_be_used(app):
    page = opened(app, 4)
    assert "At least 30 labelled chunks are needed; 8 are there." in said(page)
    assert page.button(key="tune-adapt").disabled and not [each for each in page.button if each.key == "tune-unadapt"]
