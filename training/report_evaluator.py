"""Figures of the shipped local evaluator on data it was neither fitted nor calibrated on; report only.

python -m training.report_evaluator [--data FOLDER] [SET ...]
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crag.core.types import Passage
from crag.evaluator.local import LocalEvaluator
from crag.models.minilm import MiniLM

ROOT = Path(__file__).resolve().parent.parent
Row = tuple[str, str, str, int]
"""Group (what the best score is taken over), question, text, label."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("CRAG_SHARED", ROOT.parent / "shared")) / "data"
    )
    parser.add_argument("sets", nargs="*", metavar="SET")
    given = parser.parse_args()
    evaluator = LocalEvaluator(MiniLM())
    for name in given.sets or SETS:
        rows = SETS[name](given.data)
        grouped: dict[str, list[int]] = {}
        for number, row in enumerate(rows):
            grouped.setdefault(row[0], []).append(number)
        scores, started = np.zeros(len(rows)), time.perf_counter()
        for numbers in grouped.values():
            passages = [Passage(id=str(number), text=rows[number][2]) for number in numbers]
            for grade in evaluator.grade(rows[numbers[0]][1], passages):
                scores[int(grade.passage_id)] = np.nan if grade.score is None else grade.score
        pace = (time.perf_counter() - started) / len(rows) * 1e3
        labels = np.array([row[3] for row in rows])
        if name.startswith("nomiracl"):
            scores = np.array([scores[numbers].max() for numbers in grouped.values()])
            labels = np.array([labels[numbers].max() for numbers in grouped.values()])
        figures = {"n": len(labels), "auc": auc(labels, scores), "accuracy": best_accuracy(labels, scores)}
        figures |= {"majority": max(labels.mean(), 1 - labels.mean()), "ece": ece(labels, scores), "ms": pace}
        print(f"{name:18}", "  ".join(f"{key} {value:.3f}" for key, value in figures.items()), flush=True)


def auc(labels: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    """The chance that a positive is scored above a negative; ties count half."""
    positive, negative = np.sort(scores[labels == 1]), np.sort(scores[labels == 0])
    below = np.searchsorted(negative, positive, "left") + np.searchsorted(negative, positive, "right")
    return float(below.sum() / 2 / len(positive) / len(negative))


def best_accuracy(labels: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    """At the best of 200 thresholds."""
    cuts = np.quantile(scores, np.linspace(0, 1, 200))
    return max(float(((scores >= cut) == labels).mean()) for cut in cuts)


def ece(labels: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    """Expected calibration error in ten equal bins."""
    bins = np.minimum((scores * 10).astype(int), 9)
    return float(sum(abs((scores - labels)[bins == number].sum()) for number in range(10)) / len(labels))


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _popqa(data: Path, pick: Callable[[dict[str, Any]], int | None]) -> list[Row]:
    rows = [
        (r["id"], r["question"], p["text"], pick(p)) for r in _lines(data / "popqa/test.jsonl") for p in r["passages"]
    ]
    return [(group, question, text, label) for group, question, text, label in rows if label is not None]


def _clean(passage: dict[str, Any]) -> int | None:
    return passage["label_title"] if passage["label_title"] == passage["label_answer_in_text"] else None


def _nomiracl(data: Path) -> list[Row]:
    rows = [r for part in ("non_relevant", "relevant") for r in _lines(data / f"nomiracl/nomiracl_en_{part}.jsonl")]
    return [
        (r["query_id"] + r["subset"], r["question"], p["text"], int(r["any_relevant"]))
        for r in rows
        for p in r["passages"]
    ]


def _clapnq(data: Path) -> list[Row]:
    parts = ((1, "answerable"), (0, "unanswerable"))
    rows = [(label, r) for label, part in parts for r in _lines(data / f"clapnq/{part}.jsonl")]
    return [(r["id"], r["input"], r["passages"][0]["text"], label) for label, r in rows]


def _squad(data: Path) -> list[Row]:
    articles = json.loads((data / "squad/v2_test.json").read_text(encoding="utf-8"))["data"]
    asked = [(p["context"], qa) for article in articles for p in article["paragraphs"] for qa in p["qas"]]
    return [(qa["id"], qa["question"], context, int(not qa["is_impossible"])) for context, qa in asked]


def _sentences(data: Path, name: str) -> list[Row]:
    rows = _lines(data / f"answer_sentences/{name}_test.jsonl")
    return [(str(row["qid"]), row["question"], row["sentence"], row["label"]) for row in rows]


SETS: dict[str, Callable[[Path], list[Row]]] = {
    "popqa title": lambda data: _popqa(data, lambda passage: passage["label_title"]),
    "popqa answer": lambda data: _popqa(data, lambda passage: passage["label_answer_in_text"]),
    "popqa clean": lambda data: _popqa(data, _clean),
    "nomiracl question": _nomiracl,
    "clapnq": _clapnq,
    "squad2": _squad,
    "wikiqa": lambda data: _sentences(data, "wikiqa"),
    "trecqa": lambda data: _sentences(data, "trecqa"),
}


if __name__ == "__main__":
    main()
