"""The check of sentences on FaithBench: summaries on which detectors disagree, beside what those detectors said.

python -m benchmarks.faithbench [--data FOLDER] [--limit N]

FaithBench (Bao et al., NAACL 2025; github.com/vectara/FaithBench, CC BY-NC-SA 4.0) has 750 summaries by ten language
models, with the spans that people mark as unsupported, and the verdicts of detectors. Its summaries were chosen because
these disagree on them, so all do badly. FOLDER is a checkout of it; nothing of it is copied. Here it is a test set: no
threshold or rule was chosen on it. Writes results/faithbench.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from benchmarks.faithfulness import strip
from benchmarks.pages import machine, parse, publish
from corpora.measures import auc
from corpora.places import DATA
from crag.core.settings import Settings
from crag.core.types import Answer, Passage, SentenceCheck
from crag.evaluation.local import LocalEvaluator
from crag.generation.judges import SUPPORTED_FROM
from crag.generation.verification import CitationVerifier
from crag.models.cross_encoder import MODEL_ID
from crag.text.sentences import sentences

HERE = Path(__file__).resolve().parent
PDFS = DATA / "faithbench"
DETECTORS = {
    "hhem-2.1": "HHEM-2.1",
    "hhem-2.1-english": "HHEM-2.1-English",
    "hhemv1": "HHEM-1",
    "trueteacher": "TrueTeacher (11 B)",
    "true_nli": "True-NLI (11 B)",
    "gpt-3.5-turbo": "GPT-3.5-Turbo as a judge",
    "gpt-4-turbo": "GPT-4-Turbo as a judge",
    "gpt_4o": "GPT-4o as a judge",
}
"""By their names in the data: each said how consistent a summary is, 0..1."""
OURS, ALONE, ALWAYS = (
    "the check of sentences",
    "the local evaluator alone, least of all sentences",
    "always unsupported",
)
PAPER = "https://aclanthology.org/2025.naacl-short.38/"
ROUNDS, SEED = 2000, 7
Labels = NDArray[np.bool_]


class Annotation(BaseModel):
    label: list[str]
    start: int = Field(alias="summary_start")
    end: int = Field(alias="summary_end")


class Sample(BaseModel):
    source: str
    summary: str
    annotations: list[Annotation]
    said: dict[str, Any] = Field(alias="metadata")

    def marked(self, *kinds: str) -> list[tuple[int, int]]:
        """The spans with one of these labels."""
        return [
            (each.start, each.end)
            for each in self.annotations
            if any(label.partition(".")[0] in kinds for label in each.label)
        ]


class Batch(BaseModel):
    samples: list[Sample]


@dataclass(frozen=True)
class Checked:
    """One summary: each sentence's place with its check, and the local evaluator's least score of a sentence."""

    placed: Sequence[tuple[tuple[int, int], SentenceCheck]]
    least: float

    @property
    def unsupported(self) -> bool:
        return any(check.supported is False for _, check in self.placed)

    @property
    def score(self) -> float:
        """The share of sentences that are supported, then how surely the least is: for ranking alone."""
        checkable = [check for _, check in self.placed if check.supported is not None]
        if not checkable:
            return 1.0
        return sum(bool(check.supported) for check in checkable) / len(checkable) + self.least / 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=DATA, help="a checkout of github.com/vectara/FaithBench")
    parser.add_argument("--limit", type=int, default=0, help="only the first ones; then nothing is written")
    given = parse(parser)
    files = sorted((given.data / "data_for_release").glob("batch_*.json"))
    if not files:
        print(f"Skipped: no FaithBench in {given.data}. Clone github.com/vectara/FaithBench there.", file=sys.stderr)
        return 2
    samples = [sample for file in files for sample in Batch.model_validate_json(file.read_text("utf-8")).samples]
    samples = samples[: given.limit or None]
    evaluator = LocalEvaluator()
    checked = [check(evaluator, sample) for sample in samples]
    publish("faithbench", report(samples, checked), folder=given.folder)
    return 0


def check(evaluator: LocalEvaluator, sample: Sample) -> Checked:
    """A summary as an answer that cites nothing, over the sentences of its source."""
    knowledge = [strip("source", sample.source[start:end], start) for start, end in sentences(sample.source)]
    answer = Answer(text=sample.summary, by="summary")
    checks = CitationVerifier(evaluator).verify(answer, knowledge, {}, Settings()).checks
    source = Passage(id="source", text=sample.source)
    grades = [grade for each in checks for grade in evaluator.grade(each.sentence, [source])]
    return Checked(list(place(sample.summary, checks)), min((grade.score or 0.0 for grade in grades), default=1.0))


def place(text: str, checks: Sequence[SentenceCheck]) -> Iterator[tuple[tuple[int, int], SentenceCheck]]:
    """Where each sentence stands in its text; one that was changed in reading is left out."""
    at = 0
    for each in checks:
        start = text.find(each.sentence, at)
        if start >= 0:
            at = start + len(each.sentence)
            yield (start, at), each


def report(samples: Sequence[Sample], checked: Sequence[Checked]) -> str:
    """The page: verdicts on whole summaries, and sentences."""
    unwanted = np.array([bool(sample.marked("Unwanted")) for sample in samples])
    clean = np.array([not sample.annotations for sample in samples])
    made = f"{datetime.now(UTC).date()}, {machine()}, evaluator {MODEL_ID}"
    everything = np.ones(len(samples), bool)
    return "\n".join(
        [
            "# FaithBench",
            "",
            f"`python -m benchmarks.faithbench`, {made}.",
            "",
            f"{len(samples)} summaries by ten language models (Bao et al., NAACL 2025, {PAPER}),",
            "chosen because five of the detectors below disagree on them: that is unfair to these, not to the check.",
            "People mark spans as unwanted, questionable or benign:",
            f"{unwanted.sum()} summaries have an unwanted one, {clean.sum()} no mark at all.",
            "A test set here: no threshold or rule was chosen on it.",
            "",
            "The check is the app's without a language model, at the thresholds it ships with, over the sentences of",
            "the source; a summary is called unsupported where one of its sentences is. The detectors' verdicts stand",
            "in the data; they are taken at 0.5. Balanced accuracy is the mean of the unwanted found and of the others",
            f"left alone; in brackets a 95 % interval of {ROUNDS:,} bootstraps over summaries.",
            "",
            *_table("unwanted against all other summaries", compare(samples, checked, unwanted, everything)),
            "",
            *_table("unwanted against no mark at all", compare(samples, checked, unwanted, unwanted | clean)),
            "",
            describe_sentences(samples, checked),
            "",
        ]
    )


def _table(title: str, rows: Iterator[str]) -> Iterator[str]:
    yield f"| {title} | balanced accuracy | F1 of unwanted | unwanted found | others flagged | AUC |"
    yield "|---|---|---|---|---|---|"
    yield from rows


def compare(samples: Sequence[Sample], checked: Sequence[Checked], unwanted: Labels, chosen: Labels) -> Iterator[str]:
    """One row a way to judge, over the chosen summaries."""
    scores: dict[str, NDArray[np.float64]] = {
        OURS: np.array([each.score for each in checked]),
        ALONE: np.array([each.least for each in checked]),
    }
    flags: dict[str, Labels] = {
        OURS: np.array([each.unsupported for each in checked]),
        ALONE: np.array([each.least < SUPPORTED_FROM for each in checked]),
    }
    for key, name in DETECTORS.items():
        # One detector has no verdict on two summaries: it is taken to say that they are consistent.
        scores[name] = np.array([float(1.0 if sample.said[key] is None else sample.said[key]) for sample in samples])
        flags[name] = scores[name] < 0.5
    scores[ALWAYS], flags[ALWAYS] = np.zeros(len(samples)), np.ones(len(samples), bool)
    for name, flagged in flags.items():
        right, said = unwanted[chosen], flagged[chosen]
        found, wrong = said[right].mean(), said[~right].mean()
        graded = len(set(scores[name])) > 2
        area = auc(right.astype(int), -scores[name][chosen]) if graded else None
        low, high = interval(len(right), lambda rows, r=right, s=said: balanced_accuracy(r[rows], s[rows]))
        f1 = 2 * (said & right).sum() / (said.sum() + right.sum())
        yield (
            f"| {name} | {balanced_accuracy(right, said):.3f} ({low:.3f} to {high:.3f}) | {f1:.3f} | {found:.2f} "
            f"| {wrong:.2f} | {'' if area is None else f'{area:.3f}'} |"
        )


def balanced_accuracy(right: Labels, said: Labels) -> float:
    return float((said[right].mean() + (~said[~right]).mean()) / 2)


def interval(count: int, figure: Callable[[NDArray[np.int64]], float]) -> tuple[float, float]:
    """A 95 % bootstrap interval of a figure that is computed from `count` rows."""
    dice = np.random.default_rng(SEED)
    drawn = [figure(dice.integers(0, count, count)) for _ in range(ROUNDS)]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(low), float(high)


def describe_sentences(samples: Sequence[Sample], checked: Sequence[Checked]) -> str:
    """How many sentences are flagged that have an unwanted span, and of those of summaries without a mark."""
    tally: Mapping[bool, list[bool]] = {True: [], False: []}
    for sample, each in zip(samples, checked, strict=True):
        spans = sample.marked("Unwanted")
        for (start, end), check in each.placed:
            if check.supported is None:
                continue
            if any(a < end and start < b for a, b in spans):
                tally[True].append(not check.supported)
            elif not sample.annotations:
                tally[False].append(not check.supported)
    return (
        f"Of {len(tally[True])} sentences with an unwanted span {np.mean(tally[True]):.0%} are flagged, of "
        f"{len(tally[False])} in summaries without a mark {np.mean(tally[False]):.0%}."
    )


if __name__ == "__main__":
    raise SystemExit(main())
