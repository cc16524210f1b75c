"""Vectors as points in the plane, so that near ones stay near: landmarks are laid out, the others placed among them.

The layout is that of UMAP (McInnes et al. 2018) with all edges of a round moved at once: weights of the graph of
nearest neighbours, attraction along its edges, repulsion from random points. The same for the same vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from crag.index.chunk_index import Vectors

Points = NDArray[np.float32]
Indices = NDArray[np.int64]
Progress = Callable[[float], None]
"""Takes the share that is done, 0..1; may raise to end the work."""

NEIGHBOURS = 15
"""Neighbours of each point in the graph, as in UMAP."""
_ROUNDS, _PARTS, _REPELLED = 200, 2, 5
_A, _B = 1.577, 0.895
"""The curve of UMAP for a least distance of 0.1 between points."""
_MOST_STEP = 4.0
ANCHORS, _WIDTH = 5, 0.05
"""Points that place another one, and the distance over which their weight falls by e: on 10,000 synthetic vectors
these kept the most neighbours."""
_CLUSTERS = 3, 24


def _no_progress(_: float) -> None:
    """For callers that hear nothing."""


def nearest(vectors: Vectors, k: int) -> tuple[NDArray[np.float32], Indices]:
    """Similarities (n, k) and rows (n, k) of the nearest others of each of n vectors, best first; k < n."""
    found, rows = flat_index(vectors).search(vectors, k + 1)
    own = rows == np.arange(len(vectors))[:, None]
    own[~own.any(axis=1), -1] = True  # where more than k are the same, a vector may not find itself
    return found[~own].reshape(-1, k), rows[~own].reshape(-1, k)


def flat_index(vectors: Vectors) -> Any:
    """An exact index by inner product."""
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    return index


def lay_out(vectors: Vectors, progress: Progress = _no_progress) -> Points:
    """Places (n, 2) of n vectors, about within ±20 for ten thousand. Needs a graph, so more than three; else a line."""
    count = len(vectors)
    if count <= 3:
        return np.array([[at - (count - 1) / 2, 0] for at in range(count)], np.float32).reshape(count, 2)
    random = np.random.default_rng(0)
    heads, tails, chances = _graph(vectors, min(NEIGHBOURS, count - 1))
    places = _first_places(vectors) + random.normal(0, 1e-3, (count, 2)).astype(np.float32)
    for turn in range(_ROUNDS):
        progress(turn / _ROUNDS)
        for _ in range(_PARTS):
            picked = np.flatnonzero(random.random(len(heads), np.float32) < chances / _PARTS)
            head, tail = heads[picked], tails[picked]
            pull = _pull(places[head] - places[tail])
            pushed = np.repeat(head, _REPELLED)
            push = _push(places[pushed] - places[random.integers(0, count, len(pushed))])
            for axis in (0, 1):
                moved = np.bincount(head, pull[:, axis], count) - np.bincount(tail, pull[:, axis], count)
                moved += np.bincount(pushed, push[:, axis], count)
                steps = np.clip(moved, -2 * _MOST_STEP, 2 * _MOST_STEP) * (1 - turn / _ROUNDS)
                places[:, axis] += steps.astype(np.float32)
    places -= places.mean(axis=0)
    return places


def place(vectors: Vectors, landmarks: Any, points: Points) -> tuple[Points, Indices]:
    """Places (m, 2) of m vectors at the weighted mean of the nearest `points` (n, 2), and the row of the nearest (m,).

    `landmarks` is the index of what lies at these points.
    """
    found, rows = landmarks.search(vectors, min(ANCHORS, len(points)))
    return weigh(found, points[rows]), rows[:, 0]


def weigh(similar: NDArray[np.float32], points: Points) -> Points:
    """The means (m, 2) of `points` (m, k, 2), weighted by how `similar` (m, k) what lies there is, best first."""
    weights = np.exp((similar - similar[:, :1]) / _WIDTH)
    weights /= weights.sum(axis=1, keepdims=True)
    means: Points = (weights[:, :, None] * points).sum(axis=1).astype(np.float32)
    return means


def clusters(vectors: Vectors) -> NDArray[np.int16]:
    """The cluster of each of n vectors (n,), from 0: k-means with about half the root of n clusters."""
    fewest, most = _CLUSTERS
    count = min(max(fewest, round(len(vectors) ** 0.5 / 2)), most, len(vectors) // 2)
    if count < 2:
        return np.zeros(len(vectors), np.int16)
    means = faiss.Kmeans(vectors.shape[1], count, niter=20, seed=1, min_points_per_centroid=1)
    means.train(vectors)
    found = means.index.search(vectors, 1)[1][:, 0]
    return np.unique(found, return_inverse=True)[1].astype(np.int16)


def near_pairs(vectors: Vectors, least: float, most: int) -> Indices:
    """Pairs of rows (p, 2), the nearest first, whose similarity is at least `least`; p is at most `most`.

    Of each row its five nearest are looked at. Beyond ten thousand rows they are looked for in the nearest cells alone.
    """
    count = min(6, len(vectors))
    if len(vectors) <= 10_000:
        index = flat_index(vectors)
    else:
        cells = round(len(vectors) ** 0.5)
        index = faiss.IndexIVFFlat(faiss.IndexFlatIP(vectors.shape[1]), vectors.shape[1], cells)
        index.metric_type, index.nprobe = faiss.METRIC_INNER_PRODUCT, 8
        index.train(vectors[:: max(1, len(vectors) // (40 * cells))])
        index.add(vectors)
    found, rows = index.search(vectors, count)
    left = np.repeat(np.arange(len(vectors)), count)
    ends = np.sort(np.stack([left, rows.ravel()], axis=1), axis=1)
    near = (found.ravel() >= least) & (ends[:, 0] != ends[:, 1]) & (ends[:, 0] >= 0)
    order = np.argsort(-found.ravel()[near], kind="stable")
    pairs, first = np.unique(ends[near][order], axis=0, return_index=True)
    return pairs[np.argsort(first)][:most]


def inside(points: Points, outline: Points) -> NDArray[np.bool_]:
    """Which of n points (n, 2) lie inside the polygon of m corners (m, 2)."""
    found = np.zeros(len(points), bool)
    x, y = points[:, 0], points[:, 1]
    for (x0, y0), (x1, y1) in pairwise([*outline, *outline[:1]]):
        if y0 != y1:
            found ^= ((y0 > y) != (y1 > y)) & (x < (x1 - x0) * (y - y0) / (y1 - y0) + x0)
    return found


def _graph(vectors: Vectors, k: int) -> tuple[Indices, Indices, NDArray[np.float32]]:
    """The edges of the neighbour graph, both ways: heads (e,), tails (e,) and the chance of each, 0..1."""
    count = len(vectors)
    similarity, rows = nearest(vectors, k)
    distance = np.maximum(1 - similarity, 0)
    distance -= distance[:, :1]
    low, high = np.zeros(count), np.full(count, 4.0)
    for _ in range(24):  # the width at which the weights of a point's edges add up to log2(k)
        width = (low + high) / 2
        much = np.exp(-distance / width[:, None]).sum(axis=1) > np.log2(k)
        low, high = np.where(much, low, width), np.where(much, width, high)
    weights = np.exp(-distance / width[:, None])
    heads, tails = np.repeat(np.arange(count), k), rows.ravel()
    keys, back = np.unique(np.concatenate([heads * count + tails, tails * count + heads]), return_inverse=True)
    both = np.zeros((2, len(keys)))
    both[0, back[: len(heads)]] = weights.ravel()
    both[1, back[len(heads) :]] = weights.ravel()
    joined = both[0] + both[1] - both[0] * both[1]
    return keys // count, keys % count, (joined / joined.max()).astype(np.float32)


def _first_places(vectors: Vectors) -> Points:
    """The two main directions of the vectors, within ±10."""
    centred = vectors - vectors.mean(axis=0)
    directions = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :2]
    directions *= np.sign(directions[np.abs(directions).argmax(axis=0), [0, 1]])
    places = np.zeros((len(vectors), 2), np.float32)
    places[:, : directions.shape[1]] = centred @ directions
    largest = float(np.abs(places).max())
    return places * np.float32(10 / largest) if largest > 0 else places


def _pull(apart: Points) -> Points:
    square = (apart * apart).sum(axis=1)
    safe = np.maximum(square, 1e-12)
    strength = np.where(square > 0, -2 * _A * _B * safe ** (_B - 1) / (1 + _A * safe**_B), 0)
    clipped: Points = np.clip(strength[:, None] * apart, -_MOST_STEP, _MOST_STEP)
    return clipped


def _push(apart: Points) -> Points:
    square = (apart * apart).sum(axis=1)
    strength = 2 * _B / ((1e-3 + square) * (1 + _A * square**_B))
    clipped: Points = np.clip(strength[:, None] * apart, -_MOST_STEP, _MOST_STEP)
    return clipped
