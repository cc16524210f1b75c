"""Web pages on the Documents page: typed into the box, fetched again, marked, there and beside an answer."""

import pytest

from crag.core.request import RunRequest
from crag.core.trace import Trace
from crag.export.html import pages
from crag.messages.documents import stale_sentences
from tests.support.app_text import pick, said
from tests.support.web_pages import Site
from tests.support.web_server import Reply, serving
from ui.app.program import program

FERRY = "The ferry over the river Veldt was built in 1890 and carries sixty people."


@pytest.fixture
def site(monkeypatch):
    monkeypatch.setenv("CRAG_PRIVATE_ADDRESSES", "true")
    with serving(Site(ferry=Reply(kind="text/plain", body=FERRY.encode()))) as server:
        yield server


@pytest.fixture
def documents(app, site):
    app.run()
    app.switch_page("pages/documents.py").run()
    app.segmented_control(key="drop-how").set_value("Web pages").run()
    assert not app.exception
    return app


def add(documents, *addresses):
    documents.text_area(key="page-addresses").set_value("\n".join(addresses))
    next(button for button in documents.button if button.label == "Fetch and add").click().run()
    assert not documents.exception


@pytest.mark.slow
def test_pages_are_added_fetched_again_and_what_is_wrong_with_them_is_marked(documents, site):
    add(documents, f"{site.address}/ferry", "", f"{site.address}/none", "ftp://example.org/x")
    assert documents.dataframe[0].value["Document"].tolist() == [f"127.0.0.1_{site.server_port} › ferry"]
    page = said(documents)
    assert "2 failed" in page and "1 added" in page and "There is no page" in page and "can't be added" in page
    [document] = program().engine.library().documents.all()
    assert document.url == f"{site.address}/ferry" and "fetched just now" in page
    trace = Trace.from_events(program().engine.ask(RunRequest("How many people does the ferry carry?", "plain-rag")))

    site.answer = Site(ferry=Reply(status=410))
    documents.button(key="documents-again").click().run()
    assert not documents.exception and "There is no page" in said(documents)
    assert "Its web page was gone" in documents.dataframe[0].value["Problems"][0]
    stale = stale_sentences(program().engine.stale())
    assert "out of date" not in pages.page(trace).lower()
    made = pages.page(trace, stale=stale)
    assert "Out of date: 127.0.0.1" in made and "Its web page was gone" in made and "tag old" in made

    site.answer = Site(ferry=Reply(kind="text/plain", body=FERRY.replace("sixty", "ninety").encode()))
    documents.button(key="documents-again").click().run()
    assert not documents.exception and "Changed: the new text" in said(documents)
    documents.query_params.clear()
    documents.query_params["run"] = trace.run_id
    documents.switch_page("pages/ask.py").run()
    assert not documents.exception
    assert "the library holds the new text" in said(documents) and "tag old" in said(documents)
    page = said(pick(documents, "cite:1"))
    assert not documents.exception and "as the run kept it" in page and "cited" in page and "sixty people" in page
