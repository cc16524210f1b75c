"""What may be taken under two limits, and when it is free again: values alone."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime

import pytest

from crag.admin.quantities import Bound, amount_left, decide, over_at, period_of
from crag.admin.quotas import check_value
from crag.core.errors import InputError, SettingsError

NOW = datetime(2026, 11, 23, 18, 30, 15, tzinfo=UTC)


def bounds(own: tuple[float, float], all: tuple[float, float]) -> tuple[Bound, Bound]:
    return Bound(level="workspace", most=own[0], used=own[1]), Bound(level="server", most=all[0], used=all[1])


@pytest.mark.parametrize(
    ("own", "all", "wanted", "refused"),
    [
        ((0, 1e9), (0, 1e9), 1, None),
        ((3, 2), (0, 0), 1, None),
        ((3, 3), (0, 0), 1, "workspace"),
        ((3, 2), (0, 0), 2, "workspace"),
        ((3, 0), (5, 5), 1, "server"),
        ((3, 3), (5, 5), 1, "workspace"),
        ((3, 7), (0, 0), 1, "workspace"),
        ((0.5, 0.49), (0, 0), 0.01, None),
    ],
)
def test_the_first_limit_that_is_reached_refuses(own, all, wanted, refused) -> None:
    found = decide(bounds(own, all), wanted)
    assert (found.level if found else None) == refused
    assert (amount_left(bounds(own, all)) < wanted) == (refused is not None)


@pytest.mark.parametrize("value", [-1, math.nan, math.inf, -math.inf, 1e30, 2.5])
def test_a_value_that_is_no_limit_is_refused(value: float) -> None:
    with pytest.raises(SettingsError, match="library_calls_day"):
        check_value("lib", "library_calls_day", value)
    if value != 2.5:
        with pytest.raises(SettingsError, match="library_dollars_day"):
            check_value("lib", "library_dollars_day", value)


@pytest.mark.parametrize(("workspace", "name"), [("", "data"), ("lib", "all_documents"), ("lib", "runs_at_once; --")])
def test_only_limits_can_be_changed(workspace: str, name: str) -> None:
    with pytest.raises(InputError, match="no limit"):
        check_value(workspace, name, 1)


def test_minutes_hours_and_days_are_over_when_they_are() -> None:
    for period, named, over in [
        ("minute", "2026-11-23T18:30", "2026-11-23T18:31:00+00:00"),
        ("hour", "2026-11-23T18", "2026-11-23T19:00:00+00:00"),
        ("day", "2026-11-23", "2026-11-24T00:00:00+00:00"),
    ]:
        assert period_of(period, NOW) == named
        assert over_at(period, named).isoformat() == over
    assert period_of("day", NOW, date(2026, 11, 25)) == "2026-11-25", "a clock that was set back begins no new day"
