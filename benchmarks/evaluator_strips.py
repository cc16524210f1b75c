"""ClapNQ's grounding sentences against the knowledge strips kept by the default settings, word by word.

As in the app, a passage is cut into strips, each strip is scored alone (without the title) or in its place (the title
in front), and those over the filter are kept, at most so many. Precision, recall and F1 are over words, per question,
then averaged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.evaluator_graders import Cosine, Memo, bm25, in_place
from benchmarks.evaluator_measures import Span, finite, overlap
from benchmarks.evaluator_row import Row, grouped
from benchmarks.evaluator_sets import Sources
from corpora.measures import auc
from crag.core.protocols import RetrievalEvaluator
from crag.core.settings import Settings
from crag.core.types import Strip
from crag.evaluation.strip_selection import Rule
from crag.evaluation.strips import StripRefiner, filter_strips

Kept = list[list[Span]]
"""For each question, the spans of its passage that are kept."""
Scored = Sequence[float | None]
FLOORS = (0.04, 0.1, 0.2, 0.3)
"""Filters that are shown beside the default one."""


@dataclass(frozen=True, slots=True)
class Grounded:
    """An answerable question, its passage, and where the sentences lie that any annotator marked as its grounds."""

    id: str
    question: str
    title: str
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
    alone = [grade.score for grade in memo.grades(rows)]
    placed = scored_in_place(memo.evaluator, asked, cuts)
    scores = placed if settings.strip_reading == "in place" else alone
    ours = kept_by_settings(rows, cuts, scores, settings)
    counts = [len(kept) for kept in ours]
    return {
        "questions": len(asked),
        "strips": len(rows),
        "filter": settings.strip_filter,
        "top_k": settings.strip_top_k,
        "auc_of_strips": {"alone": told_apart(rows, alone), "in place": told_apart(rows, placed)},
        "kept": {
            f"evaluator, default settings (strips scored {settings.strip_reading})": figures(asked, ours),
            **{
                f"strips scored {name}, filter {floor:g}": figures(asked, kept_over(rows, cuts, scored, floor))
                for name, scored in (("alone", alone), ("in place", placed))
                for floor in FLOORS
            },
            "cosine, as many": figures(asked, best(cuts, rows, cosine.scores(rows), counts)),
            "BM25, as many": figures(asked, best(cuts, rows, bm25(rows), counts)),
            "all": figures(asked, cuts),
        },
    }


def scored_in_place(evaluator: RetrievalEvaluator, asked: Sequence[Grounded], cuts: Kept) -> Scored:
    """Each strip's score in the text that it was cut from, the title in front."""
    found: list[float | None] = []
    for each, spans in zip(asked, cuts, strict=True):
        ahead = len(each.title) + 1
        moved = [(start + ahead, end + ahead) for start, end in spans]
        found += in_place(evaluator, each.question, f"{each.title}\n{each.text}", moved)
    return found


def told_apart(rows: Sequence[Row], scores: Scored) -> float | None:
    known = [place for place, score in enumerate(scores) if score is not None]
    labels = np.array([rows[place].label for place in known], np.int64)
    return finite(auc(labels, np.array([scores[place] for place in known], np.float64)))


def kept_over(rows: Sequence[Row], cuts: Kept, scores: Scored, floor: float) -> Kept:
    """The spans that score so much."""
    return [
        [span for place, span in zip(places, spans, strict=True) if (scores[place] or 0.0) >= floor]
        for places, spans in zip(grouped(rows).values(), cuts, strict=True)
    ]


def grounded(row: dict[str, Any]) -> Grounded:
    text = row["passages"][0]["text"]
    marked = {sentence for output in row["output"] for sentence in output["selected_sentences"]}
    places = [(text.index(sentence), len(sentence)) for sentence in marked]
    return Grounded(
        row["id"],
        row["input"],
        row["passages"][0]["title"],
        text,
        tuple(sorted((start, start + size) for start, size in places)),
    )


def label(strip: Span, gold: Sequence[Span]) -> int:
    """1 where more than half of the strip lies in marked sentences."""
    inside = sum(max(0, min(strip[1], end) - max(strip[0], start)) for start, end in gold)
    return int(inside * 2 > strip[1] - strip[0])


def kept_by_settings(rows: Sequence[Row], cuts: Kept, scores: Scored, settings: Settings) -> Kept:
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
                score=scores[place],
                kept=False,
            )
            for place, (start, end) in zip(places, spans, strict=True)
        ]
        filtered = filter_strips(strips, Rule(settings.strip_filter, settings.strip_top_k))
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
