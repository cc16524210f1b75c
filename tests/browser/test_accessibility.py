"""Every page by axe-core's rules in both themes and widths, and a question asked by keyboard alone."""

import pytest

from crag.analysis.evaluate import add_set, evaluate
from crag.analysis.questions.sets import Question, QuestionSet
from crag.core.config import AppConfig
from crag.core.protocols import RunRequest
from tests.support import local_models
from tests.support.app_server import over_the_sample
from tests.support.browsing import settled, until

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs the axe-playwright-python package")

PAGES = ["/documents", "/tune", "/demo", "/compare", "/evaluate", "/monitor", "/settings"]
THEIRS = ['[data-testid="stSidebarNav"]', '[data-testid="stDataFrame"]', ".plotly"]
"""Drawn by Streamlit and Plotly alone: the menu of a narrow screen is a list with other children, for one."""
COLOUR = "(where => getComputedStyle(document.querySelector(where)).color)"
QUESTION = "How many full-time equivalent employees did OPM have in fiscal year 2019?"


def findings(page) -> list[str]:
    """What axe-core finds of moderate, serious and critical impact on the page: rule, element and why."""
    found = axe.Axe().run(page, {"exclude": [[each] for each in THEIRS]}, {"resultTypes": ["violations"]})
    return [
        f"{rule['id']}: {node['html'][:200]} {node.get('failureSummary', '')[:300]}"
        for rule in found.response["violations"]
        if rule["impact"] in ("moderate", "serious", "critical")
        for node in rule["nodes"]
    ]


STILL = """() => new Promise(tell => requestAnimationFrame(() => requestAnimationFrame(() =>
    tell(!document.getAnimations().some(each => each instanceof CSSTransition)))))"""
"""Whether no colour is changing any more: colours change by a transition, which takes its time on a busy machine."""


def everywhere(page) -> list[str]:
    """The same in both themes at all widths."""
    found = []
    for theme in ("light", "dark"):
        for width in (1440, 1024, 420):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=theme)
            until(page, "theme => getComputedStyle(document.querySelector('.stApp')).colorScheme === theme", theme)
            until(page, STILL)
            found += [f"{theme} {width}: {each}" for each in findings(page)]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES)
def test_no_page_has_a_finding(open_page, answered, path):
    page = open_page(path)
    page.locator("h1, h2, h3, [data-testid=stMetric], .cx").first.wait_for()
    assert not everywhere(settled(page))


@pytest.mark.slow
def test_neither_has_an_evaluation(open_page, sample_data, tmp_path):
    with over_the_sample(tmp_path, sample_data) as app:
        engine = local_models.engine(AppConfig.of(data=app.data))
        questions = QuestionSet("two.csv", (Question("a", QUESTION), Question("b", "Who won the cup?")), kind="CSV")
        id = add_set(engine.library(), questions)
        list(evaluate(engine, id, RunRequest("", "plain-rag")))
        engine.close()
        page = open_page("/evaluate", base=app.url)
        page.get_by_role("group", name="Selected values").wait_for()
        assert not everywhere(settled(page))


@pytest.mark.slow
def test_neither_has_the_first_page(open_page):
    page = open_page()
    page.get_by_text("Three questions to try").wait_for()
    assert not everywhere(settled(page))


@pytest.mark.slow
def test_neither_has_a_run_with_its_source_open(open_page, answered):
    page = open_page(answered)
    page.locator("button.cite").first.click()
    page.locator(".st-key-page-view img").wait_for()
    assert not everywhere(settled(page))


@pytest.mark.slow
def test_neither_has_a_dialog(open_page, answered):
    page = open_page(answered)
    page.get_by_role("button", name="More…").click()
    page.get_by_role("button", name="Why is a page missing?").click()
    page.get_by_label("Page", exact=True).fill("45")
    page.get_by_role("button", name="Explain").click()
    page.get_by_text("was not retrieved").wait_for()
    assert not everywhere(settled(page))
    page.emulate_media(color_scheme="dark")
    until(page, f"() => {COLOUR}('[role=dialog] [data-testid=stWidgetLabel] p') === {COLOUR}('.stApp')")


@pytest.mark.slow
def test_a_question_is_asked_and_its_page_opened_by_keyboard_alone(open_page):
    page = open_page()
    settled(page).get_by_test_id("stChatInputTextArea").wait_for()
    tab_to(page, "() => document.activeElement.matches('[data-testid=stChatInputTextArea]')")
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    page.locator("button.cite").first.wait_for()
    settled(page)
    tab_to(page, "() => document.activeElement.matches('button.cite')")
    page.keyboard.press("Enter")
    page.locator(".st-key-page-view img").wait_for()


def tab_to(page, there: str) -> None:
    """Presses Tab until the focus is there."""
    for _ in range(80):
        if page.evaluate(there):
            return
        page.keyboard.press("Tab")
    raise AssertionError("80 presses of Tab do not lead there")
