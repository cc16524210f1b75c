"""The guided tour on the Compare page: started, stopped from running twice, and shown with both sides of each step."""

from __future__ import annotations

import threading

import pytest
from streamlit.testing.v1 import AppTest

from tests.support.app_text import said
from ui.app.program import program


@pytest.fixture
def compare(app: AppTest) -> AppTest:
    app.run()
    app.session_state["tour-panel"] = True
    app.switch_page("pages/compare.py").run()
    assert not app.exception
    return app


def test_it_is_offered_over_an_empty_library_with_the_samples_questions(compare: AppTest) -> None:
    assert compare.button(key="tour-start").label == "Start the tour"
    assert program().engine.sample().questions[0].question in compare.selectbox(key="tour-question").options


def test_a_second_tour_waits_for_the_first(compare: AppTest) -> None:
    release = threading.Event()
    job = program().jobs.start("tour", "another", lambda cancel, emit: release.wait(60) and None, workspace="elsewhere")
    compare.button(key="tour-start").click().run()
    release.set()
    list(job.follow())
    assert not compare.exception and "A tour is under way" in compare.toast[0].value
    assert not program().jobs.running("tour")


@pytest.mark.slow
def test_all_situations_are_shown_with_both_sides(compare: AppTest) -> None:
    compare.button(key="tour-start").click().run()
    (job,) = program().jobs.running("tour")
    list(job.follow())
    compare.run()
    page = said(compare)
    assert not compare.exception and not job.error
    assert page.count("Plain RAG") >= 6 and "6. An order to the model" in page and "Says 4.0 percent" in page
    assert program().engine.library().size == (0, 0)
