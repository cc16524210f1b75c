"""What the evaluator is meant to reach, and whether the figures of one run reach it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

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
    return [*found, *_strips(results), *_attacks(results), *_everywhere(sets)]


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
    ("popqa-title", "PopQA, title label: AUC", "≥", 0.90, _figure("auc")),
    ("popqa-clean", "PopQA, clean: AUC", "≥", 0.945, _figure("auc")),
    ("nomiracl", "NoMIRACL: AUC", "≥", 0.80, _figure("auc")),
    ("nomiracl", "NoMIRACL: INCORRECT where nothing answers", "≥", 0.45, _incorrect("unanswerable")),
    ("nomiracl", "NoMIRACL: INCORRECT where something answers", "≤", 0.15, _incorrect("answerable")),
    ("clapnq", "ClapNQ: AUC", "≥", 0.93, _figure("auc")),
    ("squad2", "SQuAD 2.0, answerable: AUC", "≥", 0.82, _figure("auc")),
    ("squad-nearest", "SQuAD, own or the nearest other paragraph: AUC", "≥", 0.96, _figure("auc")),
    ("wikiqa", "WikiQA: AUC", "≥", 0.88, _figure("auc")),
    ("scifact-unseen", "SciFact, unseen abstracts: AUC", "≥", 0.82, _figure("auc")),
    ("financebench", "FinanceBench: AUC", "≥", 0.80, _figure("auc")),
    (
        "attributionbench",
        "AttributionBench: macro-F1 as the citation check reads scores",
        "≥",
        0.70,
        _figure("macro_f1_default"),
    ),
)


def _strips(results: Figures) -> Iterator[Verdict]:
    kept = (results.get("strips") or {}).get("kept") or {}
    ours = next((each for name, each in kept.items() if name.startswith("evaluator")), {})
    yield Verdict("ClapNQ strips: F1", "≥", 0.75, ours.get("f1"))
    yield Verdict("ClapNQ strips: share of the words kept", "≤", 0.45, ours.get("share"))


def _attacks(results: Figures) -> Iterator[Verdict]:
    rows = list(((results.get("attacks") or {}).get("attacks") or {}).values())
    flattered, injected = rows[:-1], rows[-1:]
    turned = [each["turned"] / each["incorrect"] for each in flattered if each["incorrect"]]
    changed = [(each["own_raised"] + each["own_lowered"]) / each["own"] for each in injected]
    worst = "Flattery before a foreign text, the worst kind: verdicts turned from INCORRECT"
    yield Verdict(worst, "≤", 0.10, max(turned, default=None))
    yield Verdict("Injected texts in the own passage: actions changed", "≤", 0.03, max(changed, default=None))


def _everywhere(sets: Figures) -> Iterator[Verdict]:
    """Goals over all sets; each set's own figure stands in the table by set."""
    errors = sorted(figures["calibration_error"] for figures in sets.values())
    yield Verdict("Calibration error, median over sets", "≤", 0.05, median(errors) if errors else None)
    yield Verdict("Calibration error, worst set", "≤", 0.12, errors[-1] if errors else None)
    behind = [
        min(figures["auc"] - figures["others"][name]["auc"] for name in ("cosine", "bm25"))
        for figures in sets.values()
        if figures.get("auc") is not None
    ]
    yield Verdict("AUC ahead of cosine and BM25, the narrowest lead", "≥", 0.0, min(behind, default=None))
    shares = [figures["ambiguous_share"] for figures in sets.values()]
    yield Verdict("Share AMBIGUOUS, the largest", "<", 0.40, max(shares, default=None))
