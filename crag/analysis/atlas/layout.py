"""A plane that vectors are placed in, so that those of one topic lie together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import faiss
import numpy as np
from numpy.typing import NDArray

from crag.index.chunk_index import Vectors

Points = NDArray[np.float32]
Topics = NDArray[np.int64]

_MOST_TOPICS = 24
_PULL = 2 / 3
"""How far a vector is drawn to the middle of its topic: topics then lie apart, and keep a shape of their own."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plane:
    """`middle` (d,) of the vectors, their two main `directions` (d, 2), and the middles of their `topics` (k, d)."""

    middle: Vectors
    directions: Vectors
    topics: Vectors

    def place(self, vectors: Vectors) -> tuple[Points, Topics]:
        """The places (n, 2) and topics (n,) of n vectors (n, d)."""
        nearest = faiss.knn(vectors, self.topics, 1)[1][:, 0]
        drawn = (1 - _PULL) * vectors + _PULL * self.topics[nearest] - self.middle
        return (drawn @ self.directions).astype(np.float32), nearest


def fit(vectors: Vectors) -> Plane:
    """The plane of n vectors (n, d), n > 1: the same for the same vectors. Topics are about half the root of n."""
    directions = np.linalg.eigh(np.cov(vectors.T))[1][:, :-3:-1]  # of the covariance: those of the SVD, at less cost
    directions = directions * np.where(directions.sum(axis=0) < 0, -1, 1)
    count = min(max(1, round(len(vectors) ** 0.5 / 2)), _MOST_TOPICS)
    means = faiss.Kmeans(vectors.shape[1], count, niter=20, seed=1, min_points_per_centroid=1)
    means.train(vectors)
    return Plane(
        middle=vectors.mean(axis=0),
        directions=directions.astype(np.float32),
        topics=np.asarray(means.centroids, np.float32),
    )


def inside(points: Points, outline: Points) -> NDArray[np.bool_]:
    """Which of n points (n, 2) lie inside the polygon of m corners (m, 2)."""
    found = np.zeros(len(points), bool)
    x, y = points[:, 0], points[:, 1]
    for (x0, y0), (x1, y1) in pairwise([*outline, *outline[:1]]):
        if y0 != y1:
            found ^= ((y0 > y) != (y1 > y)) & (x < (x1 - x0) * (y - y0) / (y1 - y0) + x0)
    return found
