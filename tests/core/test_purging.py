"""Which documents a purge takes out, and how its conditions are typed."""

from datetime import UTC, datetime, timedelta

import pytest

from crag.core.errors import CragError, FilterError, SettingsError
from crag.core.filters import filter_of
from crag.core.metadata import Value, fields_of
from crag.core.purging import Conditions, Standing, conditions_of, due
from crag.core.trace import Track
from crag.core.types import Document

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def ago(days: float) -> str:
    return (NOW - timedelta(days=days)).isoformat()


def standing(name: str, days: float, *, used: float | None = None, **given: Value) -> Standing:
    """A document added so many days ago, used so many days ago, with these fields."""
    document = Document(id=name, name=name, title=name, size=1, pages=1, chunks=1, added_at=ago(days), model="m")
    track = Track(used=int(used is not None), last_used="" if used is None else ago(used))
    return Standing(document=document, fields=fields_of(document, given), track=track)


LIBRARY = [
    standing("new", 1, confidence=0.2),
    standing("old", 100, confidence=0.2),
    standing("verified", 100, verified=True, confidence=0.2),
    standing("trusted", 100, used=2),
    standing("idle", 100, used=50, tags=("news",)),
    standing("kept", 100, confidence=0.0, keep=True),
]


@pytest.mark.parametrize(
    ("said", "gone"),
    [
        ("--older-than 30d", ["old", "verified", "trusted", "idle"]),
        ("--older-than 100d", []),
        ("--older-than 30d --where 'confidence < 0.5' --where 'verified = false'", ["old"]),
        ("--not-used-for 30d", ["old", "verified", "idle"]),
        ("--where 'verified = false' --where 'confidence > 0.5' --where 'tags not has news'", ["trusted"]),
    ],
)
def test_a_document_goes_that_meets_every_condition(said: str, gone: list[str]) -> None:
    assert [each.document.name for each in due(conditions_of(said), LIBRARY, NOW)] == gone


def test_each_says_why_it_goes() -> None:
    (one,) = due(conditions_of("--older-than 30d --not-used-for 30d --where 'name = old'"), LIBRARY, NOW)
    assert one.why == "added 100 days ago, never used, meets name = old"
    (idle,) = due(conditions_of("--not-used-for 30d --where 'tags has news'"), LIBRARY, NOW)
    assert idle.why == "last used 50 days ago, meets tags has news"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("", "needs a condition"),
        ("--older-than 30", "'30' is no number of days or weeks"),
        ("--older-then 30d", "unrecognized arguments: --older-then 30d"),
        ("--where 'tags has", "No closing quotation"),
    ],
)
def test_conditions_that_can_not_be_read_are_explained(said: str, told: str) -> None:
    with pytest.raises(CragError, match=told):
        conditions_of(said)


def test_no_condition_is_none_and_a_filter_is_checked_against_the_library() -> None:
    with pytest.raises(SettingsError, match="needs a condition"):
        Conditions()
    with pytest.raises(FilterError, match="no document has"):
        due(Conditions(where=filter_of("nonsense = 1")), LIBRARY, NOW)
    assert due(Conditions(where=filter_of("nonsense = 1")), [], NOW) == []
