"""Hostile names, titles, texts, questions, sets and model output on every page: words, and nothing that acts.

Nor does anything in what a table's own menu downloads: no cell of it is a live formula.
"""

import csv
import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from crag.analysis.evaluate import add_set, evaluate
from crag.analysis.questions.sets import read_set
from crag.core.config import AppConfig
from crag.core.protocols import RunRequest
from crag.core.trace import Trace
from crag.core.types import Call
from crag.testing.fakes import chunk_of
from tests.support import local_models
from tests.support.app_server import Served, gated
from tests.support.browsing import choose, settled
from tests.support.made import document_of
from tests.support.small_pdf import small_pdf
from tests.support.whole_run import events as whole_run

pytestmark = pytest.mark.slow

HOSTILE = [
    "<img src=x onerror=\"window.hit='img'\">",
    "<script>window.hit='script'</script>",
    "<svg/onload=window.hit='svg'>",
    "[click](javascript:window.hit='link')",
    "![picture](http://outside.example/picture.png)",
    "</details></div><iframe src=//outside.example></iframe>",
    '"><a href="javascript:window.hit=\'anchor\'">there</a>',
    "$\\href{javascript:window.hit='tex'}{x}$ :material/bolt: :red[colour]",
    "<style>body{display:none}</style><base href=//outside.example>",
    "<form action=//outside.example><button>Send</button></form>",
]
ALL = " ".join(HOSTILE)
FORMULAS = ['=HYPERLINK("http:x","y").pdf', "@SUM(1).pdf", "a;=1+1.pdf", "\u200b+1.pdf", "plain.pdf"]
COUNT = len(HOSTILE) + len(FORMULAS)
BUILT = (
    "img[onerror], [onload], iframe, script:not([src]):not([type='application/json']), "
    "a[href^='javascript' i], form[action*='outside'], base[href*='outside'], img[src*='outside']"
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> tuple[Path, list[str]]:
    """A data folder full of hostile words, with files, titles, models and prices called like formulas; its runs."""
    folder = tmp_path_factory.mktemp("hostile")
    engine = local_models.engine(AppConfig.of(data=folder / "data"))
    library = engine.library()
    for number, each in enumerate(HOSTILE):
        chunk = chunk_of(f"The harbour was built in 18{number:02}. {each} {ALL}", name=f"{number} {each}.pdf", page=1)
        said = {"title": f"Harbours {ALL}", "warnings": (f"Page 1 {ALL}",)}
        document = document_of([chunk], model=engine.embedder.id, **said)
        library.documents.add(document, small_pdf("The harbour"), [chunk], engine.embedder.embed([chunk.indexed_text]))
    asked = [Trace.from_events(engine.ask(f"When was the harbour built? {ALL}"[:1900])).run_id]
    written = whole_run()
    library.runs.save(Trace.from_events(written), written)
    asked.append(Trace.from_events(written).run_id)
    asked.append(
        engine.trace(RunRequest("When was the harbour built?", wanted="evidence", via="mcp", client=ALL * 50)).run_id
    )
    row = dict.fromkeys(("answer", "source", "labels"), ALL)
    row |= {"id": HOSTILE[0], "question": f"When was the harbour built? {ALL}"}
    rows = json.dumps([row])
    set_id = add_set(library, read_set(f"set {HOSTILE[0]}.json", rows.encode()))
    for _ in evaluate(engine, set_id, RunRequest("", "plain-rag")):
        pass
    asked += [run for run in library.runs.ids() if run not in asked]
    for place, name in enumerate(FORMULAS):
        page = f"Report {place} speaks of rivers and of lakes, one after another."
        list(engine.add(name, small_pdf(page, title="=1+1")))
    call = Call(step="answer", provider="openai", model="=1+1", seconds=0.5, input_tokens=5, output_tokens=5)
    spent = Trace(run_id="spent", started_at=datetime.now(UTC).isoformat(), question="q", calls=(call,), finished=True)
    library.runs.save(spent, [])
    (folder / "data" / "settings.json").write_text(json.dumps({"prices": ["=1+1=1/2", "@cf/meta=0/0"]}))
    engine.close()
    return folder, asked


@pytest.fixture(scope="module")
def app(runs: tuple[Path, list[str]]):
    with gated(runs[0]) as found:
        yield found


@pytest.fixture
def look(open_page, app: Served):
    """Opens a page, and says afterwards what was built or done that never should be."""
    said: list[str] = []

    def looked(path: str):
        page = open_page(path, base=app.url)
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        page.get_by_role("link", name="Documents").first.wait_for()
        settled(page)
        return page

    yield looked
    assert said == []


def inert(page) -> None:
    settled(page)
    assert page.evaluate("() => window.hit") is None
    outside = f"() => [...document.querySelectorAll(`{BUILT}`)].filter(e => e.closest('#root')).map(e => e.outerHTML)"
    assert page.evaluate(outside) == []
    assert page.get_by_test_id("stException").count() == 0
    assert page.get_by_test_id("stMain").is_visible()


@pytest.mark.parametrize("number", range(4))
def test_a_run_of_hostile_words_only_shows_them(look, runs, number: int) -> None:
    page = look(f"/?run={runs[1][number]}")
    page.locator(".question").first.wait_for()
    inert(page)
    for card in page.locator("details[data-keep]").all()[:4]:
        card.locator("summary").click()
    for citation in page.locator("button.cite").all()[:1]:
        citation.click()
        page.get_by_role("button", name="Close").wait_for()
    inert(page)


def test_documents_of_hostile_names_only_show_them(look) -> None:
    page = look("/documents")
    page.get_by_text(f"{COUNT} documents").wait_for()
    inert(page)
    choose(page, "documents-table", across=18)
    page.get_by_text("1 selected").wait_for()
    page.get_by_role("button", name="Delete document").click()
    page.get_by_text("with its 1 chunk").wait_for()
    inert(page)
    page.keyboard.press("Escape")
    for view in ("Tables", "Pages and chunks"):
        page.get_by_role("radio", name=view).click()
        inert(page)
    page.get_by_role("button", name="Deselect all").click()
    page.get_by_role("button", name="Select all", exact=True).click()
    page.get_by_role("button", name="Delete documents").click()
    page.get_by_text(f"with their {COUNT} chunks").wait_for()
    inert(page)


def test_what_another_process_asks_meanwhile_stands_in_the_history_and_opens(look, runs) -> None:
    """With what its program calls itself, in Ask, presented, and out of the way of a search for something else."""
    page = look("/")
    with local_models.engine(AppConfig.of(data=runs[0] / "data")) as engine:
        handed = engine.trace(RunRequest("Who built it?", wanted="evidence", via="agent", client=HOSTILE[0]))
    page.get_by_role("button", name="New conversation").click()
    listed = page.locator(".past li", has_text="Who built it?")
    listed.locator(".tag", has_text="agent").wait_for()
    listed.get_by_role("button").first.click()
    page.locator(".question", has_text="through an agent (calls itself “<img").wait_for()
    page.get_by_text("to the agent that asked").wait_for()
    inert(page)
    page.get_by_role("button", name="Share", exact=True).click()
    page.get_by_role("button", name="Present it full screen").click()
    page.keyboard.press("End")
    page.locator(".slideshow h2", has_text="A question to the documents, through an agent").wait_for(state="attached")
    inert(page)
    page.keyboard.press("Escape")
    page.get_by_label("Search conversations").fill("nothing like it")
    page.keyboard.press("Enter")
    listed.wait_for(state="detached")
    assert handed.via == "agent" and page.locator(".past .tag").count() == 0


@pytest.mark.parametrize("path", ["tune", "compare", "settings", ""])
def test_no_page_acts_on_what_is_stored(look, path: str) -> None:
    inert(look(f"/{path}"))


def test_a_set_of_hostile_questions_and_its_results_only_show_them(look) -> None:
    page = look("/evaluate")
    page.get_by_role("radio", name="Results").or_(page.get_by_text("Results", exact=True)).first.click()
    inert(page)
    page.get_by_text("Questions", exact=True).first.click()
    inert(page)
    page.get_by_text("Questions", exact=True).last.click()
    inert(page)


def downloaded(page, table) -> str:
    """The file that a table's menu gives."""
    table.hover()
    with page.expect_download() as download:
        table.get_by_role("button", name=re.compile("Download as CSV")).dispatch_event("click")
    return download.value.path().read_text(encoding="utf-8-sig")


def live(text: str) -> list[str]:
    """The cells of a file that a spreadsheet may run, also of one that parts cells elsewhere and knows no quotes."""
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    return [cell for cell in cells + re.split(r"[,;|\t\r\n]", text) if re.match(r'[\s"\u200b]*[=+\-@]', cell)]


def test_what_the_menus_of_tables_download_runs_nothing(app, open_page) -> None:
    """Chromium's own dialog for a file's place, which no test can answer, is taken away."""
    page = open_page("/documents", base=app.url, own=True)
    page.add_init_script("delete window.showSaveFilePicker")
    page.reload()
    tables = page.get_by_test_id("stDataFrame").locator("visible=true")
    documents = downloaded(page, tables.first)
    assert not live(documents)
    assert "'=HYPERLINK" in documents and "'@SUM(1).pdf" in documents and "a;'=1+1.pdf" in documents
    page.goto(app.url + "/settings")
    page.get_by_role("tab", name="Costs").click()
    tables.nth(1).wait_for()
    for table, held in ((tables.first, ("'=1+1",)), (tables.nth(1), ("'=1+1", "'@cf/meta"))):
        text = downloaded(page, table)
        assert not live(text)
        assert all(each in text for each in held)
