"""What leaves by a table's own menu: its download holds no live formula, whatever files and models are called."""

import csv
import io
import json
import re
from datetime import UTC, datetime

import pytest

from crag.core.config import AppConfig
from crag.core.meter import Call
from crag.core.trace import Trace
from tests.support import local_models
from tests.support.small_pdf import small_pdf

pytest.importorskip("playwright.sync_api", reason="needs the playwright package")

NAMES = ['=HYPERLINK("http:x","y").pdf', "@SUM(1).pdf", "a;=1+1.pdf", "\u200b+1.pdf", "plain.pdf"]


@pytest.fixture
def filled(served_fresh):
    """An app whose files, titles, models and prices are called like formulas."""
    engine = local_models.engine(AppConfig(data=served_fresh.data))
    for place, name in enumerate(NAMES):
        list(
            engine.add(
                name, small_pdf(f"Report {place} speaks of rivers and of lakes, one after another.", title="=1+1")
            )
        )
    call = Call(step="answer", provider="openai", model="=1+1", seconds=0.5, input_tokens=5, output_tokens=5)
    run = Trace(run_id="r", started_at=datetime.now(UTC).isoformat(), question="q", calls=(call,), finished=True)
    engine.library().runs.save(run, [])
    engine.close()
    (served_fresh.data / "settings.json").write_text(json.dumps({"prices": ["=1+1=1/2", "@cf/meta=0/0"]}))
    return served_fresh


def downloaded(page, table):
    """The file that a table's menu gives."""
    table.hover()
    with page.expect_download() as download:
        table.get_by_role("button", name=re.compile("Download as CSV")).dispatch_event("click")
    return download.value.path().read_text(encoding="utf-8-sig")


def live(text):
    """The cells of a file that a spreadsheet may run, also of one that parts cells elsewhere and knows no quotes."""
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    return [cell for cell in cells + re.split(r"[,;|\t\r\n]", text) if re.match(r'[\s"\u200b]*[=+\-@]', cell)]


def test_what_the_menus_of_tables_download_runs_nothing(filled, open_page):
    """Chromium's own dialog for a file's place, which no test can answer, is taken away."""
    page = open_page("/documents", base=filled.url, own=True)
    page.add_init_script("delete window.showSaveFilePicker")
    page.reload()
    tables = page.get_by_test_id("stDataFrame").locator("visible=true")
    documents = downloaded(page, tables.first)
    assert not live(documents)
    assert "'=HYPERLINK" in documents and "'@SUM(1).pdf" in documents and "a;'=1+1.pdf" in documents
    page.goto(filled.url + "/settings")
    page.get_by_role("tab", name="Costs").click()
    tables.nth(1).wait_for()
    for table, held in ((tables.first, ("'=1+1",)), (tables.nth(1), ("'=1+1", "'@cf/meta"))):
        text = downloaded(page, table)
        assert not live(text)
        assert all(each in text for each in held)
