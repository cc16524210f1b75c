"""What is known of stored runs' first retrievals: by a question set, by people's thumbs, and for a sweep."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.analysis.metrics.metrics import round_holds
from crag.analysis.questions.sets import UNANSWERABLE, Question
from crag.analysis.thresholds.labelled import (
    Case,
    Relevance,
    chunk_scores,
    expected_relevance,
    same_question,
    score_cases,
    with_thumbs,
)
from crag.analysis.thresholds.recommend import Refusal, recommend
from crag.analysis.whatif.entries import Entry
from crag.core.ranking import rank_chunks
from crag.core.settings import Settings
from crag.core.trace import Round, Trace
from crag.core.types import Aggregation, Grade
from crag.testing.fakes import chunk_of

BALANCED = Settings()


def retrieved(*chunks: tuple[str, int, str], scores: tuple[float | None, ...] = ()) -> Round:
    """A retrieval of chunks given as (file, page, text), with the scores of the first of them."""
    found = rank_chunks(
        chunk_of(text, name=name, page=page, ordinal=rank) for rank, (name, page, text) in enumerate(chunks, 1)
    )
    grades = {each.chunk.id: graded(each.chunk.id, score) for each, score in zip(found, scores, strict=False)}
    return Round(query="q", chunks=tuple(found), grades=grades)


def graded(id: str, score: float | None) -> Grade:
    return Grade(passage_id=id, score=score, error="No answer." if score is None else None, evaluator="e")


def trace_of(*rounds: Round, settings: Settings = BALANCED) -> Trace:
    return Trace(run_id="r", question="q", settings=settings.model_dump(mode="json"), rounds=rounds)


def case_of(*scores: float | None, answerable: bool | None = None, settings: Settings = BALANCED) -> Case:
    chunks = [("a.pdf", 1, f"Text {place}.") for place in range(len(scores))]
    entry = Entry.of(trace_of(retrieved(*chunks, scores=scores), settings=settings))
    return with_thumbs(entry, (), answerable, {})


CHUNKS = (
    ("Bridges.pdf", 3, "The bridge stands in the north."),
    ("bridges", 4, "It was opened in 1890."),
    ("other.pdf", 3, "Nothing is here."),
)
ASKED = Question(id="1", question="When was it opened?", answers=("1890",), sources=("Bridges.pdf",), pages=(3,))


@given(
    st.lists(st.sampled_from(CHUNKS), max_size=4),
    st.sampled_from([(), ("1890",), ("yes",)]),
    st.sampled_from([(), ("bridges.pdf",), ("Bridges", "other")]),
    st.sampled_from([(), (3,), (9,)]),
    st.sampled_from([(), (UNANSWERABLE,)]),
)
def test_the_first_retrieval_is_judged_as_the_metrics_judge_it(
    chunks: list[tuple[str, int, str]],
    answers: tuple[str, ...],
    sources: tuple[str, ...],
    pages: tuple[int, ...],
    labels: tuple[str, ...],
) -> None:
    expected = Question(id="1", question="When?", answers=answers, sources=sources, pages=pages, labels=labels)
    first = retrieved(*chunks)
    found, held = expected_relevance(trace_of(first), expected)
    assert held == round_holds(first, expected)
    assert held == (None if None in found[0] else any(found[0]) if found[0] else held)


def test_a_run_that_retrieved_nothing_is_known_only_where_it_searched() -> None:
    assert expected_relevance(trace_of(), ASKED) == ((), None)
    assert expected_relevance(trace_of(retrieved()), ASKED) == (((),), False)


@pytest.mark.parametrize(
    ("relevance", "answerable", "thumbs", "relevant", "after"),
    [
        ((), None, {0: True}, (True, None), True),
        ((), None, {0: False}, (False, None), None),
        ((), None, {0: False, 1: False}, (False, False), False),
        (((True, False),), True, {0: False}, (False, False), False),
        (((False, False),), False, {1: True}, (False, True), True),
    ],
)
def test_people_outrank_the_set(
    relevance: Relevance,
    answerable: bool | None,
    thumbs: dict[int, bool],
    relevant: tuple[bool | None, ...],
    after: bool | None,
) -> None:
    entry = case_of(0.5, 0.1).entry
    ids = entry.rounds[0].chunks
    case = with_thumbs(entry, relevance, answerable, {ids[place]: thumb for place, thumb in thumbs.items()})
    assert (case.relevance, case.answerable) == ((relevant,), after)


def test_scores_of_chunks_carry_their_labels_and_failures() -> None:
    case = case_of(0.9, None, 0.2)
    labelled = with_thumbs(case.entry, (), None, {case.entry.rounds[0].chunks[0]: True})
    found = chunk_scores([labelled], BALANCED)
    assert [(each.score, each.relevant, each.evaluator) for each in found] == [
        (0.9, True, "e"),
        (None, None, "e"),
        (0.2, None, "e"),
    ]
    assert [each.score for each in chunk_scores([labelled], BALANCED.changed(k=1))] == [0.9]
    assert chunk_scores([labelled], BALANCED.changed(grade_chars=100)) == []
    assert chunk_scores([with_thumbs(Entry.of(trace_of()), (), None, {})], BALANCED) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"evaluator": "none"},
        {"evaluator": "joint", "aggregation": Aggregation.JOINT},
        {"grade_chars": 100},
        {"min_confidence": 0.5},
        {"half_life_days": 30.0},
        {"k": 5},
    ],
)
def test_questions_whose_scores_only_a_call_could_tell_are_left_out(changes: dict[str, object]) -> None:
    case = case_of(0.9, 0.1, settings=BALANCED.changed(k=2))
    assert score_cases([case], BALANCED.changed(k=2)) and not score_cases(
        [case], BALANCED.changed(**{"k": 2, **changes})
    )


def test_what_is_scored_can_be_swept() -> None:
    cases = [case_of(place / 40, answerable=place > 20) for place in range(40)]
    found = recommend(score_cases(cases, BALANCED), aggregation=Aggregation.ANY)
    assert not isinstance(found, Refusal) and 0.4 < found.upper < 0.6


def test_case_and_spacing_do_not_part_a_run_from_its_question() -> None:
    assert same_question(" What  is\nthis? ") == same_question("what is THIS?") != same_question("what is that?")
