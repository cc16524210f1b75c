"""What an evaluator can learn from the labels of a library: fitted in milliseconds, tested on labels left out.

One model for each kind of score, with fixed penalties that were chosen on FinanceBench and TriviaQA
(benchmarks/results/adaptation.md): a slope and a bias for chunks, and for sets weights for what the layer reads too.
All are drawn to the shipped layer, so few labels change little.
"""

from __future__ import annotations

import zlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crag.analysis.evaluate import question_set
from crag.analysis.metrics.calibration import reliability, roc
from crag.analysis.metrics.metrics import label_of
from crag.analysis.questions.sets import Question
from crag.analysis.thresholds.recommend import EACH, QUESTIONS, Case, expected_relevance, same_question, with_thumbs
from crag.analysis.whatif.entries import Entry
from crag.evaluation.adaptation import Adaptation, Correction, Figures, Lesson, log_odds, shipped_id, write_adaptation
from crag.evaluation.heads import set_features
from crag.storage.library import Library
from crag.text.formats import iso_now

Floats = NDArray[np.float64]

LABELS = QUESTIONS
"""Labels that are needed, and at least `EACH` of them of either kind."""
ASKED = 10
"""Questions that are needed: labels of one are left out together."""
FOLDS = 5
SLOPE, WEIGHT = 4.0, 10.0
"""Penalties (half of each times the square) of the slope's distance from 1, and of a weight, a standard deviation of
its reading counting as 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A labelled score: its shipped log-odds, what was read of a set (nothing of a chunk), and the question's key."""

    odds: float
    values: tuple[float, ...]
    label: bool
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Nothing can be learned. `positive` of the `labels` say yes, about `questions` questions.

    few: too few labels. one kind: too few that say yes, or no. questions: of too few questions. reversed: what scores
    high is labelled as bad, and what scores low as good.
    """

    reason: Literal["few", "one kind", "questions", "reversed"]
    labels: int
    positive: int
    questions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Scores of labels that were left out, (n,), before and after, with the labels."""

    before: Floats
    after: Floats
    labels: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What the labels of a library teach, of chunks' scores and of sets'; `held` by "chunks" and "sets".

    `deleted` labels are left out, for their documents are gone.
    """

    evaluator: str
    chunks: Lesson | Refusal
    sets: Lesson | Refusal
    held: Mapping[str, Held]
    deleted: int

    @property
    def adaptation(self) -> Adaptation | None:
        """What would be used: the lessons that help; None where none does."""
        chunks, sets = (each if isinstance(each, Lesson) and each.helps else None for each in (self.chunks, self.sets))
        if not (chunks or sets):
            return None
        return Adaptation(evaluator=self.evaluator, at=iso_now(), chunks=chunks, sets=sets)


def labelled_cases(library: Library) -> Iterator[Case]:
    """The library's runs with what its question sets and people's labels say of them, the newest first."""
    expected: dict[str, Question] = {}
    for stored in library.evaluations.sets():
        for question in question_set(library, stored.id).questions:
            if label_of(question) is not None:
                expected.setdefault(same_question(question.question), question)
    thumbs: dict[str, dict[str, bool]] = {}
    for label in library.labels.all():
        thumbs.setdefault(same_question(label.question), {})[label.chunk_id] = label.label == "relevant"
    for trace in library.runs.readable(library.runs.ids()[::-1]):
        key = same_question(trace.meant)
        said = expected_relevance(trace, expected[key]) if key in expected else ((), None)
        if key in expected or key in thumbs:
            yield with_thumbs(Entry.of(trace), *said, thumbs.get(key, {}))


def learn(cases: Iterable[Case], evaluator: str, present: Container[str]) -> Learned:
    """What the evaluator of this id can learn from labelled runs, the newest first.

    Of a question, a chunk counts once, and one retrieval. Scores of other evaluators are left out; those that were
    corrected before count as they were shipped. `present`: the ids of the chunks that the library still has.
    """
    chunks: dict[tuple[str, str], Example] = {}
    sets: dict[str, Example] = {}
    deleted: set[tuple[str, str]] = set()
    for case in cases:
        if not case.entry.rounds:
            continue
        first, key = case.entry.rounds[0], same_question(case.entry.question)
        for id, grade, relevant in zip(first.chunks, first.grades, case.relevance[0], strict=True):
            if grade is None or grade.score is None or relevant is None or shipped_id(grade.evaluator) != evaluator:
                continue
            if id not in present:
                deleted.add((key, id))
                continue
            odds = log_odds(grade.score if grade.unadapted is None else grade.unadapted)
            chunks.setdefault((key, id), Example(odds=odds, values=(), label=relevant, group=key))
        whole = first.together
        if not all(id in present for id in first.chunks):
            continue
        if whole is not None and case.answerable is not None and shipped_id(whole.evaluator) == evaluator:
            odds = log_odds(whole.score if whole.unadapted is None else whole.unadapted)
            values = set_features(whole.readings)
            sets.setdefault(key, Example(odds=odds, values=values, label=case.answerable, group=key))
    held: dict[str, Held] = {}
    lessons: list[Lesson | Refusal] = []
    for name, examples in (("chunks", chunks), ("sets", sets)):
        found = lesson(list(examples.values()))
        lessons.append(found if isinstance(found, Refusal) else found[0])
        if not isinstance(found, Refusal):
            held[name] = found[1]
    return Learned(evaluator=evaluator, chunks=lessons[0], sets=lessons[1], held=held, deleted=len(deleted))


def learn_from(library: Library, evaluator: str) -> Learned:
    """The same of all runs and labels of a library. Raises StorageError."""
    cases = list(labelled_cases(library))
    return learn(cases, evaluator, library.documents.existing_chunks(labelled_chunks(cases)))


def labelled_chunks(cases: Iterable[Case]) -> set[str]:
    """The ids of the chunks that labels are about."""
    return {id for case in cases for first in case.entry.rounds[:1] for id in first.chunks}


def lesson(examples: Sequence[Example]) -> tuple[Lesson, Held] | Refusal:
    """The correction that labels of one kind speak for, its worth on labels left out; or why there is none."""
    groups = sorted({each.group for each in examples}, key=lambda group: zlib.crc32(group.encode("utf-8", "replace")))
    labels = np.array([each.label for each in examples], np.bool_)
    counts = {"labels": len(labels), "positive": int(labels.sum()), "questions": len(groups)}
    if len(labels) < LABELS:
        return Refusal(reason="few", **counts)
    if min(counts["positive"], len(labels) - counts["positive"]) < EACH:
        return Refusal(reason="one kind", **counts)
    if len(groups) < ASKED:
        return Refusal(reason="questions", **counts)
    odds = np.array([each.odds for each in examples])
    values = np.array([each.values for each in examples], np.float64).reshape(len(labels), -1)
    place = {group: number for number, group in enumerate(groups)}
    group = np.array([place[each.group] for each in examples])
    whole, after = fit(odds, values, labels), np.zeros(len(labels))
    if whole.slope <= 0:
        return Refusal(reason="reversed", **counts)
    for fold in range(FOLDS):
        out = group % FOLDS == fold
        found = fit(odds[~out], values[~out], labels[~out])
        after[out] = found.slope * odds[out] + found.bias + values[out] @ np.array(found.weights)
    gains = _losses(odds, labels) - _losses(after, labels)
    by_question = np.bincount(group, weights=gains - gains.mean())
    held = Held(before=_sigmoid(odds), after=_sigmoid(after), labels=labels)
    shipped, corrected = figures(odds, labels), figures(after, labels)
    if not whole.weights:  # a slope and a bias change no order; those of five folds, thrown together, seem to
        corrected = replace(corrected, auc=shipped.auc)
    made = Lesson(
        correction=whole,
        labels=len(labels),
        questions=len(groups),
        before=shipped,
        after=corrected,
        gain=float(gains.mean()),
        doubt=float(np.sqrt((by_question**2).sum()) / len(labels)),
    )
    return made, held


def fit(odds: Floats, values: Floats, labels: NDArray[np.bool_]) -> Correction:
    """The correction nearest to the shipped layer that the labels (n,) speak for. `values`: (n, readings)."""
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    rows = np.column_stack((np.ones_like(odds), odds, (values - mean) / deviation))
    penalties = np.array([1e-3, SLOPE, *[WEIGHT] * values.shape[1]])
    moved = np.zeros(rows.shape[1])

    def cost(moved: Floats) -> float:
        return float(_losses(odds + rows @ moved, labels).sum() + penalties @ moved**2 / 2)

    for _ in range(50):  # Newton's method on a convex cost; a step that overshoots is halved
        chance = _sigmoid(odds + rows @ moved)
        slope = rows.T @ (chance - labels) + penalties * moved
        step = np.linalg.solve((rows * (chance * (1 - chance))[:, None]).T @ rows + np.diag(penalties), slope)
        while cost(moved - step) > cost(moved) and np.abs(step).max() > 1e-8:
            step /= 2
        moved -= step
        if np.abs(step).max() < 1e-8:
            break
    weights = moved[2:] / deviation
    bias = moved[0] - float(weights @ mean)
    return Correction(slope=float(1 + moved[1]), bias=float(bias), weights=tuple(map(float, weights)))


def figures(odds: Floats, labels: NDArray[np.bool_]) -> Figures:
    """How good scores of these log-odds are. Raises InputError for labels of one kind."""
    scores = _sigmoid(odds)
    error, auc = reliability(scores, labels).error, roc(scores, labels).auc
    return Figures(loss=float(_losses(odds, labels).mean()), error=error, auc=auc)


def correct_entry(entry: Entry, adaptation: Adaptation) -> Entry:
    """A stored run as if its scores had been corrected, to be decided again."""
    rounds = tuple(
        replace(
            each,
            grades=tuple(grade and adaptation.correct(grade) for grade in each.grades),
            joint=each.joint and adaptation.correct(each.joint),
            together=each.together and adaptation.correct_set(each.together),
        )
        for each in entry.rounds
    )
    return replace(entry, rounds=rounds)


def use_adaptation(library: Library, adaptation: Adaptation) -> None:
    """Grade with it in this library from the next question on."""
    library.labels.save_adaptation(write_adaptation(adaptation))


def _losses(odds: Floats, labels: NDArray[np.bool_]) -> Floats:
    found: Floats = np.logaddexp(0.0, np.where(labels, -odds, odds))
    return found


def _sigmoid(odds: Floats) -> Floats:
    found: Floats = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
    return found
