"""Which strips are kept: the best to a number, or a budget of words over several sources, and what they need."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from crag.core.types import Strip
from crag.evaluation.refinement import make_strip
from crag.evaluation.strip_selection import Facts, Rule, choose
from crag.evaluation.strips import filter_strips

LONG = "This sentence has exactly ten words and that is it."


def strip(source: str, place: int, score: float | None, text: str = LONG, selected: bool | None = None) -> Strip:
    made = make_strip(source, "", "internal", place, place, score, kept=False)
    return replace(made, text=text, selected=selected)


def kept(
    strips: list[Strip], *, floor: float = 0.1, top_k: int = 0, words: int = 0, context: bool = False
) -> dict[int, str]:
    """The places of the kept strips and why."""
    found = filter_strips(strips, Rule(floor, top_k, words, context))
    assert [each.kept for each in found] == [bool(each.why) for each in found]
    return {place: each.why for place, each in enumerate(found) if each.kept}


def test_the_best_strips_are_kept_until_the_words_are_used_up() -> None:
    strips = [
        strip("a", 0, 0.2, "Ten words are in this sentence and in the next."),
        strip("a", 1, 0.9, "One two three."),
    ]
    strips += [strip("b", 0, 0.5, "Ten words are in this sentence and in the next."), strip("b", 1, 0.05)]
    assert kept(strips, words=13) == {1: "score", 2: "score"}
    assert kept(strips, words=22) == {1: "score", 2: "score"}
    assert kept(strips, words=23) == {0: "score", 1: "score", 2: "score"}
    assert kept(strips, words=0) == {0: "score", 1: "score", 2: "score"}


def test_the_best_strip_is_kept_however_long_it_is() -> None:
    assert kept([strip("a", 0, 0.9, "word " * 50), strip("a", 1, 0.8)], words=20) == {0: "score"}


def test_words_and_number_both_limit() -> None:
    strips = [strip("a", place, 0.9 - place / 10, "Three short words.") for place in range(4)]
    assert kept(strips, words=9, top_k=2) == {0: "score", 1: "score"}
    assert kept(strips, words=3, top_k=2) == {0: "score"}


def test_a_kept_strip_brings_what_it_needs_where_there_is_room() -> None:
    strips = [strip("a", 0, 0.0, "Net sales were high."), strip("a", 1, 0.9, "They rose by 4 %."), strip("a", 2, 0.0)]
    assert kept(strips, context=True) == {0: "neighbour", 1: "score"}
    assert kept(strips) == {1: "score"}
    assert kept(strips, context=True, words=6) == {1: "score"}


def test_a_row_brings_its_header_and_one_that_scores_too_is_kept_for_its_score() -> None:
    row = "Total: 2018 5; 2017 6; 2016 7"
    strips = [strip("a", 0, 0.3, "Years ended; 2018; 2017; 2016"), strip("a", 1, 0.9, row), strip("b", 0, 0.8, row)]
    assert kept(strips, context=True) == {0: "score", 1: "score", 2: "score"}
    assert kept(strips, context=True, floor=0.5) == {0: "context", 1: "score", 2: "score"}


def test_a_budget_of_words_goes_to_several_sources_and_first_to_the_earliest() -> None:
    strips = [*(strip("a", place, 0.5) for place in range(3)), *(strip("b", place, 0.5) for place in range(3))]
    assert list(kept(strips, words=11)) == [0]
    assert list(kept(strips, words=33)) == [0, 1, 3]
    assert list(kept(strips, words=44)) == [0, 1, 2, 3]
    late = [strip("a", 0, 0.3), strip("b", 0, 0.4), strip("c", 0, 0.9)]
    assert list(kept(late, words=22)) == [0, 2]
    assert list(kept(late, top_k=2)) == [1, 2]


def test_sources_count_as_the_search_ranked_them() -> None:
    facts = Facts.of([strip("a", 0, 0.5), strip("b", 0, 0.5), strip("c", 0, 0.5)])
    assert choose(facts, Rule(floor=0.1, top_k=0, words=11), used=("c", "gone", "a")) == {2: "score"}
    assert choose(facts, Rule(floor=0.1, top_k=0, words=22), used=("c", "gone", "b", "a")) == {1: "score", 2: "score"}


def test_what_a_language_model_leaves_out_is_brought_back_by_nothing() -> None:
    leaning = [strip("a", 0, 0.9, "Net sales rose.", selected=False), strip("a", 1, 0.9, "They fell.", selected=True)]
    assert kept(leaning, context=True) == {1: "selected"}


def test_a_source_that_could_not_be_scored_fills_what_is_left() -> None:
    strips = [strip("a", 0, None), strip("a", 1, None), strip("b", 0, 0.9), strip("b", 1, None)]
    assert kept(strips) == {0: "unscored", 1: "unscored", 2: "score"}
    assert kept(strips, words=20) == {0: "unscored", 2: "score"}


def test_only_the_sources_that_are_used_count() -> None:
    facts = Facts.of([strip("a", 0, 0.9), strip("b", 0, 0.8), strip("c", 0, 0.7)])
    assert choose(facts, Rule(floor=0.1, top_k=2), used=("b", "c")) == {1: "score", 2: "score"}


TEXTS = st.sampled_from(
    [LONG, "It is.", "However, they left.", "Total: 2018 5; 2017 6", "Years; 2018; 2017", "We did:"]
)
SCORES = st.one_of(st.none(), st.integers(0, 10).map(lambda tenth: tenth / 10))
STRIPS = st.lists(st.tuples(st.sampled_from("ab"), SCORES, TEXTS), max_size=12).map(
    lambda drawn: [
        strip(id, place, score, text) for place, (id, score, text) in enumerate(sorted(drawn, key=lambda d: d[0]))
    ]
)


@given(STRIPS, st.integers(0, 6))
def test_without_a_budget_of_words_only_score_and_number_count(strips: list[Strip], top_k: int) -> None:
    scored = sorted((-each.score, place) for place, each in enumerate(strips) if each.score and each.score >= 0.1)
    found = kept(strips, top_k=top_k)
    wanted = [place for _, place in scored]
    assert [place for place, why in found.items() if why == "score"] == sorted(wanted[:top_k] if top_k else wanted)
