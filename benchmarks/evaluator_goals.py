"""What the evaluator is meant to reach, and whether the figures of one run reach it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Verdict", "verdicts"]

Figures = dict[str, Any]
Sign = Literal["≥", "≤", "<"]
COMPARED: dict[Sign, Callable[[float, float], bool]] = {"≥": operator.ge, "≤": operator.le, "<": operator.lt}


@dataclass(frozen=True, slots=True)
class Verdict:
    """`measured` None: not measured in this run."""

    goal: str
    sign: Sign
    target: float
    measured: float | None

    @property
    def met(self) -> bool | None:
        if self.measured is None:
            return None
        return COMPARED[self.sign](self.measured, self.target)


def verdicts(results: Figures) -> list[Verdict]:
    """Every goal beside what was measured."""
    sets = results["sets"]
    found = [
        Verdict(goal, sign, target, value(sets[name]) if name in sets else None)
        for name, goal, sign, target, value in GOALS
    ]
    return [*found, *_speed(results["speed"]), *_everywhere(sets)]


def _figure(key: str) -> Callable[[Figures], float | None]:
    return lambda figures: figures.get(key)


def _incorrect(kind: str) -> Callable[[Figures], float | None]:
    def share(figures: Figures) -> float | None:
        counts = figures["actions"][kind]
        total = sum(counts.values())
        return counts["INCORRECT"] / total if total else None

    return share


GOALS: tuple[tuple[str, str, Sign, float, Callable[[Figures], float | None]], ...] = (
    ("popqa-title", "PopQA, title label: best accuracy", "≥", 0.88, _figure("accuracy_best")),
    ("popqa-title", "PopQA, title label: accuracy at the default threshold", "≥", 0.88, _figure("accuracy_default")),
    ("popqa-clean", "PopQA, clean: AUC", "≥", 0.92, _figure("auc")),
    ("nomiracl", "NoMIRACL: AUC", "≥", 0.78, _figure("auc")),
    ("nomiracl", "NoMIRACL: INCORRECT where nothing answers", "≥", 0.60, _incorrect("unanswerable")),
    ("nomiracl", "NoMIRACL: INCORRECT where something answers", "≤", 0.15, _incorrect("answerable")),
    ("clapnq", "ClapNQ: AUC", "≥", 0.93, _figure("auc")),
    ("squad2", "SQuAD 2.0, answerable: AUC", "≥", 0.70, _figure("auc")),
    ("squad-other", "SQuAD, own or another paragraph: AUC", "≥", 0.98, _figure("auc")),
    ("wikiqa", "WikiQA: AUC", "≥", 0.85, _figure("auc")),
    ("scifact", "SciFact: AUC", "≥", 0.80, _figure("auc")),
    ("financebench", "FinanceBench: AUC", "≥", 0.75, _figure("auc")),
    (
        "attributionbench",
        "AttributionBench: macro-F1 as the citation check reads scores",
        "≥",
        0.65,
        _figure("macro_f1_default"),
    ),
)


def _speed(speed: Figures | None) -> Iterator[Verdict]:
    ours = speed["ways"]["evaluator"] if speed else {}
    ratios = (speed["t5_over_ours"] if speed else None) or {}
    yield Verdict("Milliseconds a pair", "≤", 10, ours.get("ms_per_pair"))
    yield Verdict("Times as fast as T5-large", "≥", 20, ratios.get("ms_per_pair"))
    yield Verdict("T5-large's peak memory over the evaluator's", "≥", 10, ratios.get("peak_mb"))


def _everywhere(sets: Figures) -> Iterator[Verdict]:
    for figures in sets.values():
        yield Verdict(f"{figures['title']}: calibration error", "≤", 0.05, figures["calibration_error"])
    for figures in sets.values():
        yield Verdict(f"{figures['title']}: share AMBIGUOUS", "<", 0.40, figures["ambiguous_share"])
