"""One example to train or check the evaluator with."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

Spot = tuple[int, int]


def held_out(group: str) -> bool:
    """Every sixth group chooses checkpoints and calibrates; it is never fitted on."""
    return zlib.crc32(group.encode()) % 6 == 0


@dataclass(frozen=True)
class Pair:
    """`label` 0..1; `spots` are where the answer stands in `text`; `group` is what splits go by.

    `closeness` is the embedding model's cosine of question and text, None where it is not known. `keeps` are the
    sentences and table rows of `text` that a reader should keep: () where none is worth it, None where not known.
    """

    question: str
    text: str
    label: float
    group: str
    source: str
    title: str = ""
    spots: tuple[Spot, ...] = ()
    weight: float = 1.0
    closeness: float | None = None
    keeps: tuple[Spot, ...] | None = None

    @property
    def read(self) -> str:
        return f"{self.title}\n{self.text}" if self.title else self.text

    @property
    def read_spots(self) -> tuple[Spot, ...]:
        return self._shifted(self.spots)

    @property
    def read_keeps(self) -> tuple[Spot, ...] | None:
        return None if self.keeps is None else self._shifted(self.keeps)

    def _shifted(self, spots: tuple[Spot, ...]) -> tuple[Spot, ...]:
        ahead = len(self.title) + 1 if self.title else 0
        return tuple((start + ahead, end + ahead) for start, end in spots)
