"""How well a ranking brought what was expected: precision, recall and reciprocal rank. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

__all__ = ["Ranked", "ranked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """How a ranking of `considered` chunks did. All shares lie in 0..1.

    `precision`: the share of chunks that are expected, None of no chunks. `recall`: the share of what is expected
    that some chunk brought. `rank` from 1 of the first expected chunk, None where there is none; `reciprocal_rank`
    is 1 / rank, then 0.
    """

    considered: int
    precision: float | None
    recall: float
    rank: int | None
    reciprocal_rank: float


def ranked(found: Sequence[Hashable], wanted: Sequence[Hashable], k: int | None = None) -> Ranked | None:
    """How the first `k` of `found` did against `wanted`; None where nothing is wanted. Raises ValueError for k < 1."""
    if k is not None and k < 1:
        raise ValueError(f"k counts chunks from 1, not {k}")
    sought = frozenset(wanted)
    if not sought:
        return None
    first = found[:k]
    hits = [place for place, each in enumerate(first, 1) if each in sought]
    return Ranked(
        considered=len(first),
        precision=len(hits) / len(first) if first else None,
        recall=len(sought & frozenset(first)) / len(sought),
        rank=hits[0] if hits else None,
        reciprocal_rank=1 / hits[0] if hits else 0.0,
    )
