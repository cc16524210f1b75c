"""How like real chunks the made ones of benchmarks.scale are: how near to one another, and to questions.

The trial: all real chunks, n of them, against n that were made from an eighth of them, drawn by chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from benchmarks.scale_chunks import Maker
from benchmarks.scale_sources import NEIGHBOURS, Sources, neighbours

RANKS = (1, 10, 100)
SHARE = 8
_SAMPLE = 1_000
_SHARES = (10, 50, 90)


@dataclass(frozen=True, slots=True)
class Nearness:
    """Cosines with the nearest, tenth and hundredth nearest chunk: percentiles 10, 50, 90 of each rank of RANKS."""

    chunks: tuple[tuple[float, ...], ...]
    questions: tuple[tuple[float, ...], ...]


def likeness(sources: Sources) -> dict[str, Nearness]:
    """Of the real chunks; of as many made from an eighth of them; and of as many of the benchmark's own."""
    count = len(sources.texts)
    few = np.concatenate(list(Maker(thinned(sources)).vectors(count)))
    own = np.concatenate(list(Maker(sources).vectors(count)))
    return {
        "real": _nearness(sources.vectors, sources.asked),
        "made from an eighth of the real": _nearness(few, sources.asked),
        "made as in the benchmark": _nearness(own, sources.asked),
    }


def thinned(sources: Sources) -> Sources:
    """An eighth of the chunks, by chance, all documents still in order."""
    count = len(sources.texts)
    kept = np.sort(np.random.default_rng(0).choice(count, count // SHARE, replace=False))
    vectors = sources.vectors[kept]
    return replace(
        sources,
        starts=np.searchsorted(kept, sources.starts).astype(np.int64),
        contexts=[sources.contexts[row] for row in kept],
        texts=[sources.texts[row] for row in kept],
        vectors=vectors,
        near=neighbours(vectors, NEIGHBOURS),
    )


def wording(sources: Sources, count: int) -> dict[str, dict[str, float]]:
    """Words a chunk (context and text), different words, and the share of the hundred most frequent, real and made.

    `count` chunks of each.
    """
    made = (
        f"{context} {text}"
        for document in Maker(sources).documents(count)
        for context, text in zip(document.batch.contexts, document.batch.texts, strict=True)
    )
    rows = np.sort(np.random.default_rng(0).choice(len(sources.texts), min(count, len(sources.texts)), replace=False))
    real = (f"{sources.contexts[row]} {sources.texts[row]}" for row in rows)
    return {"real": _wording(islice(real, count)), "made": _wording(made)}


def _wording(texts: Iterator[str]) -> dict[str, float]:
    chunks, counts = 0, dict[str, int]()
    for text in texts:
        chunks += 1
        for word in text.lower().split():
            counts[word] = counts.get(word, 0) + 1
    total = sum(counts.values())
    frequent = sorted(counts.values(), reverse=True)
    return {
        "chunks": chunks,
        "words a chunk": round(total / chunks, 1),
        "different words": len(counts),
        "share of the hundred most frequent": round(sum(frequent[:100]) / total, 3),
        "share of words that occur once, of the different ones": round(frequent.count(1) / len(frequent), 3),
    }


def _nearness(vectors: NDArray[np.float32], asked: NDArray[np.float32]) -> Nearness:
    some = np.random.default_rng(1).choice(len(vectors), min(_SAMPLE, len(vectors)), replace=False)
    # The nearest to a chunk is itself.
    return Nearness(_cosines(vectors, vectors[some], 1), _cosines(vectors, asked, 0))


def _cosines(vectors: NDArray[np.float32], asked: NDArray[np.float32], own: int) -> tuple[tuple[float, ...], ...]:
    ranks = [rank - 1 + own for rank in RANKS]
    found = np.concatenate(
        [
            -np.partition(-(asked[at : at + 128] @ vectors.T), ranks, axis=1)[:, ranks]
            for at in range(0, len(asked), 128)
        ]
    )
    return tuple(tuple(round(float(each), 3) for each in np.percentile(column, _SHARES)) for column in found.T)
