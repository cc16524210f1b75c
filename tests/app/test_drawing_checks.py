"""What is drawn of the check of an answer: citations found afterwards, flagged sentences, judges that object."""

from dataclasses import replace

import pytest

from crag.core import events as ev
from crag.core.trace import Trace
from crag.core.types import Answer, Judgement, SentenceCheck
from crag.export.html import answer, pages
from tests.support.inspector import Inspector
from tests.support.whole_run import GRADER, QWEN, approved, cited

TEXT = "The bridge was opened in 1890. It rose by 5 % [1]. It is red. Here is more:"
CHECKS = (
    SentenceCheck(
        sentence="The bridge was opened in 1890.",
        citations=(2,),
        supported=True,
        score=0.9,
        note="scored",
        by="local-4",
        attributed=True,
        judgements=(
            Judgement(judge="words", supported=None, score=0.8),
            Judgement(judge="evaluator", supported=True, score=0.9, by="local-4"),
        ),
    ),
    SentenceCheck(
        sentence="It rose by 5 %.",
        citations=(1,),
        supported=True,
        score=0.95,
        note="scored",
        by=GRADER,
        judgements=(
            Judgement(judge="words", supported=True, score=0.95),
            Judgement(judge="model", supported=False, score=0.0, by=GRADER),
        ),
    ),
    SentenceCheck(
        sentence="It is red.",
        citations=(),
        supported=False,
        score=0.1,
        note="nothing shown",
        judgements=(Judgement(judge="evaluator", supported=False, score=0.1, by="local-4"),),
    ),
    SentenceCheck(sentence="Here is more:", citations=(), supported=None),
)


@pytest.fixture(autouse=True)
def data():
    """In place of the app's data folder and engine: drawing needs none."""


def checked() -> list[ev.Event]:
    """A run whose model cites once, with what the check made of the rest."""
    whole = Answer(text=TEXT, by=QWEN, citations=(cited(1, "c0", "internal", page=4),))
    found = replace(cited(2, "c0", "internal", page=4), strip_id="c0:9", found=True)
    events: list[ev.Event] = []
    for event in approved():
        if isinstance(event, ev.Answered):
            event = replace(event, answer=whole)
        if isinstance(event, ev.Verified):
            event = replace(event, checks=CHECKS, faithfulness=2 / 3, found=(found,))
        events.append(event)
    return events


def drawn() -> tuple[str, Inspector]:
    trace = Trace.from_events(checked())
    html = answer.answer(trace) + answer.sources(trace)
    found = Inspector(html)
    assert not found.open
    return html, found


def test_a_found_citation_stands_behind_its_sentence_and_looks_otherwise():
    html, seen = drawn()
    assert 'class="cite afterwards"' in html
    assert html.count('data-pick="cite:2"') == 2, "at the sentence, and in the list"
    assert "opened in 1890. 2" in seen.said and "found afterwards" in seen.said
    assert 'class="cite" data-pick="cite:1"' in html


def test_a_sentence_that_nothing_supports_says_so_with_the_reason():
    html, seen = drawn()
    assert "It is red. nothing shown supports this" in seen.said
    titles = {value for name, value in seen.attributes if name == "title"}
    assert "Nothing shown supports this; not supported, say the local evaluator (0.10)." in titles
    assert html.count('class="flagged"') == 1


def test_the_judge_that_objects_is_named_in_words_and_on_hover():
    html, seen = drawn()
    assert "The checks differ on 1 sentence" in seen.said
    assert "qwen at 127.0.0.1:8080 (0.00) says that it is not supported" in seen.said.casefold()
    assert html.count('class="disputed"') == 1


def test_what_claims_nothing_is_not_flagged_and_the_label_counts_the_others():
    _, seen = drawn()
    assert "Here is more: no citation" not in seen.said
    assert "Faithfulness 67%: 2 of 3 sentences supported by what they cite" in seen.said
    assert "could not be checked" not in seen.said
    assert "1 sentence cited nothing: its source was found afterwards" in seen.said


def test_the_exported_page_has_them_too():
    events = checked()
    page = pages.page(Trace.from_events(events), events)
    assert "nothing shown supports this" in page and "found afterwards" in page
