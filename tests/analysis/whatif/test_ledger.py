"""All stored runs at once: the same as one by one, whatever the settings; searches of the web, and what is unknown."""

from bisect import bisect_right
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from crag.analysis.whatif.entries import Entry, Missing, OutcomeRow, Shared, Unknown
from crag.analysis.whatif.lines import tabulate
from crag.analysis.whatif.replay_plan import Planner, StoredDecisions
from crag.analysis.whatif.whatif import WhatIf, redecide
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from crag.core.types import Action, Aggregation
from crag.testing.fakes import FixedWeb
from tests.support.judged import run
from tests.support.paths import BAD, GOOD, SOSO, WEB, Case
from tests.support.sizes import sized

C, A, I = Action.CORRECT, Action.AMBIGUOUS, Action.INCORRECT  # noqa: E741
BALANCED = STRATEGIES["balanced"].settings
PAGES = [f"Page {page} was found online. It says that value {page} is one of seven others." for page in range(3)]


def drawn(text: str) -> float | None:
    """A score in hundredths, so that thresholds meet it exactly; one text in eleven can't be graded."""
    drawn = crc32(text.encode())
    return None if drawn % 11 == 0 else drawn % 101 * (crc32(text[:8].encode()) % 101) // 100 / 100


def texts(name: str, count: int) -> list[str]:
    return [f"Text {name} {place} begins with this. It then goes on for {place} more words." for place in range(count)]


@cache
def stored() -> tuple[Trace, ...]:
    """Runs of every strategy over drawn scores, with a web, a failing one and none; and runs that were cut off."""
    webs = (FixedWeb(texts=PAGES), FixedWeb(fails=True), None)
    every = enumerate(product(STRATEGIES, webs, (0, 4, 10)))
    cases = [
        Case(
            name,
            texts(f"{place}", count),
            again=texts(f"{place} again", count),
            joint=place % 11 / 10,
            web=web,
            score=drawn,
        )
        for place, (name, web, count) in every
    ]
    looped = Case("balanced", [BAD], changes={"max_rewrites": 3}, web=FixedWeb(texts=PAGES))
    cut = [Trace.from_events(cases[2].events[:at]) for at in range(1, len(cases[2].events), 3)]
    return (*(case.trace for case in cases), looped.trace, *cut, run("llm", [SOSO, GOOD]), run("llm", [SOSO]))


@cache
def ledger() -> StoredDecisions:
    return StoredDecisions(Entry.of(trace) for trace in stored())


ON = st.sets(st.sampled_from(list(Action))).map(lambda found: tuple(sorted(found)))
CHANGES: dict[str, st.SearchStrategy[Any]] = {
    "k": st.integers(1, 12),
    "grade_chars": st.sampled_from([0, 500, 2000]),
    "ambiguity_margin": st.sampled_from([0.0, 0.05, 0.2]),
    "keep": st.sampled_from(["all", "relevant"]),
    "max_rewrites": st.integers(0, 3),
    "loop_merge": st.sampled_from(["last", "better", "union"]),
    "strips": st.sampled_from(["sentences", "sentences", "windows"]),
    "strip_sentences": st.integers(1, 3),
    "strip_judge": st.sampled_from(["scores", "llm"]),
    "strip_filter": st.integers(0, 100).map(lambda hundredth: hundredth / 100),
    "strip_top_k": st.integers(0, 12),
    "strip_words": st.integers(0, 120),
    "strip_context": st.booleans(),
    "refine_web": st.booleans(),
    "erase_web_injection": st.booleans(),
    **dict.fromkeys(["internal_on", "web_on", "loop_on", "refine_on"], ON),
}


@st.composite
def other_settings(draw: st.DrawFn) -> Settings:
    """A strategy's settings with some of them changed."""
    lower, upper = sorted(draw(st.tuples(st.integers(0, 100), st.integers(0, 100))))
    changes = draw(st.fixed_dictionaries({}, optional=CHANGES))
    base = draw(st.sampled_from([each.settings for each in STRATEGIES.values()]))
    if base.evaluator != "joint":
        changes["aggregation"] = draw(st.sampled_from([Aggregation.ANY, Aggregation.WORST, Aggregation.MEAN]))
    return base.changed(binary=False, lower=lower / 100, upper=upper / 100, **changes)


def kept(found: WhatIf) -> int:
    return sum(strip.kept for strips in found.strips.values() for strip in strips)


def said(row: OutcomeRow) -> dict[str, object]:
    """What a row shares with what-if."""
    return {
        "decided": (row.before, row.plan.action, row.plan.round),
        "documents": row.plan.documents,
        "web": row.plan.web,
        "unknown": row.plan.unknown,
        "kept": row.kept,
    }


def expected(trace: Trace, settings: Settings) -> dict[str, object]:
    found = redecide(trace, settings)
    return {
        "decided": (found.before, found.action, found.round),
        "documents": found.documents,
        "web": found.web,
        "unknown": found.unknown,
        "kept": None if found.unknown else kept(found),
    }


THRESHOLDS = st.tuples(st.integers(0, 100), st.integers(0, 100)).map(sorted)


@pytest.mark.slow
@given(other_settings(), THRESHOLDS)
@examples(max_examples=sized(40, 15))
def test_every_run_comes_out_as_what_if_has_it_and_again_under_other_thresholds(settings, moved) -> None:
    other = settings.changed(lower=moved[0] / 100, upper=moved[1] / 100)
    for each in (settings, other, settings):
        for trace, row in zip(stored(), ledger().redecide(each).rows, strict=True):
            assert said(row) == expected(trace, each), (trace.strategy, trace.settings)


@pytest.mark.slow
@given(other_settings(), st.booleans(), THRESHOLDS)
@examples(max_examples=sized(40, 15))
def test_the_table_of_the_lines_holds_what_every_place_of_them_leads_to(settings, binary, moved) -> None:
    settings = settings.changed(binary=binary, upper=settings.lower)
    for trace in stored():
        planner, table = Planner(Entry.of(trace)), tabulate(Entry.of(trace), settings)
        edges = [{edge for start in starts for edge in (start - 1, start)} for starts in (table.lowers, table.uppers)]
        for lower, upper in [*product(*edges), moved]:
            upper = lower if binary else upper
            if 0 <= lower <= upper <= 100:
                lines = {"lower": lower / 100, "upper": upper / 100}
                decision, *rest = planner.decision(settings.changed(**lines))
                row = table.cells[bisect_right(table.lowers, lower) - 1]
                found, *known = row[bisect_right(table.uppers, upper) - 1] or ("nothing",)
                assert known == rest and (found and replace(found, **lines)) == decision, (trace.settings, lines)


@pytest.mark.parametrize("name", STRATEGIES)
def test_its_own_settings_change_nothing(name: str) -> None:
    for trace in (each for each in stored() if each.finished or each.answer):
        if trace.strategy != name:
            continue
        entry = Entry.of(trace)
        outcome = StoredDecisions([entry]).redecide(entry.settings)
        assert outcome.rows[0].plan.action == trace.action
        assert outcome.searches[0] == outcome.searches[1] and outcome.kept[0] == outcome.kept[1]


def test_entries_are_what_they_were_where_they_share_their_parts() -> None:
    shared = Shared()
    for trace in stored():
        entry, again = Entry.of(trace), Entry.of(trace)
        kept, same = shared.entry(entry), shared.entry(again)
        assert repr(kept) == repr(entry)  # so True is not 1, nor 1.0
        for part in ("settings", "rounds", "sources"):
            assert getattr(same, part) == getattr(entry, part)
        assert same.settings is kept.settings
        assert all(
            mine is other for mine, other in zip(same.rounds + same.sources, kept.rounds + kept.sources, strict=True)
        )


def test_the_matrix_holds_every_run_once_and_names_it() -> None:
    outcome = ledger().redecide(BALANCED.changed(upper=0.9, lower=0.6))
    cells = outcome.matrix
    assert sum(len(ids) for ids in cells.values()) == len(stored()) == len(outcome.rows)
    assert {cell[1] for cell in cells} == {C, A, I, "unknown"}
    assert sum(outcome.reasons.values()) == sum(len(ids) for cell, ids in cells.items() if cell[1] == "unknown")


def one(case: Case, **changes: Any) -> OutcomeRow:
    (row,) = StoredDecisions([Entry.of(case.trace)]).redecide(case.settings.changed(**changes)).rows
    return row


def test_a_run_that_becomes_correct_searches_no_more() -> None:
    case = Case("balanced", [SOSO, BAD], web=FixedWeb(texts=WEB))
    outcome = StoredDecisions([Entry.of(case.trace)]).redecide(case.settings.changed(upper=0.3, lower=0.1))
    (row,) = outcome.rows
    assert (row.before, row.plan.action, row.plan.web) == (A, C, "not needed")
    assert outcome.searches == (1, 0)


def test_documents_that_would_be_refined_for_the_first_time_are_unknown() -> None:
    case = Case("balanced", [SOSO], changes={"refine_on": ()})
    assert one(case, refine_on=("AMBIGUOUS",)).plan.documents == "unknown"
    assert one(Case("balanced", [SOSO]), strip_sentences=2).plan.documents == "unknown"


def test_pages_that_a_model_would_judge_are_not_counted_as_known() -> None:
    case = Case("balanced", [SOSO], changes={"refine_on": ()}, web=FixedWeb(texts=WEB))
    outcome = StoredDecisions([Entry.of(case.trace)]).redecide(case.settings.changed(strip_judge="llm"))
    assert (outcome.rows[0].plan.web, outcome.rows[0].kept, outcome.searches) == ("unknown", None, (1, 1))
    assert outcome.open == {Unknown(Missing.PAGES_NOT_SCORED): 1}


def test_a_model_that_had_nothing_to_choose_from_changes_nothing() -> None:
    """A blank chunk has no strips: whoever judges them, none is kept."""
    case = Case("balanced", ["   "], score=lambda text: 0.9)
    settings = case.settings.changed(strip_judge="llm")
    (row,) = StoredDecisions([Entry.of(case.trace)]).redecide(settings).rows
    assert (row.plan.documents, row.kept) == ("known", 0)


def test_a_run_with_settings_of_another_version_is_decided_anew_with_their_defaults() -> None:
    trace = stored()[0]
    old = replace(trace, strategy="gone", settings={**trace.settings, "upper": 7, "lower": 0.1, "gone": True})
    entry = Entry.of(old)
    assert (entry.settings.upper, entry.settings.lower) == (Settings().upper, 0.1)
    assert len(StoredDecisions([entry]).redecide(Settings()).rows) == 1


def test_an_empty_ledger_has_an_outcome() -> None:
    outcome = StoredDecisions([]).redecide(Settings())
    assert (outcome.matrix, outcome.searches, outcome.kept) == ({}, (0, 0), (0, 0, 0))
