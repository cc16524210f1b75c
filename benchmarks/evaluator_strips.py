"""ClapNQ's grounding sentences against the knowledge strips kept by the default settings, word by word.

As in the app, a passage is cut into strips, each strip is scored alone (without the title), and those over the filter
are kept, at most so many. Precision, recall and F1 are over words, per question, then averaged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.evaluator_graders import Cosine, Memo, bm25
from benchmarks.evaluator_measures import Span, auc, overlap
from benchmarks.evaluator_row import Row, grouped
from benchmarks.evaluator_sets import Sources
from crag.core.settings import Settings
from crag.core.types import Grade, Strip
from crag.correct.strips import StripRefiner, filter_strips

__all__ = ["measure_strips"]

Kept = list[list[Span]]
"""For each question, the spans of its passage that are kept."""


@dataclass(frozen=True, slots=True)
class Grounded:
    """An answerable question, its passage, and where the sentences lie that any annotator marked as its grounds."""

    id: str
    question: str
    text: str
    gold: tuple[Span, ...]


def measure_strips(sources: Sources, memo: Memo, cosine: Cosine, settings: Settings) -> dict[str, Any]:
    """Figures of the shipped evaluator's strips beside keeping all, and beside as many by cosine and by BM25."""
    asked = [grounded(row) for row in sources.questions("clapnq/answerable.jsonl")]
    cuts = [StripRefiner().decompose(each.text, settings) for each in asked]
    rows = [
        Row(each.id, each.question, each.text[start:end], label((start, end), each.gold))
        for each, spans in zip(asked, cuts, strict=True)
        for start, end in spans
    ]
    grades = memo.grades(rows)
    ours = kept_by_settings(rows, cuts, grades, settings)
    counts = [len(kept) for kept in ours]
    known = [place for place, grade in enumerate(grades) if grade.score is not None]
    scores = np.array([grades[place].score for place in known], np.float64)
    return {
        "questions": len(asked),
        "strips": len(rows),
        "filter": settings.strip_filter,
        "top_k": settings.strip_top_k,
        "auc_of_strips": auc(np.array([rows[place].label for place in known], np.int64), scores),
        "kept": {
            "evaluator, default settings": figures(asked, ours),
            "cosine, as many": figures(asked, best(cuts, rows, cosine.scores(rows), counts)),
            "BM25, as many": figures(asked, best(cuts, rows, bm25(rows), counts)),
            "all": figures(asked, cuts),
        },
    }


def grounded(row: dict[str, Any]) -> Grounded:
    text = row["passages"][0]["text"]
    marked = {sentence for output in row["output"] for sentence in output["selected_sentences"]}
    places = [(text.index(sentence), len(sentence)) for sentence in marked]
    return Grounded(row["id"], row["input"], text, tuple(sorted((start, start + size) for start, size in places)))


def label(strip: Span, gold: Sequence[Span]) -> int:
    """1 where more than half of the strip lies in marked sentences."""
    inside = sum(max(0, min(strip[1], end) - max(strip[0], start)) for start, end in gold)
    return int(inside * 2 > strip[1] - strip[0])


def kept_by_settings(rows: Sequence[Row], cuts: Kept, grades: Sequence[Grade], settings: Settings) -> Kept:
    """The spans that the app would keep."""
    found = []
    for places, spans in zip(grouped(rows).values(), cuts, strict=True):
        strips = [
            Strip(
                id=str(place),
                source_id=rows[place].group,
                origin="internal",
                start=start,
                end=end,
                text=rows[place].text,
                score=grades[place].score,
                kept=False,
            )
            for place, (start, end) in zip(places, spans, strict=True)
        ]
        filtered = filter_strips(strips, floor=settings.strip_filter, top_k=settings.strip_top_k)
        found.append([(strip.start, strip.end) for strip in filtered if strip.kept])
    return found


def best(cuts: Kept, rows: Sequence[Row], scores: NDArray[np.float64], counts: Sequence[int]) -> Kept:
    """For each question as many of its strips as `counts` says, those of the highest scores."""
    found = []
    for places, spans, count in zip(grouped(rows).values(), cuts, counts, strict=True):
        order = np.argsort(-scores[places], kind="stable")[:count]
        found.append([spans[place] for place in order])
    return found


def figures(asked: Sequence[Grounded], kept: Kept) -> dict[str, float]:
    """Means over questions, 0..1; `share` is the share of the passage's words that is kept."""
    rows = []
    for each, spans in zip(asked, kept, strict=True):
        words = [match.span() for match in re.finditer(r"\w+", each.text)]
        inside = sum(any(start <= word[0] and word[1] <= end for start, end in spans) for word in words)
        rows.append((*overlap(spans, each.gold, words), inside / len(words)))
    means = np.array(rows, np.float64).mean(axis=0)
    return dict(zip(("precision", "recall", "f1", "share"), map(float, means), strict=True))
