"""The catalog: which documents a question names before others, and which of them a search may use."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from crag.core.errors import FilterError
from crag.core.types import Document
from crag.storage.catalog import Catalog, TitleIndex
from tests.support.library_makers import make_document

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def catalog(*given: tuple[float, int]) -> Catalog:
    """Documents 10, 20, …, each with a confidence and an age in days."""
    documents: list[tuple[Document, dict[str, object]]] = []
    for at, (confidence, days) in enumerate(given):
        added = (NOW - timedelta(days=days)).isoformat()
        documents.append((make_document(f"doc{at}", confidence=confidence, added_at=added)[0], {}))
    numbers = np.arange(1, len(given) + 1) * 10
    return Catalog(library="x", generation=1, titles=TitleIndex(numbers, ()), documents=documents)


def test_the_documents_named_before_others_stand_out() -> None:
    found = catalog(*[(1.0, 0)] * 12)
    named = np.zeros(12, np.float32)
    assert not len(found.outstanding(named)), "none is named"
    named[[2, 5, 7]] = 4.0, 2.5, 1.0
    assert found.outstanding(named).tolist() == [30, 60], "less than half of the best is not before others"
    assert found.outstanding(named, np.array([60, 80])).tolist() == [60], "only among those that may be searched"
    assert len(found.outstanding(np.ones(12, np.float32))) == 8


def test_those_trusted_enough_are_searched_or_all() -> None:
    found = catalog((0.9, 0), (0.4, 0), (0.7, 0))
    assert found.allowed("", 0.7) is not None
    assert np.asarray(found.allowed("", 0.7)).tolist() == [10, 30]
    assert found.allowed("", 0.0) is None
    assert found.allowed("", 0.95) is None, "none is trusted so far"
    assert np.asarray(found.allowed("confidence < 0.8", 0.6)).tolist() == [30]
    assert np.asarray(found.allowed("confidence < 0.8", 0.75)).tolist() == [20, 30]
    with pytest.raises(FilterError, match="No document"):
        found.allowed("confidence > 0.99", 0.0)


def test_filters_that_clients_name_take_bounded_memory() -> None:
    found = catalog(*[(0.9, 0)] * 40)
    for number in range(400):
        assert len(np.asarray(found.allowed(f"confidence > 0.{number:04}", 0.0))) == 40
    assert found._meeting.cache_info().currsize == 32


def test_what_is_left_of_a_similarity_halves_every_half_life() -> None:
    assert catalog((1, 0), (1, 30), (1, 90)).decay(30, NOW) == pytest.approx([1, 0.5, 0.125])
    assert catalog((1, -5)).decay(30, NOW) == pytest.approx([1]), "a clock that was ahead makes nothing newer than now"
