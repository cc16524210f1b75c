"""A web page kept: the document is the text that the run saw, the next question finds it, and it says what it is."""

import threading
from dataclasses import replace
from typing import Any

import pytest

from crag.analysis.kept_pages import KeptPage, find_page, in_library, keep, used_pages
from crag.core.errors import CancelledError, EmptyError, NotFoundError
from crag.core.protocols import RunRequest
from crag.core.strategies import strategy
from crag.core.trace import Trace
from crag.core.types import WebPage
from crag.engine import Engine
from crag.ingest.files import content_id

pytestmark = pytest.mark.usefixtures("read_here")

QUESTION = "How long does the moon take to circle the earth?"


def ask(engine: Engine, **changes: object) -> Trace:
    settings = strategy("balanced").settings.changed(**{"strip_filter": 0.04, **changes})
    return Trace.from_events(engine.ask(RunRequest(QUESTION, settings=settings)))


def kept(engine: Engine, page: WebPage, question: str = QUESTION, **more: Any) -> KeptPage:
    return keep(page, question, engine.library(), engine, **more)


def page(text: str, **more: object) -> WebPage:
    return replace(
        WebPage(id="w", url="https://example.org/a", title="A page", text=text, provider="p", query="q", rank=1), **more
    )


def test_the_document_is_what_the_run_saw_and_says_where_it_is_from(engine: Engine) -> None:
    (used,) = used_pages(ask(engine))
    document = kept(engine, replace(used, published="2019-05-01T10:00:00Z")).document
    stored = engine.library().documents
    assert stored.file(document.id) == used.text.encode() and document.id == content_id(used.text.encode())
    assert (document.kind, document.url, document.confidence) == ("text", used.url, 0.5)
    assert document.title == used.title and ":" in used.title
    assert document.name == "The moon – an orbit – Sky"
    assert stored.given() == {
        document.id: {"source": "web", "verified": False, "question": QUESTION, "date": "2019-05-01"}
    }
    assert "".join(each.text for each in stored.chunks(document.id)).split() == used.text.split()


def test_what_is_there_already_stays_as_it_is(engine: Engine) -> None:
    (used,) = used_pages(ask(engine))
    first = kept(engine, used)
    engine.library().documents.describe(first.document.id, {"verified": True})
    again = kept(engine, replace(used, id="other", url="https://elsewhere.example/"), "Another question?")
    assert (first.already, again.already) == (False, True)
    assert again.document.id == first.document.id
    assert engine.library().documents.given()[first.document.id]["verified"] is True
    assert engine.library().size[0] == 2
    assert in_library([used, page("Not kept.")], engine.library()) == {used.id: first.document}


@pytest.mark.parametrize(
    "text",
    [
        "%PDF-1.7 The moon is a page.",
        "<html><body onload=alert(1)>The moon.</body></html>",
        "PK\x03\x04 the moon",
        "The moon. \ud800 Half a character.",
        "The moon\x00\x07 with control characters.",
        "月は二十七日で地球を回る。" * 400,
        "\u202eThe moon, from right to left.",
    ],
    ids=["pdf", "html", "zip", "surrogate", "control", "chinese", "direction"],
)
def test_hostile_text_is_kept_as_the_text_that_it_is(engine: Engine, text: str) -> None:
    found = page(text, title=f"../../<b>{text[:300]}", published="soon")
    document = kept(engine, found, f"{text}?\n\x07" + "x" * 2_000).document
    assert document.kind == "text" and document.chunks >= 1
    assert "/" not in document.name and "<" not in document.name and len(document.name) <= 120
    fields = engine.library().documents.fields(document.id)
    assert "date" not in fields and len(str(fields["question"])) <= 1_000
    assert kept(engine, found).already


def test_what_can_t_be_kept_leaves_nothing_behind(engine: Engine) -> None:
    for text in ("  \n ", ""):
        with pytest.raises(EmptyError):
            kept(engine, page(text))
    assert engine.library().size[0] == 1


def test_a_page_waits_for_its_turn_among_the_files_that_are_read(engine: Engine) -> None:
    engine.readers.allow(1)
    stop = threading.Event()
    stop.set()
    with engine.readers.taken(threading.Event()), pytest.raises(CancelledError):
        kept(engine, page("The moon."), cancel=stop)
    assert engine.library().documents.count() == 1 and not kept(engine, page("The moon.")).already


def test_a_page_of_a_run_is_found_by_its_id(engine: Engine) -> None:
    trace = ask(engine)
    (used,) = used_pages(trace)
    assert find_page(trace, used.id) == used
    with pytest.raises(NotFoundError, match="no such web page"):
        find_page(trace, "elsewhere")
