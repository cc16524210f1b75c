"""The Demo page: a wall of recorded stories, each over the whole window, over an empty library too."""

import pytest
from streamlit.testing.v1 import AppTest

from crag.analysis import tour
from crag.core.trace import Trace
from tests.support.app_text import pick, said, visit
from tests.support.tab_states import state_in
from ui.app.program import program
from ui.components.downloads import OffersState


@pytest.fixture
def demo() -> AppTest:
    return visit("demo")


def test_each_story_plays_and_ends(demo: AppTest) -> None:
    assert "Plain RAG was misled <b>2</b> of 3 times" in said(demo) and "CRAG was misled <b>0</b> of 3" in said(demo)
    for story, slides in {"correct": 6, "ambiguous": 7, "incorrect": 8, "break": 4}.items():
        demo.button(key=f"demo-play-{story}").click().run()
        assert demo.query_params["story"] == story and said(demo).count('<section class="scene') == slides
        assert "slideshow" not in said(pick(demo, "present:close"))
    assert program().engine.library().size == (0, 0) and program().engine.library().runs.ids() == []


def test_a_story_is_saved_as_a_page_that_replays(demo: AppTest) -> None:
    saved = state_in(demo, OffersState).by_key
    assert set(saved) == {f"demo-save-{story}" for story in ("correct", "ambiguous", "incorrect")}
    page, run = str(saved["demo-save-ambiguous"].make()), Trace.from_events(tour.load_story("ambiguous"))
    assert run.meant in page and "cx replay toolbar" in page and " src=" not in page


def test_both_sides_of_each_situation_are_shown(demo: AppTest) -> None:
    demo.button(key="demo-play-break").click().run()
    page = said(demo)
    assert page.count('class="pair"') == 3 and "An order to the model" in page and "Says 4.0 percent" in page


def test_without_recordings_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setattr(tour, "STORIES", tmp_path)
    assert "The recorded run correct can" in said(visit("demo"))


def test_an_unknown_story_in_the_address_shows_the_wall(demo: AppTest) -> None:
    demo.query_params["present"], demo.query_params["story"] = "1", "<b>other</b>"
    demo.run()
    assert not demo.exception and "slideshow" not in said(demo) and demo.button(key="demo-play-correct")
