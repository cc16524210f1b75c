"""Evaluate in a real browser: a set with a bad row, a run stopped and resumed, measures, a trace, two compared."""

import csv
import json
import re

import pytest

from tests.support.app_server import ROOT
from tests.support.browsing import choose, fits, from_menu, settled

pytestmark = pytest.mark.slow

expect = pytest.importorskip("playwright.sync_api", reason="needs the playwright package").expect
LONG = 180_000
"""Milliseconds for a few questions on a busy machine."""
CHOSEN = ("fehb-2020", "data-center", "wausau", "cafeteria")
"""Of the sample's questions: in the report and asked before, in the report, in its web, in neither."""
SOON = 20_000
"""For what the page sums up once."""


def view(page, name):
    page.get_by_role("radio", name=name, exact=True).click()
    return settled(page)


def strategies(page, *names):
    """Choose exactly these strategies."""
    pills = page.locator(".st-key-eval-strategies")
    for name in ("Balanced", "Paper", "Plain RAG"):
        pill = pills.get_by_role("button", name=name, exact=True)
        wanted = "true" if name in names else "false"
        if pill.get_attribute("aria-pressed") != wanted:
            pill.click()
        expect(pill).to_have_attribute("aria-pressed", wanted)
    settled(page)


@pytest.fixture
def page(open_page):
    page = open_page("/evaluate")
    view(page, "Questions")
    page.locator(".st-key-eval-sample, .st-key-eval-understood").first.wait_for(state="attached")
    return settled(page)


def add(page, name, data):
    if page.get_by_text("Add questions", exact=True).count():
        page.get_by_text("Add questions", exact=True).click()
    drop = page.get_by_test_id("stFileUploaderDropzoneInput")
    drop.wait_for(state="attached")
    drop.set_input_files([{"name": name, "mimeType": "text/plain", "buffer": data}])


def test_two_strategies_over_a_set_stopped_resumed_read_compared_and_exported(page, served, answered):
    rows = (ROOT / "samples" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    chosen = [row for row in rows if json.loads(row)["id"] in CHOSEN]
    add(page, "few.jsonl", "\n".join([*chosen, '{"answers": ["nobody asked"]}']).encode())
    page.get_by_text("Stored: few.jsonl, 4 questions.").wait_for()
    page.get_by_text("1 row left out").wait_for()
    expect(page.locator(".st-key-eval-understood")).to_contain_text("4 questions")
    fits(settled(page))
    strategies(page, "Balanced")
    served.gate.touch()  # what was asked before is graded all the same: its grades are stored
    page.get_by_role("button", name="Run 1 strategy over 4 questions").click()
    page.locator(".st-key-eval-live").get_by_text("1 of 4 questions").wait_for(timeout=LONG)
    page.locator(".st-key-eval-live").get_by_text("Results shows what is known so far").wait_for()
    page.reload()
    page.locator(".st-key-eval-live").get_by_text("few.jsonl").wait_for()
    page.get_by_role("link", name="Documents").click()
    page.get_by_text("Add documents, up to").wait_for()
    from_menu(page, "Evaluate")
    page.locator(".st-key-eval-live").wait_for()
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("button", name="Stopping…").wait_for()
    served.gate.unlink()
    page.get_by_text(re.compile(r"Stopped: \d+ results? kept")).wait_for(timeout=LONG)
    settled(page)
    page.get_by_text(re.compile(r"Balanced over few\.jsonl: \d+ of 4 done")).wait_for()
    page.get_by_role("button", name="Resume").click()
    page.get_by_text("Done: few.jsonl").wait_for(timeout=LONG)
    expect(page.get_by_role("button", name="Resume")).to_have_count(0, timeout=SOON)
    view(page, "Questions")
    strategies(page, "Plain RAG")
    page.get_by_role("button", name="Run 1 strategy over 4 questions").click()
    page.get_by_text("Done: few.jsonl, 4 questions").wait_for(timeout=LONG)

    view(page, "Results")
    table = page.get_by_test_id("stTable").first
    expect(table).to_contain_text("Balanced", timeout=SOON)
    expect(table).to_contain_text("Plain RAG")
    expect(table.locator("tr", has_text="Action right").locator("td").last).to_have_text("–")
    assert "NaN" not in page.get_by_test_id("stMain").inner_text()
    page.get_by_text("4 rows.").wait_for()

    page.get_by_role("button", name="Export").click()
    with page.expect_download() as rows:
        page.get_by_role("link", name="Rows of this one, CSV").click()
    assert rows.value.suggested_filename == "crag-few-balanced-rows.csv"
    lines = list(csv.DictReader(rows.value.path().read_text(encoding="utf-8-sig").splitlines()))
    assert len(lines) == 4 and lines[0]["question_id"] == "fehb-2020" and lines[0]["action"] == "CORRECT"
    assert lines[0]["answer_holds"] == "yes" and lines[-1]["judged_by"] == "unanswerable"
    page.keyboard.press("Escape")
    fits(settled(page))

    page.get_by_placeholder("Find in questions and answers").fill("average premium increase")
    page.keyboard.press("Enter")
    page.get_by_text("1 row.").wait_for()
    settled(page)
    choose(page, "eval-rows-")
    page.locator(".question", has_text="average premium increase").wait_for()
    page.locator(".action .word").wait_for()
    page.wait_for_url(re.compile(r"[?&]run=[\w-]+"))
    settled(page)

    from_menu(page, "Evaluate")
    page.get_by_role("heading", name="Evaluate").wait_for()
    settled(page)
    view(page, "Compare two")
    page.get_by_text("Second minus first").wait_for()
    expect(page.get_by_text("higher with Balanced than with Plain RAG").first).to_be_visible(timeout=SOON)
    page.locator(".st-key-eval-changed-all canvas").first.wait_for()
    fits(settled(page))
