"""The sweep behind the default thresholds, strip filter, top-k and minimum answer score, on data that may choose
settings.

python -m benchmarks.thresholds [--data FOLDER] [--ambiguous WORTH] [--limit N] [--out FOLDER]

Every question's retrieved texts are graded once; grades are kept in the system's temporary folder, by the evaluator's
files and the text, so that a second run takes a minute. Then every pair of thresholds is tried with the functions that
Tune uses, under the other settings of `balanced`. Prints a page and writes it to results/thresholds.md, and everything
to results/thresholds.json; a run on a part of the data (--limit) is only printed unless --out says where to write.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.evaluator_graders import shipped_evaluator
from benchmarks.pages import parse, publish
from benchmarks.thresholds_cases import CaseSet, load_cases
from benchmarks.thresholds_grades import KeptScores
from benchmarks.thresholds_report import report
from benchmarks.thresholds_strips import cut_cases, filter_table, floor_table, top_k_table
from benchmarks.thresholds_sweep import Sets, counted
from corpora.judging import evaluator_version
from corpora.places import is_missing, parser_of
from crag.analysis.thresholds.sweep import GRID, Pair, Weights
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.types import Grade

AMBIGUOUS = Weights().ambiguous
"""What AMBIGUOUS is worth by default, of 1 for the right action."""
WORTHS = (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9)
BINS = 10

Figures = dict[str, Any]


def main() -> int:
    options = arguments()
    if is_missing(options.data, "."):
        return 2
    settings, evaluator = STRATEGIES["balanced"].settings, shipped_evaluator()
    kept = KeptScores(evaluator, evaluator_version(), options.cache)
    sets = load_cases(options.data, options.limit)
    grades = {each.title: graded(each, kept) for each in sets}
    cuts = {each.title: cut_cases(each, kept, settings) for each in sets if each.counts}
    kept.save()
    matched = [cuts[each.title] for each in sets if each.matched and any(cut.bearing for cut in cuts[each.title])]
    results: Figures = {
        "evaluator": evaluator.id,
        "version": evaluator_version(),
        "limit": options.limit,
        **swept(sets, grades, settings, options.ambiguous),
        "strip_filter": {"default": settings.strip_filter, "rows": filter_table(matched)},
        "strip_top_k": {"default": settings.strip_top_k, "rows": top_k_table(matched, settings.strip_filter)},
        "min_answer_score": {"default": settings.min_answer_score, "rows": floor_table(cuts)},
    }
    publish("thresholds", report(results), results, folder=options.folder)
    return 0


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__, "crag-thresholds-cache")
    parser.add_argument("--ambiguous", type=float, default=AMBIGUOUS, help="what AMBIGUOUS is worth, 0..1")
    parser.add_argument("--limit", type=int, default=0, help="so many questions of each set; 0: all")
    parser.add_argument("--out", type=Path, help="where to write thresholds.json and thresholds.md")
    return parse(parser)


def graded(given: CaseSet, kept: KeptScores) -> list[list[Grade]]:
    print(f"{given.title}: {len(given.cases)} questions", file=sys.stderr)
    found = [kept.grades(case.question, case.graded) for case in given.cases]
    kept.save()
    return found


# ---- the sweep -----------------------------------------------------------------------------------------------------


def swept(
    sets: Sequence[CaseSet], grades: Mapping[str, list[list[Grade]]], settings: Settings, ambiguous: float
) -> Figures:
    """The best pairs, the grid, and every set's actions at the pairs that have a name."""
    paper = STRATEGIES["paper"].settings
    chosen = Sets([(each.cases, grades[each.title]) for each in sets if each.counts], settings)
    best = chosen.best(ambiguous)
    named = {
        "best": best,
        "defaults": (settings.upper, settings.lower),
        "0.7 / 0.3": (0.7, 0.3),
        "paper": (paper.upper, paper.lower),
    }
    worth = chosen.utility(ambiguous)
    return {
        "ambiguous_worth": ambiguous,
        "ambiguity_margin": settings.ambiguity_margin,
        "best": {"upper": best[0], "lower": best[1]},
        "sets": {each.title: described(each, grades[each.title]) for each in sets},
        "by_worth": [worth_row(chosen, worth) for worth in WORTHS],
        "named": {name: named_row(sets, grades, pair, settings, chosen, ambiguous) for name, pair in named.items()},
        "grid": [
            {"upper": upper, "lower": lower, "utility": float(worth[row, column])}
            for row, upper in enumerate(GRID)
            for column, lower in enumerate(GRID)
            if lower <= upper
        ],
    }


def worth_row(chosen: Sets, worth: float) -> Figures:
    """The best pair if AMBIGUOUS is worth so much, and the largest share of questions that end so on any set."""
    pair, sound = chosen.best(worth), chosen.best_sound(worth)
    return {
        "worth": worth,
        "upper": pair[0],
        "lower": pair[1],
        "utility": chosen.worth(pair, worth),
        "most_ambiguous": chosen.most_ambiguous(pair),
        "sound": {"upper": sound[0], "lower": sound[1], "utility": chosen.worth(sound, worth)} if sound else None,
    }


def named_row(
    sets: Sequence[CaseSet],
    grades: Mapping[str, list[list[Grade]]],
    pair: Pair,
    settings: Settings,
    chosen: Sets,
    ambiguous: float,
) -> Figures:
    """Each set's actions at one pair, and its worth there."""
    found = {each.title: counted(each.cases, grades[each.title], pair, settings) for each in sets}
    alone = {each.title: Sets([(each.cases, grades[each.title])], settings) for each in sets}
    return {
        "upper": pair[0],
        "lower": pair[1],
        "utility": chosen.worth(pair, ambiguous),
        "sets": {
            title: {
                "utility": alone[title].worth(pair, ambiguous),
                "ambiguous": counts.ambiguous,
                "answerable": dict(counts.answerable),
                "unanswerable": dict(counts.unanswerable),
            }
            for title, counts in found.items()
        },
    }


def described(given: CaseSet, grades: Sequence[Sequence[Grade]]) -> Figures:
    """What the set is, and how often its questions are answerable by the best score of their texts."""
    bins: list[list[int]] = [[0, 0] for _ in range(BINS)]
    for case, its in zip(given.cases, grades, strict=True):
        best = max((grade.score or 0.0 for grade in its), default=0.0)
        place = bins[min(int(best * BINS), BINS - 1)]
        place[0] += 1
        place[1] += case.answerable
    return {
        "about": given.about,
        "counts": given.counts,
        "questions": len(given.cases),
        "answerable": sum(case.answerable for case in given.cases),
        "by_best_score": bins,
    }


if __name__ == "__main__":
    sys.exit(main())
