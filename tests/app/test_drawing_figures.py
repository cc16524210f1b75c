"""Figures marked in an answer where they are, and what its sources disagree on."""

from dataclasses import replace

import pytest

from crag.core.trace import Trace
from crag.core.types import Answer, Disagreement, FigureCheck, Reported, SentenceCheck
from crag.export.html import answer, pages
from tests.support.inspector import Inspector
from tests.support.whole_run import NASTY, events


@pytest.fixture(autouse=True)
def data():
    """In place of the app's data folder and engine: drawing needs none."""


def figure(sentence: str, text: str, state: str) -> FigureCheck:
    start = sentence.index(text)
    return FigureCheck(start=start, end=start + len(text), text=text, kind="number", state=state)


def trace_with(text: str, *checks: SentenceCheck, **changes: object) -> Trace:
    trace = Trace.from_events(events())
    assert trace.answer is not None
    whole = replace(trace.answer, text=text, **changes)
    return replace(trace, answer=whole, text=text, checks=checks)


SENTENCE = "Sales were 1,632 in 2018, which is 79 more."
CHECK = SentenceCheck(
    sentence=SENTENCE,
    citations=(1,),
    supported=False,
    note="figures",
    figures=(
        figure(SENTENCE, "1,632", "missing"),
        figure(SENTENCE, "2018", "stands"),
        figure(SENTENCE, "79", "missing"),
    ),
)


def test_a_figure_is_marked_where_it_is_and_says_why():
    said = answer.answer(trace_with("Sales  were\n1,632 in [1] 2018, which is 79 more [1].", CHECK))
    seen = Inspector(said)
    assert '<span class="figure missing" title="1,632 does not stand in the source.">1,632<' in said
    assert '<span class="figure missing" title="79 does not stand in the source.">79<' in said
    assert said.count('class="figure') == 2 and not seen.open
    assert "Figure 1,632 does not stand in the source." in seen.said


def test_a_mark_goes_with_what_else_is_marked_there():
    run = trace_with("So it was. Sales were 1,632 in 2018, which is 79 more [1]. So it was.", CHECK)
    said = answer.answer(run, alone=((0, 20), (20, 60)))
    assert said.count('class="figure') == 2 and not Inspector(said).open


def test_what_a_figure_says_is_escaped():
    nasty = f"It is {NASTY} 5."
    check = SentenceCheck(sentence=nasty, citations=(1,), supported=None, figures=(figure(nasty, NASTY, "missing"),))
    said = answer.answer(trace_with(f"It is {NASTY} 5 [1].", check))
    assert "img" not in Inspector(said).tags


def disagreed() -> Answer:
    values = (
        Reported(value="1,577", citation=1, dated="2018"),
        Reported(value=f"1,632 {NASTY}", citation=2, dated="2019"),
    )
    return trace_with("It is so [1].", disagreements=(Disagreement(subject=f"Sales {NASTY}", values=values),))


def test_a_disagreement_cites_both_and_says_which_is_newer():
    said = answer.answer(disagreed())
    seen = Inspector(said)
    assert "Disagreement. The sources disagree on “Sales" in seen.said and "is newer (2019)." in seen.said
    assert said.count('data-pick="cite:1"') == 2 and 'data-pick="cite:2"' in said
    assert "img" not in seen.tags


def test_a_cell_that_says_another_amount_is_told_with_its_source():
    said = answer.answer(trace_with("It is 5 [1].", contradicts=Reported(value=f"1,577 {NASTY}", citation=1)))
    seen = Inspector(said)
    assert "Contradiction. The table on p. " in seen.said and "says 1,577" in seen.said
    assert said.count('data-pick="cite:1"') == 2 and "img" not in seen.tags


def test_both_are_in_the_exported_page():
    assert "Disagreement." in pages.page(disagreed())
    assert 'class="figure missing"' in pages.page(trace_with("Sales were 1,632 in 2018, which is 79 more [1].", CHECK))
