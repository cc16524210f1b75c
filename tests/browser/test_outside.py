"""Outside services on the Ask page: a model that answers, one that fails, and queries that wait for a yes."""

import json
import re

import pytest

from tests.support.app_server import over_the_sample
from tests.support.browsing import ask, fits, settled
from tests.support.model_server import serving
from tests.support.search_replies import query_of, tavily
from tests.support.web_server import serving as answering

pytestmark = pytest.mark.slow

expect = pytest.importorskip("playwright.sync_api", reason="needs the playwright package").expect

KNOWN = "How many full-time equivalent employees did OPM have in fiscal year 2019?"
UNKNOWN = "Why did the airplane skid off the runway at Wausau?"
FOUND = "The airplane skidded off the runway at Wausau because the runway was covered with wet snow."


@pytest.fixture(scope="module")
def model():
    """A model server. `acts`: as which of its models, whatever is asked for; `score`: of all grades; `query`: for the
    web."""
    with serving() as server:
        server.acts, server.score, server.query = "ok", 0.7, ""

        class Acting(server.RequestHandlerClass):
            def _answered(self, model, body):
                grade = json.dumps({"reason": "it says so", "score": server.score})
                server.reply = grade if "response_format" in body else server.query
                super()._answered(server.acts, body)

        server.RequestHandlerClass = Acting
        yield server


@pytest.fixture(scope="module")
def web():
    """What Tavily would be."""
    with answering(lambda request: tavily([("https://example.org/wausau", "Wausau", FOUND)])) as server:
        yield server


def sent(web):
    """The queries that reached it."""
    return [query_of(request) for request in web.seen]


@pytest.fixture(scope="module")
def app(tmp_path_factory, sample_data, model, web):
    """The app with both; it asks before a query leaves."""
    with over_the_sample(
        tmp_path_factory.mktemp("outside"),
        sample_data,
        CRAG_LLM="openai-compatible",
        CRAG_LLM_BASE_URL=model.address,
        CRAG_LLM_MODEL="ok",
        CRAG_EVALUATOR="llm",
        CRAG_WEB="tavily",
        CRAG_TAVILY_BASE_URL=f"http://127.0.0.1:{web.server_port}",
        TAVILY_API_KEY="tvly-test",
        CRAG_FETCH_PAGES="false",
        CRAG_ASK_BEFORE_WEB="true",
    ) as found:
        yield found.url


@pytest.fixture
def page(app, open_page, model):
    """The Ask page with the sample loaded; at the end no stack trace may be on it."""
    page = open_page(base=app)
    page.get_by_text("Three questions to try").wait_for()
    yield settled(page)
    model.acts, model.score = "ok", 0.7
    assert page.get_by_test_id("stException").count() == 0 and "Traceback" not in page.content()


def test_a_model_grades_and_writes_and_its_answer_is_checked(page, model):
    model.acts = "held"
    ask(page, KNOWN)
    page.locator(".answer button.cite").first.wait_for()  # the quote, until the model's first sentence is whole
    assert "[" not in page.locator(".answer").inner_text()
    model.go.set()
    page.get_by_text("Written by ok").first.wait_for()
    settled(page)
    answer = page.get_by_test_id("stMain")
    expect(answer).to_contain_text(f"Written by ok, at 127.0.0.1:{model.server_port}")
    expect(page.locator(".faults")).to_have_count(0)
    expect(page.locator(".cards .verdict.correct").first).to_contain_text("0.70")
    page.locator("details[data-keep] summary").first.click()
    expect(page.locator("details[data-keep]").first).to_contain_text(f"Graded by ok, at 127.0.0.1:{model.server_port}")
    fits(page)
    page.locator("button.cite").first.click()
    page.locator(".st-key-page-view img").wait_for()


def test_a_failing_model_still_leads_to_a_marked_answer(page, model):
    """By too many requests; the other ways: tests/engine/test_failures.py."""
    model.acts = "busy"
    ask(page, f"{KNOWN} (busy)")
    page.locator("button.cite").first.wait_for()
    settled(page)
    expect(page.locator(".faults")).to_contain_text("Failed, and worked around")
    expect(page.locator(".path li.fault").first).to_contain_text("with failures")
    expect(page.locator(".path li.failed")).to_have_count(0)
    expect(page.locator(".tag", has_text="graded locally")).to_have_count(10)
    expect(page.get_by_text("10 of 10 grades are the local evaluator's")).to_have_count(1)
    expect(page.get_by_text("Quoted in place of")).to_have_count(1)
    expect(page.locator(".note", has_text="instead")).to_have_count(0)
    assert "openai-compatible:" not in page.get_by_test_id("stMain").inner_text()
    fits(page)


def test_a_query_waits_through_a_reload_and_is_sent_once_from_another_tab(page, model, web, open_page):
    model.score, model.query = 0.1, "airplane skid, sent"
    ask(page, f"{UNKNOWN} Please.")
    send = page.get_by_role("button", name="Send it")
    send.wait_for()
    page.get_by_role("slider").nth(1).press("ArrowLeft")
    send.wait_for()
    page.reload()
    send.wait_for()
    expect(page.locator(".approval")).to_contain_text("airplane skid, sent")
    assert "airplane skid, sent" not in sent(web)
    other = open_page(base=page.url, beside=page)
    other.get_by_role("button", name="Send it").click()
    for tab in (other, page):
        expect(tab.get_by_test_id("stMain")).to_contain_text("Sent to Tavily. You approved this query.")
        expect(tab.get_by_role("button", name="Send it")).to_have_count(0)
    assert sent(web).count("airplane skid, sent") == 1
    settled(page)
    expect(page.get_by_test_id("stMain")).to_contain_text("Tavily's summary only")
    page.get_by_role("button", name="New conversation").click()
    page.get_by_text("Three questions to try").wait_for()
    settled(page)
    ask(page, f"{UNKNOWN} Again.")
    expect(page.get_by_test_id("stMain")).to_contain_text(re.compile(r"Remembered, found .* UTC; nothing was sent"))
    assert sent(web).count("airplane skid, sent") == 1
    fits(page)
