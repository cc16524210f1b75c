"""The sample's pages in place of the web: for questions on the sample alone, and nobody's choice."""

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from crag.core.filters import Scope
from crag.core.sample import Sample, load_sample
from crag.engine import Engine
from tests.support import local_models
from tests.support.app_text import ask, said, visit
from tests.support.small_pdf import small_pdf
from tests.support.tab_states import state_in
from ui.access import allowed_choices
from ui.app.program import program
from ui.app.tab import ChoicesState, RunsState


@pytest.fixture(autouse=True)
def small_sample(data, tmp_path_factory):
    """The sample with a report of one page, which is read at once; a test of the Ask page loads the whole one."""
    report = tmp_path_factory.mktemp("sample") / "report.pdf"
    report.write_bytes(small_pdf("The agency negotiated a premium increase of four percent for the plan year 2020."))

    class Small(Engine):
        def sample(self) -> Sample:
            return replace(super().sample(), pdf=report)

    program().make = lambda config: Small(config, **local_models.parts())


@pytest.fixture(params=["one", "private"])
def workspaces(request, monkeypatch) -> str:
    monkeypatch.setenv("CRAG_WORKSPACES", request.param)
    return request.param


def loaded(visitor: AppTest) -> AppTest:
    visitor.switch_page("pages/documents.py").run()
    visitor.button(key="sample").click().run()
    visitor.switch_page("pages/ask.py").run()
    assert not visitor.exception and "Three questions to try" in said(visitor)
    return visitor


def address(visitor: AppTest) -> dict[str, str]:
    return {"w": visitor.query_params["w"]} if "w" in visitor.query_params else {}


def test_loading_the_sample_chooses_nothing_for_anybody(workspaces, data):
    first = loaded(visit())
    assert state_in(first, ChoicesState).choices == {} and program().config.providers.web == "off"
    assert not (data / "settings.json").exists() and not (data / "choices.json").exists()


def test_a_session_that_comes_back_to_the_sample_has_its_web_again(workspaces):
    first = loaded(visit())
    again = visit(**address(first))
    again.button(key="try-2").click().run()
    assert "From the web" in said(again)


def test_the_sample_s_pages_are_searched_for_no_other_document():
    visitor, question = loaded(visit()), load_sample().questions[2].question
    assert "search the pages that come with it" in said(visit("settings"))
    assert ask(visitor, question).searches
    list(program().engine.add("own.txt", b"A ferry leaves the quay of Rostock at nine in the morning."))
    assert not ask(visitor, question).searches, "the web is what the person had: off"
    assert "search the pages that come with it" not in said(visit("settings"))
    state_in(visitor, RunsState).scope = Scope((program().engine.sample().document_id,))
    assert ask(visitor, question).searches, "the sample alone is asked"


def test_a_web_or_none_that_was_chosen_is_the_web_of_the_sample_too():
    visitor, question = loaded(visit()), load_sample().questions[2].question
    state_in(visitor, ChoicesState).chose_web = True
    assert not ask(visitor, question).searches


def test_no_folder_of_the_machine_can_be_chosen_where_others_visit(tmp_path):
    for folder in (tmp_path, load_sample().web):
        chosen = {"web": "folder", "web_folder": folder}
        assert allowed_choices.permitted(program().config, chosen, shared=True).providers.web_folder is None
