"""What is drawn of an answer beside its words: checks, figures, values that differ, tables, kept pages, scopes."""

from dataclasses import replace

import pytest

from crag.core import events as ev
from crag.core.trace import Trace
from crag.export.html import answer, evidence, pages
from crag.export.html.marks import SavedPages, keeper, verifier
from crag.export.html.passage import View
from tests.support.whole_run import NASTY, events


def kept_run(url: str, from_web: str = "unverified") -> list[ev.Event]:
    """The whole run, its chunks from a kept page, asked of documents with hostile names."""
    found: list[ev.Event] = []
    for event in events():
        match event:
            case ev.RunStarted():
                found += [event, ev.ScopeResolved(documents=(NASTY,), tags=(f"tag{NASTY}",), gone=1, at=0.0)]
            case ev.Retrieved():
                chunks = [replace(each, chunk=replace(each.chunk, url=url, from_web=from_web)) for each in event.chunks]
                found.append(replace(event, chunks=tuple(chunks)))
            case ev.Answered():
                first, *rest = event.answer.citations
                cited = (replace(first, url=url, from_web=from_web), *rest)
                found.append(replace(event, answer=replace(event.answer, citations=cited)))
            case _:
                found.append(event)
    return found


@pytest.mark.parametrize(
    "url", ["https://example.org/kept", "javascript:alert(1)", f'https://a/"{NASTY}', "folder:a.md"]
)
def test_a_kept_page_is_marked_and_inert_wherever_it_stands(url: str) -> None:
    made = kept_run(url)
    trace = Trace.from_events(made)
    page = pages.page(trace, made)
    for drawn in (answer.sources(trace), evidence.chunks(trace, View.of(trace)), page):
        assert "WEB, KEPT" in drawn and "ept from the web, unverified" in drawn
        assert NASTY not in drawn and 'href="javascript' not in drawn
    assert "With a page kept from the web, unverified" in answer.answer(trace)
    assert "Asked of</span>" in page and "1 document no longer in the library" in page
    assert "Keep as a document" not in page and "Mark as verified" not in page


def test_what_can_be_done_is_drawn_where_it_can_be_done() -> None:
    shelf = SavedPages({"w1": "", "w2": NASTY}, unverified=frozenset("d"), verified=frozenset("e"))
    assert 'data-pick="keep:w1"' in keeper("w1", shelf)
    assert "✓ Kept as" in keeper("w2", shelf) and NASTY not in keeper("w2", shelf)
    assert 'data-pick="verify:d"' in verifier("d", shelf) and "Verified since" in verifier("e", shelf)
    assert not keeper("w3", shelf) and not verifier("f", shelf)
    assert not keeper("w1", None) and not verifier("d", None)
    trace = Trace.from_events(kept_run("https://example.org/kept", "verified"))
    assert "verified" in answer.sources(trace) and "unverified" not in answer.sources(trace)
