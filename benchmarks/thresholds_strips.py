"""What filter, top-k and minimum answer score keep of the strips that hold an answer, and what else they keep."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from benchmarks.thresholds_cases import Case, CaseSet
from benchmarks.thresholds_grades import KeptScores
from crag.core.settings import Settings
from crag.core.types import Strip
from crag.evaluation.strip_selection import Rule
from crag.evaluation.strips import StripRefiner, filter_strips

FILTERS = (0.02, 0.05, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6)
TOP_KS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 0)
FLOORS = (0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6)


@dataclass(frozen=True, slots=True)
class CutCase:
    """A question's strips, scored, in reading order; `bearing`: those that hold an accepted answer.

    `held`: the places of the strips of texts that hold an answer.
    """

    case: Case
    strips: tuple[Strip, ...]
    bearing: frozenset[int]
    held: frozenset[int]

    @property
    def best(self) -> float:
        return max((strip.score or 0.0 for strip in self.strips), default=0.0)


def cut_cases(given: CaseSet, scores: KeptScores, settings: Settings) -> list[CutCase]:
    """The strips that the app would score: all of each retrieved text's, alone or in place as `settings` say."""
    return [cut(case, scores, settings) for case in given.cases]


def cut(case: Case, scores: KeptScores, settings: Settings) -> CutCase:
    refiner = StripRefiner()
    spans = [(place, span) for place, text in enumerate(case.texts) for span in refiner.decompose(text, settings)]
    texts = [case.texts[place][start:end] for place, (start, end) in spans]
    if settings.strip_reading == "in place":
        found = [
            score
            for place, graded in enumerate(case.graded)
            for score in scores.strips(
                case.question, graded, case.placed[place]([span for at, span in spans if at == place])
            )
        ]
    else:
        found = [grade.score for grade in scores.grades(case.question, texts)]
    strips = tuple(
        Strip(
            id=str(number),
            source_id=str(place),
            origin="internal",
            start=start,
            end=end,
            text=text,
            score=score,
            kept=False,
        )
        for number, ((place, (start, end)), text, score) in enumerate(zip(spans, texts, found, strict=True))
    )
    held = frozenset(number for number, (place, _) in enumerate(spans) if case.holds[place])
    wanted = answer_pattern(case.answers)
    bearing = frozenset(number for number in held if wanted.search(plain(texts[number]))) if wanted else frozenset()
    return CutCase(case, strips, bearing, held)


def answer_pattern(answers: Sequence[str]) -> re.Pattern[str] | None:
    """Finds any accepted answer as whole words in a plain text; None where there is no answer to find."""
    found = {plain(answer) for answer in answers} - {""}
    either = "|".join(re.escape(answer) for answer in sorted(found, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{either})(?!\w)") if found else None


def plain(text: str) -> str:
    return " ".join(text.casefold().split())


# ---- tables --------------------------------------------------------------------------------------------------------


def filter_table(cut_sets: Sequence[Sequence[CutCase]]) -> list[dict[str, Any]]:
    """For each filter, without a limit on how many: what is kept of texts that hold an answer, and of the others.

    `recall`: of the strips with an answer. `questions`: share of questions that keep at least one such strip, of those
    that have one. Text by characters. All are means over the sets.
    """
    return [{"filter": floor, **_means([_filtered(cases, floor) for cases in cut_sets])} for floor in FILTERS]


def _filtered(cases: Sequence[CutCase], floor: float) -> dict[str, float]:
    kept = [{number for number, strip in enumerate(each.strips) if (strip.score or 0.0) >= floor} for each in cases]
    pairs = list(zip(cases, kept, strict=True))
    return {
        "recall": sum(len(each.bearing & some) for each, some in pairs) / sum(len(each.bearing) for each in cases),
        "questions": mean(float(bool(each.bearing & some)) for each, some in pairs if each.bearing),
        "text_kept": _characters(pairs, held=True),
        "other_text_kept": _characters(pairs, held=False),
    }


def _characters(pairs: Sequence[tuple[CutCase, set[int]]], *, held: bool) -> float:
    """The share kept of the text of sources that hold an answer, or of the other sources."""
    kept = total = 0
    for each, some in pairs:
        for number, strip in enumerate(each.strips):
            if (number in each.held) is held:
                total += len(strip.text)
                kept += len(strip.text) if number in some else 0
    return kept / total if total else 0.0


def top_k_table(cut_sets: Sequence[Sequence[CutCase]], floor: float) -> list[dict[str, Any]]:
    """For each top-k over a question's whole retrieval, with the filter at `floor`: as in the app.

    `questions` as in `filter_table`; `strips` and `text_kept`: means over the questions that have an answer strip.
    """
    return [{"top_k": top_k, **_means([_topped(cases, floor, top_k) for cases in cut_sets])} for top_k in TOP_KS]


def _topped(cases: Sequence[CutCase], floor: float, top_k: int) -> dict[str, float]:
    rows = []
    for each in cases:
        if not each.bearing:
            continue
        kept = {int(strip.id) for strip in filter_strips(each.strips, Rule(floor, top_k)) if strip.kept}
        size = sum(len(strip.text) for strip in each.strips)
        share = sum(len(each.strips[number].text) for number in kept) / size
        rows.append((float(bool(each.bearing & kept)), float(len(kept)), share))
    questions, strips, text = (mean(column) for column in zip(*rows, strict=True))
    return {"questions": questions, "strips": strips, "text_kept": text}


def floor_table(cut_sets: Mapping[str, Sequence[CutCase]]) -> list[dict[str, Any]]:
    """For each minimum answer score and set: shares of answerable and of other questions whose best strip lies under
    it.
    """
    return [
        {"floor": floor, "sets": {title: _abstained(cases, floor) for title, cases in cut_sets.items()}}
        for floor in FLOORS
    ]


def _abstained(cases: Sequence[CutCase], floor: float) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for kind, wanted in (("answerable", True), ("unanswerable", False)):
        under = [float(each.best < floor) for each in cases if each.case.answerable is wanted]
        found[kind] = mean(under) if under else None
    return found


def _means(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {key: mean(row[key] for row in rows) for key in (rows[0] if rows else ())}
