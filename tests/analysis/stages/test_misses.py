"""Why a page is not in an answer: each stage that it can be lost at, and the change that would have kept it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from crag.analysis.stages.miss import Miss, Wanted, explain_miss
from crag.core.errors import InputError, NotFoundError
from crag.core.protocols import RunRequest
from crag.core.strategies import strategy
from crag.core.trace import Trace
from crag.engine import Engine
from crag.messages.explanations import change_sentence, miss_sentence, missing_sentence
from tests.support.small_library import CLAIMS, HIRING, SURVEY, TEXTS, add_document

QUESTION = "How many days did hiring take in 2019?"


def ask(engine: Engine, question: str = QUESTION, name: str = "paper", **changes: object) -> Trace:
    settings = strategy(name).settings.changed(**changes)
    return Trace.from_events(engine.ask(RunRequest(question, name, settings=settings)))


def explain(engine: Engine, trace: Trace, page: int | None = None, text: str = "", name: str = "report.pdf") -> Miss:
    return explain_miss(engine.library(), trace, Wanted(document=name, page=page, text=text))


def again(engine: Engine, trace: Trace, miss: Miss) -> Trace:
    """The same question under the change that would have kept the page."""
    assert miss.change is not None
    return ask(engine, name=trace.strategy, **{**trace.settings, **miss.change.settings})


def test_a_page_beyond_k_has_its_ranks_and_the_k_that_brings_it(engine: Engine) -> None:
    trace = ask(engine, k=1, lookup_reach=0)
    miss = explain(engine, trace, CLAIMS)
    fate = miss.fates[0]
    assert miss.stage == "not retrieved" and fate.rank is None and fate.now is not None
    assert miss.change is not None and miss.change.settings == {"k": fate.now} and miss.change.certain
    assert f"ranks {fate.now}, and" in miss_sentence(miss) and "retrieved 1." in miss_sentence(miss)
    found = {each.chunk.page for each in again(engine, trace, miss).rounds[0].chunks}
    assert CLAIMS in found
    smaller = ask(engine, k=fate.now - 1, lookup_reach=0)
    assert CLAIMS not in {each.chunk.page for each in smaller.rounds[0].chunks}


def test_a_filter_that_left_the_document_out_is_named(engine: Engine) -> None:
    add_document(engine, "other.pdf", ["Hiring took ninety days in 2018."])
    miss = explain(engine, ask(engine, where={"name": "other.pdf"}), HIRING)
    assert miss.stage == "excluded" and "other.pdf" in miss_sentence(miss)
    assert miss.change is not None and not miss.change.certain and miss.change.settings["where"] == {}


def test_an_action_without_documents_is_why_and_the_threshold_that_turns_it_is_found(
    make: Callable[..., Engine],
) -> None:
    engine = make(lambda text: 0.25 if "iring" in text else 0.02)
    trace = ask(engine, lower=0.4, upper=0.6)
    assert trace.action == "INCORRECT"
    miss = explain(engine, trace, HIRING)
    assert miss.stage == "unused" and "INCORRECT" in miss_sentence(miss)
    assert miss.change is not None and miss.change.settings == {"lower": 0.25} and not miss.change.certain
    assert "only" not in change_sentence(miss) and "needs a new run" in change_sentence(miss)
    assert again(engine, trace, miss).action != "INCORRECT"


def test_a_page_whose_strips_were_dropped_says_their_best_score_and_what_keeps_one(engine: Engine) -> None:
    trace = ask(engine, strip_filter=0.5, strip_top_k=0)
    miss = explain(engine, trace, CLAIMS)
    assert miss.stage == "dropped" and "no strip of it was kept; the best scored 0.3" in miss_sentence(miss)
    assert miss.change is not None and miss.change.certain and miss.change.settings["strip_filter"] <= 0.3
    kept = {strip.source_id for strip in again(engine, trace, miss).kept()}
    assert miss.fates[0].chunk.id in kept
    assert change_sentence(miss).startswith("It would have been kept with “Strip filter” set to 0.3")


def test_a_sentence_is_found_in_its_document_and_in_the_whole_library(engine: Engine) -> None:
    trace = ask(engine)
    sentence = "Hiring took  EIGHTY days on average"
    miss = explain(engine, trace, text=sentence)
    assert [fate.chunk.page for fate in miss.fates] == [HIRING]
    assert explain(engine, trace, text=sentence, name="").document == miss.document
    assert explain(engine, trace, text="Nobody ever wrote this sentence here").stage == "unread"
    nowhere = explain(engine, trace, text="Nobody ever wrote this sentence here", name="")
    assert nowhere.document is None and "No document" in miss_sentence(nowhere)


def test_the_question_s_words_that_a_page_does_not_have_are_named(engine: Engine) -> None:
    miss = explain(engine, ask(engine), SURVEY)
    assert set(miss.missing) == {"days", "hiring", "take", "2019"} and "“hiring”" in missing_sentence(miss)
    assert explain(engine, ask(engine), HIRING).missing == ("take",)
    add_document(engine, "two.pdf", ["Hiring took long.", "The days of 2019."])
    assert explain(engine, ask(engine), name="two.pdf").missing == ("take",), "of all its chunks together"


def test_another_sentence_of_a_cited_chunk_is_not_said_to_be_cited(engine: Engine) -> None:
    trace = ask(engine, strip_filter=0.0, strip_top_k=0, answer_sentences=1)
    assert trace.answer is not None
    quotes = [citation.quote for citation in trace.answer.citations]
    for sentence in TEXTS[0].split(". "):
        miss = explain(engine, trace, text=sentence)
        assert (miss.stage == "cited") == any(sentence.rstrip(".") in quote for quote in quotes), sentence
        assert len(miss.fates[0].strips) == 1
    other = explain(engine, trace, CLAIMS)
    assert other.stage == "not cited" and other.instead == trace.answer.citations[0]
    assert "The answer cites another strip first: page 1 of report.pdf." in miss_sentence(other)


def test_a_page_that_a_later_retrieval_left_out_says_which_chunks_were_used(engine: Engine) -> None:
    miss = replace(explain(engine, ask(engine), HIRING), stage="replaced")
    assert "replaced that retrieval" in miss_sentence(miss)
    assert "best 4 chunks of both" in miss_sentence(replace(miss, merged=True))


def test_several_chunks_are_spoken_of_together(engine: Engine) -> None:
    id = add_document(engine, "two.pdf", ["Hiring took fifty days.", "Retirement claims took long."])
    miss = explain(engine, ask(engine, strip_filter=0.0, strip_top_k=0, answer_sentences=1), name=id)
    scores = [fate.grade.score for fate in miss.fates if fate.grade is not None and fate.grade.score is not None]
    said = miss_sentence(miss)
    assert len(scores) == 2 and f"with 2 chunks, the best of which scored {max(scores):.2f}" in said
    assert f"at rank {min(fate.rank for fate in miss.fates if fate.rank)} " in said


def test_a_score_near_its_threshold_is_shown_on_the_right_side_of_it(make: Callable[..., Engine]) -> None:
    engine = make(lambda text: 0.298 if "iring" in text else 0.9 if "laim" in text else 0.02)
    miss = explain(engine, ask(engine, lower=0.3, upper=0.6, strip_filter=0.5), HIRING)
    assert miss.stage == "dropped" and "scored 0.29, below the lower threshold of 0.30" in miss_sentence(miss)


def test_a_name_may_be_a_part_or_another_case_and_an_unknown_one_names_what_is_near(engine: Engine) -> None:
    trace = ask(engine)
    assert explain(engine, trace, HIRING, name="REPORT").document == explain(engine, trace, HIRING).document
    with pytest.raises(NotFoundError, match=r"report\.pdf"):
        explain(engine, trace, HIRING, name="rapport.pdf")
    with pytest.raises(NotFoundError, match="has 4 pages"):
        explain(engine, trace, 9)
    add_document(engine, "report of 2020.pdf", ["Hiring."])
    with pytest.raises(NotFoundError, match="Several documents"):
        explain(engine, trace, HIRING, name="repor")


@pytest.mark.parametrize("text", ["", "too few", "\x00 \udcff", "?" * 5000])
def test_too_little_to_look_for_is_refused(engine: Engine, text: str) -> None:
    with pytest.raises(InputError, match="Too little"):
        explain(engine, ask(engine), text=text, name="")
