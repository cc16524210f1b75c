"""The retrieval evaluator on data that people or exact rules labelled, beside simpler graders on the same rows.

python -m benchmarks.evaluator [--data FOLDER] [--sets NAME ...] [--limit N] [--out FOLDER]

Prints a page and writes it to results/evaluator.md, and everything to results/evaluator.json. A run of some sets, or of
a part of each, is only printed unless --out says where to write. Nothing here chooses a setting: see
benchmarks.thresholds for that. PDFs are read as in benchmarks.retrieval, with the same cache.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.evaluator_attacks import measure_attacks
from benchmarks.evaluator_graders import Cosine, Memo, bm25, shipped_evaluator
from benchmarks.evaluator_measures import (
    accuracy,
    best_accuracy,
    best_macro_f1,
    calibration_bins,
    finite,
    macro_f1,
    majority,
    ranking,
)
from benchmarks.evaluator_report import report
from benchmarks.evaluator_row import DataSet, grouped
from benchmarks.evaluator_sets import SETS, Sources
from benchmarks.evaluator_strips import measure_strips
from benchmarks.pages import parse, publish
from corpora.judging import evaluator_version
from corpora.measures import auc, calibration_error
from corpora.places import is_missing, parser_of
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.types import Action, Grade
from crag.evaluation.trigger import decide
from crag.generation.judges import SUPPORTED_FROM
from crag.models.runtime import E5

STRIPS, ATTACKS = "clapnq-strips", "attacks"

Figures = dict[str, Any]
Scores = NDArray[np.float64]


def main() -> int:
    options = arguments()
    if is_missing(options.data, "."):
        return 2
    settings, chosen = STRATEGIES["balanced"].settings, options.sets or [*SETS, STRIPS, ATTACKS]
    cosine, memo = Cosine(E5()), Memo(shipped_evaluator())
    sources = Sources(options.data, cosine, options.limit)
    results: Figures = {
        "evaluator": memo.id,
        "version": evaluator_version(),
        "thresholds": {"upper": settings.upper, "lower": settings.lower, "aggregation": settings.aggregation},
        "supported_from": SUPPORTED_FROM,
        "limit": options.limit,
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "load": round(os.getloadavg()[0], 1)},
        "sets": {name: measure(SETS[name](sources), memo, cosine, settings) for name in SETS if name in chosen},
        "strips": measure_strips(sources, memo, cosine, settings) if STRIPS in chosen else None,
        "attacks": measure_attacks(sources, memo, settings) if ATTACKS in chosen else None,
    }
    publish("evaluator", report(results), results, folder=options.folder)
    return 0


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="+", choices=[*SETS, STRIPS, ATTACKS], metavar="NAME", help="only these")
    parser.add_argument("--limit", type=int, default=0, help="so many questions of each set's file; 0: all")
    parser.add_argument("--out", type=Path, help="where to write evaluator.json and evaluator.md")
    return parse(parser)


# ---- one set -------------------------------------------------------------------------------------------------------


def measure(data: DataSet, memo: Memo, cosine: Cosine, settings: Settings) -> Figures:
    """All figures of one set: the shipped evaluator's, and those of the others on the same rows."""
    print(f"{data.title}: {len(data.rows)} pairs", file=sys.stderr)
    grades = memo.grades(data.rows)
    scores = np.array([math.nan if grade.score is None else grade.score for grade in grades], np.float64)
    threshold = SUPPORTED_FROM if data.supports else settings.upper
    labels, judged = judgements(data, scores)
    return {
        "title": data.title,
        "about": data.about,
        "use": data.use,
        "judged": data.judged,
        "pairs": len(data.rows),
        "questions": len(grouped(data.rows)),
        "failed": int(np.isnan(scores).sum()),
        "majority": majority(labels),
        **quality(data, scores),
        "default_threshold": threshold,
        "accuracy_default": accuracy(labels, judged, threshold),
        "macro_f1_default": macro_f1(labels, judged, threshold) if data.supports else None,
        "calibration_error": calibration_error(labels, judged),
        "calibration_bins": calibration_bins(labels, judged),
        **actions(data, grades, settings),
        "ms_per_pair": 1000 * sum(grade.seconds for grade in grades) / len(grades),
        "others": {
            "cosine": quality(data, cosine.scores(data.rows)),
            "bm25": quality(data, bm25(data.rows)),
        },
    }


def judgements(data: DataSet, scores: Scores) -> tuple[NDArray[np.int64], Scores]:
    """Labels and scores of what is judged, pairs or questions, without those that have no score."""
    labels = data.labels
    if data.judged == "question":
        groups = [place for place in grouped(data.rows).values() if not np.isnan(scores[place]).all()]
        best = np.array([np.nanmax(scores[places]) for places in groups], np.float64)
        return np.array([labels[places].max() for places in groups], np.int64), best
    known = ~np.isnan(scores)
    return labels[known], scores[known]


def quality(data: DataSet, scores: Scores) -> Figures:
    """The figures that any grader's scores have, whatever their scale."""
    labels, judged = judgements(data, scores)
    if not len(labels):
        return {"n": 0}
    best, at = best_accuracy(labels, judged)
    found: Figures = {"n": len(labels), "accuracy_best": best, "best_threshold": finite(at)}
    found["auc"] = finite(auc(labels, judged))
    if data.ranking:
        groups = [(data.labels[places], scores[places]) for places in grouped(data.rows).values()]
        for name, both in (("ranking", False), ("ranking_both", True)):
            order = ranking(groups, both=both)
            found[name] = asdict(order) if order else None
    if data.supports:
        found["macro_f1_best"], at = best_macro_f1(labels, judged)
        found["macro_f1_best_threshold"] = finite(at)
    return found


def actions(data: DataSet, grades: Sequence[Grade], settings: Settings) -> Figures:
    """How often each action follows at the default thresholds, by whether a text of the question answers it."""
    counts = {kind: dict.fromkeys(map(str, Action), 0) for kind in ("answerable", "unanswerable")}
    for places in grouped(data.rows).values():
        decision = decide(
            [grades[place] for place in places],
            upper=settings.upper,
            lower=settings.lower,
            aggregation=settings.aggregation,
        )
        kind = "answerable" if any(data.rows[place].label for place in places) else "unanswerable"
        counts[kind][decision.action] += 1
    total = sum(sum(each.values()) for each in counts.values())
    ambiguous = sum(each[Action.AMBIGUOUS] for each in counts.values())
    return {"actions": counts, "ambiguous_share": ambiguous / total}


if __name__ == "__main__":
    sys.exit(main())
