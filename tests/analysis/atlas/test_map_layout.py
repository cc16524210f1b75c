"""The plane of a map: near vectors lie together, the same vectors give the same places, and bad input a plain map."""

import numpy as np
import pytest
from numpy.typing import NDArray

from crag.analysis.atlas import layout
from tests.support.work import takes_longer

Vectors = NDArray[np.float32]


def groups(count: int, dimension: int = 32, many: int = 12) -> Vectors:
    """Unit vectors in groups."""
    random = np.random.default_rng(3)
    middles = random.normal(size=(many, dimension))
    found = middles[random.integers(0, many, count)] + 0.5 * random.normal(size=(count, dimension))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def kept(vectors: Vectors, points: Vectors) -> float:
    """The share of each point's 10 nearest vectors that are among its 30 nearest on the map."""
    near = np.argsort(-(vectors @ vectors.T), axis=1)[:, 1:11]
    distance = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    there = np.argsort(distance, axis=1)[:, 1:31]
    return float(np.mean([np.isin(one, other).mean() for one, other in zip(near, there, strict=True)]))


def test_vectors_lie_beside_their_own_kind_those_too_that_the_plane_was_not_fitted_to() -> None:
    vectors = groups(400)
    plane = layout.fit(vectors[:300])
    points, topics = plane.place(vectors)
    by_main_directions = (vectors - plane.middle) @ plane.directions
    assert kept(vectors, points) > 0.8 > kept(vectors, by_main_directions)
    assert np.array_equal(topics, ((vectors[:, None] - plane.topics[None]) ** 2).sum(axis=2).argmin(axis=1))


def test_the_same_vectors_give_the_same_places() -> None:
    (points, topics), (again, same) = (layout.fit(groups(400)).place(groups(400)) for _ in range(2))
    assert np.array_equal(points, again) and np.array_equal(topics, same)


@pytest.mark.parametrize("count", [2, 3, 40])
def test_equal_vectors_have_one_place(count: int) -> None:
    equal = np.full((count, 8), 8**-0.5, np.float32)
    points, topics = layout.fit(equal).place(equal)
    assert points.shape == (count, 2) and np.allclose(points, points[0], atol=1e-6) and len(set(topics.tolist())) == 1


def test_twenty_thousand_vectors_take_a_few_seconds() -> None:
    vectors = groups(20_000, 384, 60)
    assert not takes_longer(10, lambda: layout.fit(vectors).place(vectors))


def test_what_an_outline_holds() -> None:
    points = np.array([[-0.5, 0], [2, 2], [0.9, 0.2], [0, -0.9]], np.float32)
    triangle = np.array([[-1, -1], [1, -1], [1, 1]], np.float32)
    assert layout.inside(points, triangle).tolist() == [False, False, True, True]
    assert layout.inside(points, np.zeros((0, 2), np.float32)).tolist() == [False] * 4
