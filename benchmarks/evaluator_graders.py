"""Who scores the rows: the shipped evaluator, and beside it cosine similarity and BM25 overlap."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.evaluator_row import Row, grouped
from crag.core.protocols import Embedder, RetrievalEvaluator, StripGrader
from crag.core.types import Grade, Passage
from crag.evaluation.local import LocalEvaluator

Scores = NDArray[np.float64]

SATURATION, LENGTH = 1.2, 0.75
"""BM25's k1 and b, as usual."""


def shipped_evaluator() -> RetrievalEvaluator:
    """The evaluator that the app uses by default."""
    return LocalEvaluator()


def in_place(
    evaluator: RetrievalEvaluator, question: str, text: str, spans: Sequence[tuple[int, int]]
) -> Sequence[float | None]:
    """Scores of spans of a text, each where it stands. Ends the program where the evaluator has no such way."""
    if not isinstance(evaluator, StripGrader):
        raise SystemExit(f"{evaluator.id} judges no strips in their place.")
    return evaluator.grade_strips(question, Passage(id="0", text=text), spans)


class Memo:
    """An evaluator that grades each (question, text) once: sets share texts, and a repeated one would look fast."""

    def __init__(self, evaluator: RetrievalEvaluator) -> None:
        self.id, self.evaluator = evaluator.id, evaluator
        self._known: dict[tuple[str, str], Grade] = {}
        (first,) = evaluator.grade("Is the model loaded?", [Passage(id="0", text="It is loaded now.")])
        if first.failed:
            raise SystemExit(first.error)

    def grades(self, rows: Sequence[Row]) -> list[Grade]:
        """One grade a row, in order, a question's texts in one call; `seconds` is the call's time over its texts."""
        for places in grouped(rows).values():
            new = [rows[place] for place in places if (rows[place].question, rows[place].text) not in self._known]
            if not new:
                continue
            began = time.perf_counter()
            passages = [Passage(id=str(number), text=row.text) for number, row in enumerate(new)]
            grades = list(self.evaluator.grade(new[0].question, passages))
            seconds = (time.perf_counter() - began) / len(new)
            for grade in grades:
                row = new[int(grade.passage_id)]
                self._known[row.question, row.text] = replace(grade, seconds=seconds)
        return [self._known[row.question, row.text] for row in rows]


class Cosine:
    """Similarity of the embedding model's vectors of question and text, each text embedded once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (len(texts), dimension), rows of length 1."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self._embedder.embed(new), strict=True))
        return np.stack([self._known[text] for text in texts])

    def scores(self, rows: Sequence[Row]) -> Scores:
        """One a row, -1..1."""
        asked, read = self.embed([row.question for row in rows]), self.embed([row.text for row in rows])
        return np.asarray((asked.astype(np.float64) * read).sum(axis=1), np.float64)


def terms(text: str) -> list[str]:
    """The words that BM25 compares."""
    return re.findall(r"\w+", text.casefold())


def bm25(rows: Sequence[Row]) -> Scores:
    """BM25 of question and text, at least 0; document frequencies are those of the rows' own texts."""
    counts = {text: Counter(terms(text)) for text in dict.fromkeys(row.text for row in rows)}
    mean = sum(count.total() for count in counts.values()) / len(counts) or 1.0
    frequency = Counter(term for count in counts.values() for term in count)
    rarity = {term: math.log(1 + (len(counts) - n + 0.5) / (n + 0.5)) for term, n in frequency.items()}

    def score(row: Row) -> float:
        held = counts[row.text]
        full = SATURATION * (1 - LENGTH + LENGTH * held.total() / mean)
        met = [term for term in set(terms(row.question)) if held[term]]
        return sum(rarity[term] * held[term] * (SATURATION + 1) / (held[term] + full) for term in met)

    return np.array([score(row) for row in rows], np.float64)
