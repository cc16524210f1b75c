"""Ten minutes of mixed work by ten sessions: no fault, and memory that stays (`SOAK_MINUTES` chooses another time)."""

from __future__ import annotations

import argparse
import asyncio
import os

import pytest

from benchmarks import soak_mixed

ALLOWED = 0.05
"""By so much memory may grow after the first third, in which all is loaded and caches fill."""


@pytest.mark.heavy
def test_mixed_work_ends_without_a_fault_and_memory_stays() -> None:
    minutes = float(os.environ.get("SOAK_MINUTES", "10"))
    found = asyncio.run(soak_mixed.measure(argparse.Namespace(minutes=minutes, people=10)))
    assert not found["problems"]
    assert sum(act["count"] for act in found["acts"].values()) > 10
    assert soak_mixed.growth(found["memory"], 60 * minutes / 3) < ALLOWED
