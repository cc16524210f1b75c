"""The layout of a map: neighbours stay near, the same vectors give the same map, and bad input gives a plain one."""

import numpy as np
import pytest
from numpy.typing import NDArray

from crag.analysis.atlas import layout


def groups(count: int, dimension: int = 32, many: int = 12, seed: int = 3) -> NDArray[np.float32]:
    """Unit vectors in groups."""
    random = np.random.default_rng(seed)
    middles = random.normal(size=(many, dimension))
    found = middles[random.integers(0, many, count)] + 0.5 * random.normal(size=(count, dimension))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def kept(vectors: NDArray[np.float32], points: NDArray[np.float32]) -> float:
    """The share of each point's 10 nearest vectors that are among its 30 nearest on the map."""
    near = layout.nearest(vectors, 10)[1]
    distance = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    there = np.argsort(distance, axis=1)[:, 1:31]
    return float(np.mean([np.isin(one, other).mean() for one, other in zip(near, there, strict=True)]))


def test_other_points_are_placed_beside_their_own_kind() -> None:
    vectors = groups(400)
    points = layout.lay_out(vectors[:300])
    placed, nearest = layout.place(vectors[300:], layout.flat_index(vectors[:300]), points)
    assert kept(vectors, np.concatenate([points, placed])) > 0.6
    assert np.array_equal(nearest, (vectors[300:] @ vectors[:300].T).argmax(axis=1))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 40])
def test_few_or_equal_vectors_have_places_of_their_own(count: int) -> None:
    points = layout.lay_out(np.full((count, 8), 8**-0.5, np.float32))
    assert points.shape == (count, 2) and np.isfinite(points).all()
    assert len(np.unique(points, axis=0)) == count


def test_clusters_are_the_groups_and_their_numbers_have_no_holes() -> None:
    found = layout.clusters(groups(400))
    assert sorted(set(found.tolist())) == list(range(found.max() + 1)) and 3 <= found.max() + 1 <= 24
    assert layout.clusters(groups(3)).tolist() == [0, 0, 0]
    assert set(layout.clusters(np.full((40, 8), 8**-0.5, np.float32)).tolist()) == {0}


@pytest.mark.slow
def test_pairs_are_found_among_many_too() -> None:
    vectors = groups(12_000, many=200)
    vectors[11_000] = vectors[5]
    assert [5, 11_000] in layout.near_pairs(vectors, 0.9999, 10).tolist()


def test_what_an_outline_holds() -> None:
    points = np.array([[-0.5, 0], [2, 2], [0.9, 0.2], [0, -0.9]], np.float32)
    triangle = np.array([[-1, -1], [1, -1], [1, 1]], np.float32)
    assert layout.inside(points, triangle).tolist() == [False, False, True, True]
    assert layout.inside(points, np.zeros((0, 2), np.float32)).tolist() == [False] * 4
