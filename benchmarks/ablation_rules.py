"""What benchmarks.ablation measures: each rule with it and without it, on questions of two kinds or more."""

from __future__ import annotations

import os
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import faithfulness_figures as figures
from benchmarks.evaluator_graders import shipped_evaluator
from benchmarks.thresholds_cases import Case, behind, retrieved
from benchmarks.thresholds_grades import KeptScores
from benchmarks.thresholds_strips import cut
from corpora.judging import evaluator_version
from crag.core.strategies import strategy
from crag.core.types import FigureCheck
from crag.evaluation import strip_selection
from crag.evaluation.strips import filter_strips
from crag.generation.figures import check_figures

MOST = 600
"""Questions of one set."""
SEED = 34
CACHE = Path(os.environ.get("CRAG_BENCH_CACHE", Path(tempfile.gettempdir()) / "crag-ablation-cache"))

Checks = Sequence[FigureCheck]


@dataclass(frozen=True, slots=True)
class Pairs:
    """A set's questions under one measure, 0..1 each, with the rule and without it."""

    set: str
    kind: str
    measure: str
    on: Sequence[float]
    off: Sequence[float]


@dataclass(frozen=True, slots=True)
class Rule:
    """What it is, the files that only it needs, and what measures it."""

    title: str
    files: tuple[str, ...]
    measure: Callable[[Path, int], Iterator[Pairs]]


# Figures of a sentence, true and altered


def totals(data: Path) -> Iterator[figures.Case]:
    """Questions about a table of Wikipedia whose answer is a number, made a statement with it."""
    asked = re.compile(r"(?:what|which) (is|was|were|are) (the .{8,200}?)\?$", re.IGNORECASE)
    for row in figures.read_rows(data, "wikitablequestions"):
        match = asked.match(row["question"])
        if match and len(row["answers"]) == 1 and re.fullmatch(r"[\d,.]+", row["answers"][0]):
            sentence = f"{match[2][0].upper()}{match[2][1:]} {match[1]} {row['answers'][0]}."
            yield figures.Case(
                "WikiTableQuestions, stated", row["id"], sentence, figures.join_passages(row["passages"])
            )


def figure_checks(data: Path, limit: int) -> Iterator[tuple[str, str, list[Checks], list[tuple[str, Checks]]]]:
    """Of each set its name and kind, the checks of its true sentences, and those of altered figures with what was."""
    for kind, source in (("prose", figures.fetaqa), ("tables", totals), ("statements", figures.stated)):
        cases = [case for case in source(data) if case.text and figures.half_of(case.id) == "dev"]
        random.Random(SEED).shuffle(cases)
        cases = cases[:limit]
        names = [name for case in cases for name in figures.NAME.findall(case.sentence)] or ["Zebulon"]
        dice, altered = random.Random(SEED), list[tuple[str, Checks]]()
        for case in cases:
            for rule in figures.RULES:
                made = figures.altered(case, rule, names, dice)
                if made is not None:
                    sentence, start, end = made
                    checks = check_figures(sentence, {"cited": case.text})
                    altered.append((rule, [each for each in checks if each.start < end and start < each.end]))
        yield cases[0].set, kind, [check_figures(case.sentence, {"cited": case.text}) for case in cases], altered


def names(data: Path, limit: int) -> Iterator[Pairs]:
    """Without it, numbers and dates alone are looked for in what is cited."""
    for name, kind, true, altered in figure_checks(data, limit):
        yield _pairs(name, kind, "true sentences that pass", [(_clear(each), _clear(each, "name")) for each in true])
        flagged = [(not _clear(each), not _clear(each, "name")) for rule, each in altered if rule == "name"]
        if flagged:
            yield _pairs(name, kind, "altered names that are flagged", flagged)


def _clear(checks: Checks, ignored: str = "") -> bool:
    return not any(each.state == "missing" and each.kind != ignored for each in checks)


def _pairs(name: str, kind: str, measure: str, found: Sequence[tuple[float, float]]) -> Pairs:
    on, off = zip(*((float(one), float(other)) for one, other in found), strict=True)
    return Pairs(name, kind, measure, on, off)


# Strips that others need


def passages(data: Path, limit: int) -> Iterator[tuple[str, str, list[Case]]]:
    """Questions with their retrieved texts, and questions about tables and text of reports with what stands there."""
    for name, kind in (("nq", "web pages"), ("triviaqa", "web pages"), ("mhqa", "web pages, two needed")):
        yield name, kind, retrieved(data, name, limit)
    cases = []
    for row in figures.read_rows(data, "tatqa"):
        if row["answer_type"] == "span" and figures.half_of(row["id"]) == "dev":
            texts = tuple(each["text"] for each in row["passages"])
            holds = tuple(each["label"] == 1 for each in row["passages"])
            placed = tuple(behind({"title": "", "text": text}) for text in texts)
            cases.append(Case(row["question"], texts, texts, holds, tuple(row["answers"]), placed))
    yield "TAT-QA", "statements", cases[:limit]


def strip_context(data: Path, limit: int) -> Iterator[Pairs]:
    """By its setting: whether a strip with an answer is among those kept."""
    settings, scores = strategy("balanced").settings, KeptScores(shipped_evaluator(), evaluator_version(), CACHE)
    for name, kind, cases in passages(data, limit):
        found = []
        for each in (cut(case, scores, settings) for case in cases):
            if each.bearing:
                rules = [strip_selection.Rule.of(settings.changed(strip_context=on)) for on in (True, False)]
                kept = [filter_strips(each.strips, rule) for rule in rules]
                on, off = (any(strips[place].kept for place in each.bearing) for strips in kept)
                found.append((on, off))
        yield _pairs(name, kind, "an answer is kept", found)


RULES = {
    "strip_context": Rule("Strips that kept ones need", ("crag/evaluation/strip_dependencies.py",), strip_context),
    "names": Rule("Names looked for as figures are", ("crag/text/names.py",), names),
}
