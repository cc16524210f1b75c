"""What benchmarks.scale asks at one size: questions, their exact nearest chunks, and documents to add."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.scale_chunks import MadeDocument, Maker
from benchmarks.scale_sides import Asked
from benchmarks.scale_sources import Sources
from crag.retrieval.ranking import question_terms

NEAREST = 10
ADDED, ADDED_CHUNKS = 3, 1_000
_FIRST_ADDED = 1_000_000
"""Number of the first document that is added: beyond all that a library is built of."""
_BLOCK = 8_192


@dataclass(frozen=True, slots=True)
class Plan:
    """q questions, `exact` (q, NEAREST) the numbers of the nearest chunks of all, and documents to add."""

    asked: list[Asked]
    exact: NDArray[np.int64]
    added: list[MadeDocument]

    def save(self, file: Path) -> None:
        file.write_bytes(pickle.dumps(self))

    @classmethod
    def load(cls, file: Path) -> Plan:
        """Of a file that `save` wrote in this run."""
        found = pickle.loads(file.read_bytes())
        assert isinstance(found, cls)
        return found


def planned(sources: Sources, maker: Maker, chunks: int, cache: Path) -> Plan:
    """The plan for a library of so many chunks. What is nearest is computed once, and kept."""
    file = cache / f"exact-{chunks}-{maker.id}.npy"
    if not file.exists():
        np.save(file, nearest(maker.vectors(chunks), sources.asked, NEAREST))
    asked = [
        Asked(text, question_terms(text), vector) for text, vector in zip(sources.questions, sources.asked, strict=True)
    ]
    added = [
        maker.added(_FIRST_ADDED + place, chunks + 1 + place * ADDED_CHUNKS, ADDED_CHUNKS) for place in range(ADDED)
    ]
    return Plan(asked, np.load(file), added)


def nearest(vectors: Iterable[NDArray[np.float32]], asked: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """The numbers, from 1 on in the order of `vectors`, of the `count` nearest to each of `asked`: (q, count)."""
    numbers = np.zeros((len(asked), 0), np.int64)
    cosines = np.zeros((len(asked), 0), np.float32)
    for first, block in _blocks(vectors):
        some = asked @ block.T
        cosines = np.concatenate([cosines, some], axis=1)
        own = np.broadcast_to(np.arange(first, first + len(block)), some.shape)
        numbers = np.concatenate([numbers, own], axis=1)
        best = np.argsort(-cosines, axis=1, kind="stable")[:, :count]
        cosines, numbers = np.take_along_axis(cosines, best, 1), np.take_along_axis(numbers, best, 1)
    return numbers


def _blocks(vectors: Iterable[NDArray[np.float32]]) -> Iterable[tuple[int, NDArray[np.float32]]]:
    first, waiting = 1, []
    for some in vectors:
        waiting.append(some)
        if sum(map(len, waiting)) >= _BLOCK:
            yield first, np.concatenate(waiting)
            first, waiting = first + sum(map(len, waiting)), []
    if waiting:
        yield first, np.concatenate(waiting)
