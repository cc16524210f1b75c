"""Help under an answer that there is none: drawn inert, asked with a click, searched with exactly the query shown."""

from dataclasses import replace

from crag.core.guidance import About, Guidance, Near, Suggestion
from crag.core.trace import Trace
from crag.export.html import guidance, pages
from tests.support.app_text import ask, latest, pick, said
from tests.support.inspector import Inspector
from tests.support.whole_run import NASTY, events

QUESTION = "What is the area code for Phoenix, Arizona?"
NOWHERE = Guidance(
    about=About(documents=3, titles=(NASTY, NASTY), headings=(NASTY,)),
    near=(Near(chunk_id=NASTY, source=NASTY, where="page 2", score=0.12, quote=NASTY),),
    suggestions=(
        Suggestion(
            question=NASTY, made_of="row", chunk_id=NASTY, source=NASTY, where="slide 3", quote=NASTY, score=0.91
        ),
    ),
    query=NASTY,
    web=True,
)


def test_what_documents_say_of_themselves_is_text():
    trace = replace(Trace.from_events(events()), guidance=NOWHERE, searches=())
    for live in (True, False):
        seen = Inspector(guidance.panel(trace, live=live))
        assert not seen.open and "img" not in seen.tags and "script" not in seen.tags
        assert not [name for name, _ in seen.attributes if name.startswith("on")]
        assert ("button" in seen.tags) is live
        assert "3 documents, among them" in seen.said and "Scored 0.12, below the lower threshold" in seen.said
        assert "in slide 3 of" in seen.said


def test_a_run_without_it_draws_none_and_an_exported_page_has_no_buttons_for_it():
    trace = Trace.from_events(events())
    assert guidance.panel(trace) == ""
    page = pages.page(replace(trace, guidance=NOWHERE), events())
    assert 'class="guide"' in page and 'data-pick="ask:' not in page and "Search the web for this" not in page


def test_a_suggestion_is_asked_with_a_click_and_is_answered_from_its_page(with_sample, app):
    app.run()
    trace, page = ask(app, QUESTION), said(app)
    assert trace.answer.abstained and "Your documents do answer" in page
    assert "It was searched, and nothing found there answers" in page and "Search the web for this" not in page
    pick(app, f"chunk:{trace.guidance.near[0].chunk_id}")
    assert not app.exception and len(app.image) == 1
    suggested = trace.guidance.suggestions[0]
    pick(app, "ask:0")
    other = latest()
    assert not app.exception and other.question == suggested.question and other.action == "CORRECT"
    assert suggested.where in {each.where for each in other.answer.citations}
    assert 'class="guide"' not in said(app)


def test_a_made_up_number_asks_nothing(with_sample, app):
    app.run()
    ask(app, QUESTION)
    for made_up in ("ask:99", "ask:-1", "ask:<b>", "ask:²", "ask:"):
        pick(app, made_up)
        assert not app.exception and latest().question == QUESTION


def test_the_web_is_searched_with_the_query_that_was_shown(with_sample, app):
    app.run()
    app.selectbox(key="strategy-choice").set_value("loop").run()
    trace, page = ask(app, "Why did the airplane skid off the runway at Wausau?"), said(app)
    assert trace.strategy == "loop" and not trace.searches and trace.guidance.web
    assert "Search the web for this" in page and f'class="query">{trace.guidance.query}' in page
    pick(app, "web:")
    other = latest()
    assert not app.exception and (other.question, other.strategy) == (trace.question, "loop")
    assert [each.query for each in other.searches] == [trace.guidance.query]
    assert {each.origin for each in other.answer.citations} == {"external"}
