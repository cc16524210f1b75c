"""A document without pages to draw, shown as text: the very words cited are marked, wherever a mark begins and ends."""

import pytest

from crag.core.config import AppConfig
from crag.core.types import Chunk, Citation, Strip
from crag.ingest.chunking import chunk_document
from crag.ingest.reader import read_document
from tests.support.app_text import said
from tests.support.reported import kind
from tests.support.tab_states import state_in
from ui.app.program import program
from ui.app.tab import RunsState
from ui.run import pageview

PROSE = "The fleet returned within the year. Its nets were mended by hand! Who paid for that, nobody says.\n\n"


@pytest.fixture(scope="module")
def chunks() -> list[Chunk]:
    """All chunks of a long text's first part."""
    parsed = read_document(f"# Fleet\n\n{PROSE * 12}<b>&amp; tags</b>".encode(), "fleet.md", AppConfig())
    return [chunk for chunk in chunk_document(parsed, "id", "fleet.md") if chunk.page == 1]


def cited(quote: str, strip: str = "none") -> Citation:
    return Citation(
        number=1,
        strip_id=strip,
        source_id="c",
        origin="internal",
        source="fleet.md",
        quote=quote,
        place="section Fleet",
    )


def test_marks_are_cut_at_lines_and_hold_the_short_answer(chunks):
    start = chunks[0].text.index("Its nets")
    end = chunks[0].text.index("The fleet", start) + len("The fleet")
    told = (start + 4, start + 8)
    drawn = str(pageview.leaf(chunks, [(start, end)], told))
    assert drawn.count("<mark") == 2 and drawn.count("data-first") == 1
    assert '<mark class="cited" data-first="1">Its <span class="answering">nets</span> were mended' in drawn
    assert '<mark class="cited">The fleet</mark> returned' in drawn


def test_the_words_of_a_citation_are_its_quote_else_its_strip_else_the_chunk(chunks):
    chunk = chunks[1]
    strip = Strip(id="s", source_id="c", origin="internal", start=36, end=66, text="", score=1.0, kept=True)
    start, end = pageview.cited_span(chunk, cited("Its nets were mended by hand!", "s"), [strip])
    assert chunk.text[start - chunk.start : end - chunk.start] == "Its nets were mended by hand!"
    assert pageview.cited_span(chunk, cited("not in it", "s"), [strip]) == (chunk.start + 36, chunk.start + 66)
    assert pageview.cited_span(chunk, cited("not in it"), []) == (chunk.start, chunk.end)


def test_a_citation_of_a_word_document_opens_its_section_as_text(app):
    list(program().engine.add_files([("report.docx", lambda: kind("report.docx"))]))
    app.run()
    app.chat_input(key="question").set_value("Who mended the nets on Sundays?").run()
    state_in(app, RunsState).opened = "cite:1"
    app.run()
    page = said(app)
    assert not app.exception and not app.image
    assert "section Nets" in page and '<mark class="cited" data-first="1">Nets were mended on Sundays by' in page
