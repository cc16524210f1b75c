"""The sample's pages in place of the web: one session's choice, whatever others do, and gone with the sample."""

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from crag.core.sample import Sample, load_sample
from crag.engine import Engine
from tests.support import local_models
from tests.support.app_text import said, visit
from tests.support.small_pdf import small_pdf
from tests.support.tab_states import state_in
from ui.access import allowed_choices
from ui.app.program import program
from ui.app.tab import ChoicesState


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
    visitor.button(key="sample").click().run()
    assert not visitor.exception and "Three questions to try" in said(visitor)
    return visitor


def address(visitor: AppTest) -> dict[str, str]:
    return {"w": visitor.query_params["w"]} if "w" in visitor.query_params else {}


def web_of(visitor: AppTest) -> object:
    return state_in(visitor, ChoicesState).choices.get("web_folder")


def test_loading_the_sample_is_the_session_s_choice_and_changes_nothing_for_others(workspaces, data):
    first = loaded(visit())
    assert web_of(first) == load_sample().web
    assert program().config.providers.web == "off" and not (data / "settings.json").exists()
    if workspaces == "private":
        assert web_of(visit()) is None


def test_a_session_that_comes_back_to_the_sample_has_its_web_again(workspaces):
    first = loaded(visit())
    again = visit(**address(first))
    assert web_of(again) == load_sample().web
    again.button(key="try-2").click().run()
    assert "From the web" in said(again)


def test_the_sample_s_pages_are_not_taken_along_to_another_library(monkeypatch):
    monkeypatch.setenv("CRAG_WORKSPACES", "private")
    visitor = loaded(visit())
    visitor.query_params.clear()
    visitor.query_params["w"] = program().engine.private_libraries.issue()
    visitor.run()
    assert web_of(visitor) is None


def test_no_other_folder_of_the_machine_can_be_chosen_where_others_visit(tmp_path):
    own = program().config
    chosen = {"web": "folder", "web_folder": tmp_path}
    assert allowed_choices.permitted(own, chosen, shared=True).providers.web_folder is None
    chosen["web_folder"] = load_sample().web
    assert allowed_choices.permitted(own, chosen, shared=True).providers.web_folder == load_sample().web
