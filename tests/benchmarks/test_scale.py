"""The scale benchmark: made chunks that are like real ones, each other than the rest, and the steps that measure."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.scale_child import add, build, recall, search
from benchmarks.scale_chunks import Maker
from benchmarks.scale_plan import ADDED, ADDED_CHUNKS, nearest, planned
from benchmarks.scale_sides import SIDES
from benchmarks.scale_sources import NEIGHBOURS, Sources, neighbours
from crag.index.chunk_index import Contents

PLACES = "Bergen Oslo Turin Lyon Porto Ghent Malmo Basel Graz Bonn".split()
CHUNKS = 60
"""Of each real document."""
DIMENSION = 24
CONTENTS = Contents(library="test", model="test/1", dimension=DIMENSION)


@pytest.fixture(scope="module")
def sources() -> Sources:
    """Ten documents on ten places, in clusters of vectors."""
    chance = np.random.default_rng(0)
    centres = chance.normal(size=(len(PLACES), 1, DIMENSION))
    vectors = (centres + 0.7 * chance.normal(size=(len(PLACES), CHUNKS, DIMENSION))).reshape(-1, DIMENSION)
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return Sources(
        titles=[(f"{place}.pdf", f"The harbour of {place}, 2019") for place in PLACES],
        starts=np.arange(len(PLACES) + 1, dtype=np.int64) * CHUNKS,
        contexts=[f"The harbour of {place}, 2019 › Part {part}" for place in PLACES for part in range(CHUNKS)],
        texts=[_text(place, part) for place in PLACES for part in range(CHUNKS)],
        vectors=vectors,
        near=neighbours(vectors, NEIGHBOURS),
        questions=[f"How many ships came to {place}?" for place in PLACES],
        asked=vectors[::CHUNKS],
        model="test/1",
    )


def _text(place: str, part: int) -> str:
    """One in three has no figures at all."""
    figures = "many" if part % 3 == 0 else f"{1234 + part} of {5678 + part}"
    return f"In 2017 {figures} ships came to {place} for repairs, as the harbour said in its 10-K."


def texts(maker: Maker, chunks: int) -> list[str]:
    return [text for document in maker.documents(chunks) for text in document.batch.texts]


# ---- the chunks ----------------------------------------------------------------------------------------------------


def test_the_same_seed_makes_the_same_library_and_another_another(sources: Sources) -> None:
    first, again, other = (list(Maker(sources, seed=seed).documents(400)) for seed in (1, 1, 2))
    assert [each.title for each in first] == [each.title for each in again]
    for one, two in zip(first, again, strict=True):
        assert one.batch.texts == two.batch.texts
        assert np.array_equal(one.batch.vectors, two.batch.vectors)
    assert first[0].batch.texts != other[0].batch.texts


def test_no_two_chunks_are_the_same(sources: Sources) -> None:
    found = texts(Maker(sources), 1_800)
    assert len(set(found)) == len(found) == 1_800
    vectors = np.concatenate(list(Maker(sources).vectors(1_800)))
    assert len(np.unique(vectors, axis=0)) == 1_800


# ---- the steps -----------------------------------------------------------------------------------------------------


def test_nearest_is_exact_over_many_blocks(sources: Sources) -> None:
    parts = list(Maker(sources).vectors(9_000))
    vectors = np.concatenate(parts)
    assert len(vectors) > 8_192
    expected = np.argsort(-(sources.asked @ vectors.T), axis=1)[:, :10] + 1
    assert np.array_equal(nearest(parts, sources.asked, 10), expected)


def test_recall_is_the_share_of_the_exact_ones() -> None:
    exact = np.array([[1, 2], [3, 4]])
    assert recall([np.array([2, 1, 9])], exact) == 1
    assert recall([np.array([2, 1]), np.array([3, 9])], exact) == 0.75


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flat", "library"])
def test_a_side_is_built_searched_and_added_to(name: str, sources: Sources, tmp_path: Path) -> None:
    maker, place = Maker(sources), tmp_path / "place"
    place.mkdir()
    plan = planned(sources, maker, 600, tmp_path)
    assert [len(document.batch.texts) for document in plan.added] == [ADDED_CHUNKS] * ADDED

    def opened() -> Any:
        return SIDES[name].opened(place, CONTENTS)

    built = build(opened(), maker.documents(600))
    found = search(opened, plan, 600)
    assert found["recall"] == 1
    assert found["searches"] == len(PLACES)
    added = add(opened(), plan)
    assert built["memory"]["peak"] > 0 and added["documents"] == ADDED
    again = opened()
    assert again.size == 600 + ADDED * ADDED_CHUNKS
    again.close()


# ---- the page ------------------------------------------------------------------------------------------------------
