"""What-if equals reality: whatever it claims to know of a stored run is what a fresh run under those settings does."""

from __future__ import annotations

import random
from functools import cache

import pytest
from worlds import FIELDS, World, first_settings, other_settings, tuned

from crag.core import events as ev
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Strip
from crag.measure.entries import Entry
from crag.measure.flips import Row
from crag.measure.ledger import Ledger
from crag.measure.plans import NO_LOOP, NOT_SCORED, NOT_SEARCHED, PAGES_NOT_SCORED
from crag.measure.whatif import WhatIf, redecide

WORLDS, EACH, BLOCKS = 90, 5, 5


def alone(trace: Trace) -> Ledger:
    return Ledger([Entry.of(trace)])


def row_of(run: Ledger, settings: Settings) -> Row:
    (row,) = run.redecide(settings).rows
    return row


def strips_of(trace: Trace, origin: str) -> dict[str, tuple[Strip, ...]]:
    pages = {page.id for page in trace.pages}
    return {id: strips for id, strips in trace.strips.items() if (id in pages) == (origin == "external")}


def part(found: WhatIf, trace: Trace, origin: str) -> dict[str, tuple[Strip, ...]]:
    pages = {page.id for page in trace.pages}
    return {id: strips for id, strips in found.strips.items() if (id in pages) == (origin == "external")}


def count(strips: dict[str, tuple[Strip, ...]]) -> int:
    return sum(strip.kept for group in strips.values() for strip in group)


def check(stored: Trace, ledger: Ledger, settings: Settings, fresh: Trace) -> WhatIf:
    """Every claim of both what-ifs against a fresh run, and the two against each other."""
    found, row = redecide(stored, settings), row_of(ledger, settings)
    assert (row.before, row.after, row.round, row.flips) == (found.before, found.action, found.round, found.flips)
    assert (row.documents, row.web) == (found.documents, found.web)
    assert found.unknown == ((row.reason,) if row.reason else row.open)
    if row.fate == "unknown":
        assert not found.strips and found.unknown
        return found
    assert found.decision == fresh.decision
    assert found.round == len(fresh.rounds) - 1 or row.open
    documents, web = part(found, stored, "internal"), part(found, stored, "external")
    if found.documents != "unknown":
        assert list(documents.items()) == list(strips_of(fresh, "internal").items())
        assert row.documents_kept == count(documents)
    if found.web != "unknown":
        assert [page.text for page in fresh.pages] == ([page.text for page in stored.pages] if web else [])
        assert web == strips_of(fresh, "external")
        assert row.pages_kept == count(web)
    assert (found.web == "not needed") == all(
        rewrite.purpose == "library" for rewrite in fresh.rewrites
    ) or row.web == "unknown"
    assert found.kept_known == (row.kept is not None)
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


@pytest.mark.parametrize("block", range(BLOCKS))
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
    assert sum(row.fate != "unknown" for row in found) >= 0.95 * WORLDS
    assert sum(row.kept is not None for row in found) >= 0.5 * WORLDS
    assert sum(row.flips for row in found) >= 0.15 * WORLDS
    assert {reason for row in found for reason in row.open} <= {NOT_SEARCHED, NOT_SCORED, PAGES_NOT_SCORED}
    assert {row.reason for row in found} <= {"", NO_LOOP}
