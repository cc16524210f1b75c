"""Certified thresholds: the promise holds over many draws, each question counts once, and what is missing is said."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.analysis.intervals import binomial_tail, upper_bound
from crag.analysis.thresholds.guarantee import Certificate, Counted, Promise, Shortfall, Tally, certify, tally_cases
from crag.analysis.thresholds.recommend import Case, with_thumbs
from crag.analysis.thresholds.sweep import GRID
from crag.analysis.whatif.entries import Entry
from crag.analysis.whatif.replay_plan import Planner
from crag.core.errors import SettingsError
from crag.core.settings import Settings
from crag.core.types import Action
from tests.analysis.thresholds.test_labelled import case_of, retrieved, trace_of

ONCE = Settings(max_rewrites=0, loop_on=())
LOOPING = Settings(max_rewrites=1, loop_on=(Action.INCORRECT,))
FIVE = Promise(target=0.05, confidence=0.95)
UPPERS = np.array(GRID[::-1])


def tally_of(scores: np.ndarray, right: np.ndarray) -> Tally:
    """Of one column, as without loops."""
    called = scores[:, None] >= UPPERS
    return Tally(
        uppers=UPPERS,
        lowers=np.array([0.0]),
        called=called.sum(axis=0)[:, None],
        wrong=(called & ~right[:, None]).sum(axis=0)[:, None],
        unknown=np.zeros((UPPERS.size, 1), dtype=np.int64),
        counted=Counted(questions=right.size, answerable=int(right.sum())),
    )


def certified(high: int, wrong: int, promise: Promise = FIVE, low: int = 50) -> Certificate | Shortfall:
    """Of `high` questions that score 0.95, some wrong, and `low` unanswerable ones that score 0.05."""
    right = np.arange(high + low) >= wrong
    right[high:] = False
    return certify(tally_of(np.array([0.95] * high + [0.05] * low), right), promise)


@given(st.integers(0, 60), st.integers(0, 60), st.floats(0.01, 0.99))
def test_the_tail_and_the_bound_are_exact(hits: int, more: int, chance: float) -> None:
    of = hits + more
    exact = sum(comb(of, n) * chance**n * (1 - chance) ** (of - n) for n in range(hits + 1))
    assert binomial_tail(hits, of, chance) == pytest.approx(exact, abs=1e-9)
    if more:
        assert binomial_tail(hits, of, upper_bound(hits, of, 0.05)) == pytest.approx(0.05, abs=1e-3)
    else:
        assert upper_bound(hits, of, 0.05) == 1


@pytest.mark.parametrize("overconfident", [0.0, 0.25])
def test_the_promise_is_broken_in_no_more_draws_than_it_allows(overconfident: float) -> None:
    """Also where the strictest pairs are the worst: then no order of the pairs is by risk."""
    random, promise, broken, useful = np.random.default_rng(7), Promise(target=0.1, confidence=0.9), 0, 0
    truth = random.random(200_000)
    chance = np.where(truth > 0.9, truth - overconfident, truth)
    right = random.random(truth.size) < chance
    for _ in range(200):
        drawn = random.integers(0, truth.size, 1500)
        found = certify(tally_of(truth[drawn], right[drawn]), promise)
        if isinstance(found, Certificate):
            useful += 1
            broken += any(np.mean(~right[truth >= pair.upper]) > 0.1 for pair in found.pairs)
    assert broken <= 200 * 0.1 + 2 * (200 * 0.1 * 0.9) ** 0.5
    assert useful > 100 or overconfident


def test_the_error_is_shared_between_five_starts() -> None:
    # With none wrong a share of a fifth of the error wants 0.95 ** n <= 0.01: 90 questions.
    assert isinstance(certified(89, 0), Shortfall) and isinstance(certified(90, 0), Certificate)
    best = certified(90, 0)
    assert isinstance(best, Certificate) and (best.best.called, best.best.wrong) == (90, 0)
    assert best.best.upper == 0.9 and {pair.upper for pair in best.pairs} == {n / 50 for n in range(3, 46)}


def test_a_pair_that_fails_ends_the_walk_and_the_next_start_begins_one() -> None:
    scores = np.concatenate(([0.91] * 100, [0.87] * 30, [0.85] * 500, [0.05] * 40))
    right = np.concatenate(([True] * 100, [False] * 30, [True] * 500, [False] * 40))
    found = certify(tally_of(scores, right), FIVE)
    assert isinstance(found, Certificate)
    assert {pair.upper for pair in found.pairs} == {0.9, 0.88}, "30 of 130 are wrong from 0.86 on"
    later = certify(tally_of(scores, right), Promise(target=0.08))
    assert isinstance(later, Certificate) and later.best.called == 630
    assert {0.84, 0.86} & {pair.upper for pair in later.pairs} == set()


def test_what_is_missing_is_enough_and_todays_share_is_certified() -> None:
    short = certified(60, 1)
    assert isinstance(short, Shortfall) and short.more and short.today and short.nearest
    factor = (110 + short.more) / 110
    assert isinstance(certified(round(60 * factor), round(factor), low=round(50 * factor)), Certificate)
    assert isinstance(certified(60, 1, Promise(target=short.today + 1e-5)), Certificate)
    assert isinstance(certified(60, 1, Promise(target=short.today - 1e-3)), Shortfall)
    hopeless = certified(60, 6)
    assert (
        isinstance(hopeless, Shortfall) and hopeless.more is None and hopeless.nearest and hopeless.nearest.wrong == 6
    )


def test_labels_of_one_kind_or_none_certify_nothing() -> None:
    for found in (certified(500, 0, low=0), certified(0, 0), certified(0, 0, low=0)):
        assert isinstance(found, Shortfall) and found.one_kind and found.today is None
    unscored = certify(tally_of(np.full(90, 0.05), np.arange(90) % 2 == 0), FIVE)
    assert isinstance(unscored, Shortfall) and not unscored.one_kind and unscored.nearest is None


@pytest.mark.parametrize("numbers", [(0.0, 0.95), (1.0, 0.95), (0.05, 1.0), (float("nan"), 0.9)])
def test_a_promise_without_room_is_refused(numbers: tuple[float, float]) -> None:
    with pytest.raises(SettingsError):
        Promise(target=numbers[0], confidence=numbers[1])


# ---- counting ------------------------------------------------------------------------------------------------------


def named(case: Case, question: str, run: str = "r") -> Case:
    return replace(case, entry=replace(case.entry, question=question, run_id=run))


def test_each_labelled_question_counts_once_and_the_left_out_are_told_apart() -> None:
    good = case_of(0.9, 0.1, answerable=True, settings=ONCE)
    bad = case_of(0.7, answerable=False, settings=ONCE)
    cases = [
        named(good, "Who left?"),
        named(good, " who LEFT? ", "again"),
        named(bad, "Why?"),
        named(good, "Both?"),
        named(bad, "both?"),
        named(case_of(0.9, answerable=None, settings=ONCE), "No label?"),
        named(case_of(answerable=False, settings=ONCE.changed(k=3)), "Nothing found?"),
        named(case_of(0.9, answerable=True, settings=ONCE.changed(grade_chars=50)), "Otherwise graded?"),
    ]
    tally = tally_cases(cases, ONCE)
    assert tally.counted == Counted(questions=3, answerable=1, ungraded=1, contradictory=1)
    at = {
        upper: (int(c), int(w)) for upper, c, w in zip(GRID[::-1], tally.called[:, 0], tally.wrong[:, 0], strict=True)
    }
    assert (at[0.92], at[0.9], at[0.7], at[0.2]) == ((0, 0), (1, 0), (2, 1), (2, 1))
    kept = tally_cases(cases, ONCE, frozenset(good.entry.rounds[0].chunks) - {good.entry.rounds[0].chunks[1]})
    assert kept.counted.deleted == 1 and kept.counted.questions == 2


@pytest.mark.parametrize(
    ("second", "relevance", "outcome"),
    [
        (0.8, ((False,), (True,)), "right"),
        (0.8, ((False,), (False,)), "wrong"),
        (0.8, ((False,), (None,)), "unknown"),
        (None, ((False,),), "unknown"),
        (0.3, ((False,), (True,)), "not called"),
    ],
    ids=["brought it", "brought nothing", "nobody said", "never looped", "still low"],
)
def test_loops_count_and_what_only_a_new_run_could_tell_counts_as_wrong(
    second: float | None, relevance: tuple[tuple[bool | None, ...], ...], outcome: str
) -> None:
    rounds = [retrieved(("a.pdf", 1, "One."), scores=(0.15,))]
    rounds += [retrieved(("a.pdf", 2, "Two."), scores=(second,))] if second else []
    case = with_thumbs(Entry.of(trace_of(*rounds, settings=LOOPING)), relevance, False, {})
    tally = tally_cases([case], LOOPING)
    row, column = list(tally.uppers).index(0.6), list(tally.lowers).index(0.2)
    found = tuple(int(each[row, column]) for each in (tally.called, tally.wrong, tally.unknown))
    assert found == {"right": (1, 0, 0), "wrong": (1, 1, 0), "unknown": (1, 1, 1), "not called": (0, 0, 0)}[outcome]
    assert tally.called[row, list(tally.lowers).index(0.1)] == 0, "0.15 is AMBIGUOUS there, without a loop"


@given(st.lists(st.floats(0, 1), min_size=1, max_size=3), st.lists(st.floats(0, 1), min_size=1, max_size=3))
def test_a_question_is_called_what_the_what_if_calls_it(first: list[float], second: list[float]) -> None:
    texts = [("a.pdf", 1, "One."), ("a.pdf", 2, "Two."), ("a.pdf", 3, "Three.")]
    rounds = [retrieved(*texts[: len(each)], scores=tuple(each)) for each in (first, second)]
    for settings in (LOOPING, LOOPING.changed(loop_on=(Action.AMBIGUOUS,), loop_merge="union")):
        case = with_thumbs(Entry.of(trace_of(*rounds, settings=settings)), (), True, {})
        tally, planner = tally_cases([case], settings), Planner(case.entry)
        for row, upper in enumerate(tally.uppers[::7]):
            for column, lower in enumerate(tally.lowers):
                if lower <= upper:
                    decision, _, unknown = planner.decision(settings.changed(upper=upper, lower=lower))
                    called = unknown is not None or (decision is not None and decision.action is Action.CORRECT)
                    assert tally.called[7 * row, column] == called
