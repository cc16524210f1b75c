"""The Compare page: lanes, what differs between them, forced twins, thumbs, and what is wrong in an address."""

import threading

import pytest

from crag.analysis.comparison import differences
from crag.core.sample import load_sample
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from crag.testing.fakes import FixedWeb
from tests.support import local_models
from tests.support.app_text import said, visit
from tests.support.tab_states import state_in
from ui.app.program import program
from ui.app.tab import PageState
from ui.compare.state import CompareState

QUESTION = load_sample().questions[0].question


@pytest.fixture
def page(with_sample):
    return visit("compare")


def compare(page, question=QUESTION, **chosen):
    page.text_area(key="compare-question").set_value(question).run()
    for key, value in chosen.items():
        page.selectbox(key=key.replace("_", "-")).set_value(value).run()
    page.button(key="compare-begin").click().run()
    assert not page.exception
    return page


def led_to(app):
    """The Compare page that a click led to: AppTest stays where it was and must be told to go there."""
    assert state_in(app, PageState).wanted == "compare"
    return app.switch_page("pages/compare.py").run()


def lanes(page) -> list[Trace]:
    return [program().engine.library().runs.trace(run) for run in page.query_params["runs"].split(",")]


@pytest.mark.slow
def test_an_empty_library_says_what_to_do():
    page = visit("compare")
    assert "no documents yet" in said(page)
    page.button(key="compare-to-documents").click().run()
    assert state_in(page, PageState).wanted == "documents"


def test_a_saved_configuration_stands_beside_its_strategy_by_its_name(page):
    strict = STRATEGIES["balanced"].settings.changed(upper=0.99, lower=0.97)
    program().engine.library().configurations.save("Strict", "balanced", strict)
    page = compare(page.run(), **{"cmp-strategy-0-0": "Strict"})
    assert [trace.settings["upper"] for trace in lanes(page)] == [0.99, 0.4]
    assert [trace.strategy for trace in lanes(page)] == ["balanced", "balanced"] and "<b>Strict</b>" in said(page)
    assert state_in(page, CompareState).ways[0].strategy == "Strict", "the next comparison begins there"


def test_plain_rag_stands_beside_balanced_with_what_differs(page):
    compare(page)
    plain, balanced = lanes(page)
    assert (plain.strategy, balanced.strategy) == ("plain-rag", "balanced") and plain.question == QUESTION
    shown = said(page)
    assert "What differs" in shown and f"{balanced.action} in the words" in shown
    for trace in (plain, balanced):
        assert shown.count(f'data-scope="{trace.run_id}"') >= 6, "each part of a lane says whose it is"
        assert f'data-pick="open:{trace.run_id}"' in shown
    found = differences([plain, balanced], ["Plain RAG", "Balanced"])
    assert found.marks[0].used, "plain RAG uses chunks that were dropped beside it"
    assert shown.count("used only here") == len(found.marks[0].used)
    assert shown.count("used in Plain RAG") == len(found.marks[1].unused)


def test_lanes_come_and_go_between_two_and_four(page):
    assert not [button for button in page.button if button.label == "Remove"]
    for _ in range(2):
        page.button(key="compare-add").click().run()
    assert page.button(key="compare-add").disabled
    turn = state_in(page, CompareState).turn
    page.button(key=f"cmp-remove-{turn}-0").click().run()
    assert not page.exception and state_in(page, CompareState).ways[0].strategy == "balanced"
    compare(page)
    assert len(lanes(page)) == 3 and 'class="tag deciding">C' in said(page)


def test_a_lane_acts_as_if_the_scores_had_said_something_else(page):
    compare(page, cmp_forced_0_1_graded="INCORRECT")
    _, forced = lanes(page)
    assert (forced.action, forced.decision.instead_of) == ("INCORRECT", "CORRECT")
    shown = said(page)
    assert "Balanced, as if INCORRECT" in shown and "The scores say CORRECT: together the passages fit" in shown
    assert ">forced</span>" in shown


def test_the_address_brings_a_comparison_back(page):
    compare(page)
    address, shown = page.query_params["runs"], said(page)
    again = visit("compare", runs=address)
    assert said(again).count("data-scope=") == shown.count("data-scope=")
    assert again.text_area(key="compare-question").value == QUESTION


def test_a_run_that_is_gone_is_told_and_left_out(page):
    compare(page)
    second = lanes(page)[1]
    page.query_params["runs"] = f"gone,{second.run_id}"
    page.run()
    assert not page.exception and "can't be read from this library" in said(page).replace("\\", "")
    assert page.query_params["runs"] == second.run_id


@pytest.mark.parametrize("runs", ["nobody", "a,b,c,d,e,f", "<script>", ","])
def test_a_made_up_address_is_refused_in_words(page, runs):
    page.query_params["runs"] = runs
    page.run()
    assert not page.exception and page.text_area(key="compare-question")


def test_a_source_of_one_lane_opens_and_closes(page):
    compare(page)
    run = lanes(page)[1].run_id
    state_in(page, CompareState).opened = (run, "cite:1")
    page.run()
    assert len(page.image) == 1 and "Source 1: " in said(page) and not page.error
    page.button(key="page-close").click().run()
    assert not page.image


def test_a_comparison_starts_from_a_run_of_ask(with_sample, app):
    app.run()
    app.selectbox(key="strategy-choice").set_value("paper").run()
    app.chat_input(key="question").set_value(QUESTION).run()
    led_to(app.button(key="compare-this").click().run())
    assert not app.exception and app.text_area(key="compare-question").value == QUESTION
    assert [app.selectbox(key=f"cmp-strategy-0-{n}").value for n in range(2)] == ["plain-rag", "paper"]


def test_each_lane_that_must_ask_asks_for_itself(with_sample, monkeypatch):
    """Two lanes wait for a word on the web query; each gets its own."""
    monkeypatch.setenv("CRAG_ASK_BEFORE_WEB", "true")
    web = FixedWeb(texts=("The airplane skidded because the runway was icy.",), name="tavily", leaves=True)
    program().make = lambda config: local_models.engine(config, web=web)
    page = visit("compare")
    over, asking = threading.Event(), set()

    def watch():
        while not over.wait(0.02):
            for job in program().jobs.running("run"):
                first, *events = job.events() or [None]
                if any(event.kind == "approval_asked" for event in events):
                    asking.add(first.run_id)  # the job is called so a little later
                    job.answer(1, False)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    page.selectbox(key="cmp-strategy-0-0").set_value("paper").run()
    compare(page, load_sample().questions[2].question)
    over.set()
    watcher.join(10)
    assert asking == {trace.run_id for trace in lanes(page)} and not web.queries
    assert [trace.approvals[0].approved for trace in lanes(page)] == [False, False]
