"""Runs whose question is about a whole document, and questions that are not read as they were typed."""

import pytest

from crag.core.protocols import RunRequest
from crag.core.trace import Trace
from crag.engine import Engine
from crag.messages.wording import context_text
from tests.support.reported import REPORTS
from tests.support.small_library import add_document, fill

MINUTES = [
    "Minutes of the garden club\nThe members met in the hall on 4 May 2025.",
    "Decisions\n• The fence is repaired before July.\n• The fee rises to 36 euros a year.",
]


def asked(engine: Engine, question: str, **given: object) -> Trace:
    return Trace.from_events(engine.ask(RunRequest(question, **given)))  # type: ignore[arg-type]


def test_a_list_of_a_document_is_quoted_without_a_grade_and_stored_as_it_was(engine: Engine) -> None:
    add_document(engine, "minutes.pdf", MINUTES)
    trace = asked(engine, "Which decisions were taken?")
    assert trace.answer is not None and trace.answer.by == "outline"
    assert [(each.page, each.quote.splitlines()[0]) for each in trace.answer.citations] == [
        (2, "Decisions"),
        (2, "• The fence is repaired before July."),
        (2, "• The fee rises to 36 euros a year."),
    ]
    assert [each.step for each in trace.steps] == ["retrieve", "answer"]
    assert trace.action is None and not trace.rounds[0].grades and not trace.failures
    assert {each.strip_id for each in trace.answer.citations} == {strip.id for strip in trace.kept()}
    assert engine.library().runs.trace(trace.run_id).answer == trace.answer


def test_which_document_is_meant_is_told_by_its_name_or_asked_back(engine: Engine) -> None:
    add_document(engine, "minutes.pdf", MINUTES)
    fill(engine)
    answer = asked(engine, "What is this document about?").answer
    assert answer is not None and answer.abstained and "minutes.pdf" in answer.text and "report.pdf" in answer.text
    answer = asked(engine, "Which decisions were taken?").answer
    assert answer is not None and answer.text.startswith("2 items"), "only one has such a heading"
    answer = asked(engine, "How many pages do the minutes have?").answer
    assert answer is not None and answer.text == "It has 2 pages [1]."


@pytest.mark.parametrize("given", [{"wanted": "evidence"}, {"strategy": "paper"}])
def test_evidence_and_the_published_strategies_are_retrieved_and_graded(engine: Engine, given: dict[str, str]) -> None:
    add_document(engine, "minutes.pdf", MINUTES)
    trace = asked(engine, "Which decisions were taken?", **given)
    assert trace.rounds[0].grades and (trace.answer is None or trace.answer.by != "outline")


def test_a_word_that_no_text_has_is_read_as_one_that_texts_have_and_said(engine: Engine) -> None:
    texts = ["The uptime of the service is 99 percent.", "Below that uptime, fees are paid back."]
    add_document(engine, "terms.pdf", texts)
    trace = asked(engine, "What uptme does the service have?")
    assert trace.context is not None and trace.context.read == (("uptme", "uptime"),)
    assert trace.meant == "What uptime does the service have?" == trace.rounds[0].query
    assert context_text(trace.context) == ("Read", "uptme as uptime")
    for question in ("What uptime does Uptme promise?", "What is the upkeep of the service?"):
        assert asked(engine, question).context is None, "names and words that are right stay"


def test_capitals_and_several_questions_are_read_and_said(engine: Engine) -> None:
    fill(engine)
    assert asked(engine, "HOW LONG DID HIRING TAKE IN 2019?").meant == "How long did hiring take in 2019?"
    trace = asked(engine, "How long did hiring take? " * 20)
    assert trace.context is not None and len(trace.context.left) == 19
    assert trace.rounds[0].query == "How long did hiring take?"
    assert "the first of 20 questions" in context_text(trace.context)[1]


def test_properties_of_a_file_are_found_through_the_reader(engine: Engine) -> None:
    [*engine.add(REPORTS / "steps.docx")]
    answer = asked(engine, "How many pages does it have?").answer
    assert answer is not None and answer.text.startswith("It has 1 page [1].") and answer.citations[0].page == 0
