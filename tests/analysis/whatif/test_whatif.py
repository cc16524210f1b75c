"""What-if equals reality: whatever it claims to know of a stored run is what a fresh run under those settings does."""

import random
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import pytest

from crag.analysis.whatif.entries import Entry, Missing, OutcomeRow, Unknown
from crag.analysis.whatif.replay_plan import StoredDecisions
from crag.analysis.whatif.whatif import WhatIf, redecide
from crag.core import events as ev
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Action, Strip
from crag.testing.fakes import FixedWeb
from tests.support.paths import BAD, GOOD, SOSO, WEB, Case
from tests.support.sizes import sized, thinned
from tests.support.worlds import FIELDS, World, first_settings, other_settings, tuned

NO_GRADES = Unknown(Missing.NO_GRADES)
NO_LOOP = Unknown(Missing.NO_LOOP)
NO_ROUND = Unknown(Missing.NO_ROUND)
NOT_SCORED = Unknown(Missing.NOT_SCORED)
NOT_SEARCHED = Unknown(Missing.NOT_SEARCHED)
OTHER_RETRIEVAL = Unknown(Missing.OTHER_RETRIEVAL)
PAGES_NOT_SCORED = Unknown(Missing.PAGES_NOT_SCORED)

C, A, I = Action.CORRECT, Action.AMBIGUOUS, Action.INCORRECT  # noqa: E741
WORLDS, EACH, BLOCKS = sized(90, 60), 5, 5


def alone(trace: Trace) -> StoredDecisions:
    return StoredDecisions([Entry.of(trace)])


def row_of(run: StoredDecisions, settings: Settings) -> OutcomeRow:
    (row,) = run.redecide(settings).rows
    return row


def part(found: WhatIf | Trace, trace: Trace, origin: str) -> dict[str, tuple[Strip, ...]]:
    """The strips of the documents of a trace, or of its pages, as `found` has them."""
    pages = {page.id for page in trace.pages}
    return {id: strips for id, strips in found.strips.items() if (id in pages) == (origin == "external")}


def check(stored: Trace, ledger: StoredDecisions, settings: Settings, fresh: Trace) -> WhatIf:
    """Every claim of both what-ifs against a fresh run, and the two against each other."""
    found, row = redecide(stored, settings), row_of(ledger, settings)
    assert (row.before, row.plan.action, row.plan.round) == (found.before, found.action, found.round)
    assert (row.plan.documents, row.plan.web) == (found.documents, found.web)
    assert found.unknown == row.plan.unknown
    if row.becomes == "unknown":
        assert not found.strips and found.unknown and row.kept is None
        return found
    assert found.decision == fresh.decision
    assert found.round == len(fresh.rounds) - 1 or row.plan.open
    documents, web = part(found, stored, "internal"), part(found, stored, "external")
    if found.documents != "unknown":
        assert list(documents.items()) == list(part(fresh, fresh, "internal").items())
    if found.web != "unknown":
        assert [page.text for page in fresh.pages] == ([page.text for page in stored.pages] if web else [])
        assert web == part(fresh, fresh, "external")
    assert (found.web == "not needed") == all(
        rewrite.purpose == "library" for rewrite in fresh.rewrites
    ) or row.plan.web == "unknown"
    kept = sum(strip.kept for strips in found.strips.values() for strip in strips)
    assert row.kept == (None if found.unknown else kept)
    return found


def test_every_setting_is_drawn() -> None:
    assert set(FIELDS) == set(Settings.model_fields)


def cuts(draw: random.Random, events: list[ev.Event]) -> list[Trace]:
    """The run as it would have been stored had it ended earlier: in the middle of a step, and as one began."""
    began = [place for place, event in enumerate(events, 1) if isinstance(event, ev.StepStarted)]
    return [Trace.from_events(events[:end]) for end in (draw.randint(1, len(events)), draw.choice(began))]


@cache
def ran(seed: int) -> tuple[list[Settings], list[list[ev.Event]]]:
    """Several settings, each a change of the first, and their runs in one world."""
    draw, world = random.Random(seed), World(seed)
    first = first_settings(draw)
    every = [first, *(other_settings(draw, first) for _ in range(EACH - 1))]
    return every, [world.run(settings) for settings in every]


@pytest.mark.parametrize("block", thinned(range(BLOCKS), BLOCKS))
def test_what_if_knows_only_what_a_fresh_run_does(block: int) -> None:
    """Every run, whole and cut short, re-decided to the settings of every other run in its world."""
    for seed in range(block, WORLDS, BLOCKS):
        every, runs = ran(seed)
        fresh, draw = [Trace.from_events(events) for events in runs], random.Random(seed)
        for events, whole in zip(runs, fresh, strict=True):
            for stored in (whole, *cuts(draw, events)):
                ledger = alone(stored)
                for settings, real in zip(every, fresh, strict=True):
                    check(stored, ledger, settings, real)


def test_what_if_knows_what_thresholds_aggregation_and_strip_filter_would_do() -> None:
    """The action but for loops that were never run, and most of what is kept: that a new search is unknown is right."""
    found = []
    for seed in range(WORLDS):
        every, runs = ran(seed)
        settings = tuned(random.Random(seed), every[0])
        found.append(row_of(alone(Trace.from_events(runs[0])), settings))
    assert sum(row.becomes != "unknown" for row in found) >= 0.95 * WORLDS
    assert sum(row.kept is not None for row in found) >= 0.5 * WORLDS
    assert sum(row.plan.action not in (None, row.before) for row in found) >= 0.15 * WORLDS
    assert {reason for row in found for reason in row.plan.open} <= {NOT_SEARCHED, NOT_SCORED, PAGES_NOT_SCORED}
    assert {row.plan.reason for row in found} <= {None, NO_LOOP}


class Ran(Case):
    """A run of a strategy over the texts, with a web."""

    def __init__(self, strategy: str, *texts: str, joint: float = 0.6, **changes: Any) -> None:
        self.texts, self.joint = texts, joint
        super().__init__(strategy, texts, joint=joint, web=FixedWeb(texts=WEB), changes=changes)


def told(case: Ran, **changes: Any) -> tuple[Action | None, str, str, tuple[str, ...]]:
    """Action, documents, web and what is unknown, under the run's own settings with some changed."""
    settings = case.settings.changed(**changes)
    found = redecide(case.trace, settings)
    again = Case("balanced", case.texts, joint=case.joint, web=FixedWeb(texts=WEB), changes=settings.model_dump())
    check(case.trace, alone(case.trace), settings, again.trace)
    return found.action, found.documents, found.web, found.unknown


@pytest.mark.parametrize(
    ("case", "changes", "claims"),
    [
        (partial(Ran, "balanced"), {"grade_chars": 100, "loop_on": ()}, (I, "not used", "known", ())),
        (partial(Ran, "balanced", GOOD), {"min_confidence": 0.5}, (None, "not used", "not needed", (OTHER_RETRIEVAL,))),
        (
            partial(Ran, "plain-rag", GOOD, k=1),
            {"k": 2},
            (None, "unknown", "not needed", (Unknown(Missing.NOT_RETRIEVED, 1),)),
        ),
        (
            partial(Ran, "balanced", GOOD, k=1),
            {"k": 2},
            (None, "not used", "not needed", (Unknown(Missing.NOT_RETRIEVED, 1),)),
        ),
        (
            partial(Ran, "balanced", GOOD),
            {"evaluator": "joint", "aggregation": "joint"},
            (None, "not used", "not needed", (NO_GRADES,)),
        ),
        (
            partial(Ran, "joint", GOOD),
            {"evaluator": "chunk", "aggregation": "any"},
            (None, "not used", "not needed", (NO_GRADES,)),
        ),
        (partial(Ran, "balanced", GOOD), {"grade_chars": 9}, (None, "not used", "not needed", (NO_GRADES,))),
        (
            partial(Ran, "joint", GOOD, BAD),
            {"k": 1},
            (None, "not used", "not needed", (NO_GRADES,)),
        ),
        (partial(Ran, "balanced", BAD, BAD), {"k": 1}, (None, "not used", "not needed", (NO_LOOP,))),
        (partial(Ran, "balanced", SOSO), {"loop_on": ("AMBIGUOUS",)}, (None, "not used", "not needed", (NO_LOOP,))),
        (partial(Ran, "balanced", SOSO), {"rewrite_keywords": 4}, (A, "known", "unknown", (NOT_SEARCHED,))),
        (partial(Ran, "balanced", GOOD), {"upper": 1.0}, (A, "known", "unknown", (NOT_SEARCHED,))),
        (partial(Ran, "balanced", SOSO), {"refine_web": False}, (A, "known", "unknown", (PAGES_NOT_SCORED,))),
        (
            partial(Ran, "balanced", SOSO),
            {"strips": "windows"},
            (A, "unknown", "unknown", (NOT_SCORED, PAGES_NOT_SCORED)),
        ),
        (
            partial(Ran, "balanced", GOOD, refine_on=()),
            {"refine_on": ("CORRECT",)},
            (C, "unknown", "not needed", (NOT_SCORED,)),
        ),
        (partial(Ran, "balanced", GOOD), {"strip_judge": "llm"}, (C, "unknown", "not needed", (NOT_SCORED,))),
        (
            partial(Ran, "balanced", SOSO, internal_on=()),
            {"strip_judge": "llm"},
            (A, "not used", "unknown", (PAGES_NOT_SCORED,)),
        ),
        (
            partial(Ran, "balanced", GOOD, forced="INCORRECT"),
            {"forced": ""},
            (C, "unknown", "not needed", (NOT_SCORED,)),
        ),
    ],
)
def test_what_is_known_and_what_only_a_call_could_tell(
    case: Callable[[], Ran], changes: dict[str, Any], claims: tuple[Action | None, str, str, tuple[str, ...]]
) -> None:
    assert told(case(), **changes) == claims


def test_pages_that_a_run_did_not_come_to_read_are_unknown() -> None:
    case = Ran("balanced", SOSO)
    found_at = next(place for place, event in enumerate(case.events) if isinstance(event, ev.Searched))
    cut = Trace.from_events(case.events[: found_at + 1])
    found = redecide(cut, case.settings)
    assert (found.action, found.web, found.unknown) == (A, "unknown", (PAGES_NOT_SCORED,))
