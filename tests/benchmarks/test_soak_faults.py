"""The soak's faults in small, on the real app: kills, a provider that is down, outages of what it stands on."""

import argparse
import asyncio
import os
from pathlib import Path

import pytest

from benchmarks import soak_kills, soak_mixed, soak_outages, soak_providers
from tests.support.sizes import sized

pytestmark = pytest.mark.heavy


def test_what_was_confirmed_outlives_kills_and_the_rest_is_told(tmp_path: Path) -> None:
    work = ("ask", "ask", "upload", "delete")
    found = asyncio.run(soak_kills.killed(tmp_path, sized(4, 2), 20, work))
    assert not found["lost"]
    assert not found["problems"]
    assert found["acts"], "something was confirmed"


def test_a_provider_that_fails_is_left_alone_and_used_again(tmp_path: Path) -> None:
    phases = ("well", "failing (status 500)", "well again")
    found = asyncio.run(soak_providers.asked_through(tmp_path, 20, 3, phases))
    assert not found["problems"]
    assert all(each["runs"] and not each["unanswered"] for each in found["phases"].values())
    assert found["opened"], "the log says so, once for each step"
    assert "evaluate: resting" in found["phases"]["failing (status 500)"]["reasons"]


@pytest.mark.parametrize("case", ["disk full", "database gone", "Milvus gone", "clock set back by an hour"])
def test_an_outage_is_told_and_over_when_it_is_over(tmp_path: Path, case: str) -> None:
    found = asyncio.run(soak_outages.suffered(tmp_path, case, 5))
    if found.skipped:
        pytest.skip(found.skipped)
    assert not found.broken
    assert not found.lost
    assert found.recovered >= 0


ALLOWED = 0.05
"""By so much memory may grow after the first third, in which all is loaded and caches fill."""


def test_mixed_work_ends_without_a_fault_and_memory_stays() -> None:
    minutes = float(os.environ.get("SOAK_MINUTES", "10"))  # by ten sessions
    found = asyncio.run(soak_mixed.measure(argparse.Namespace(minutes=minutes, people=10)))
    assert not found["problems"]
    assert sum(act["count"] for act in found["acts"].values()) > 10
    assert soak_mixed.growth(found["memory"], 60 * minutes / 3) < ALLOWED
