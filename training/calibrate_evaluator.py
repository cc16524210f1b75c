"""Fits the evaluator's last layers on held-out pairs at natural rates, and writes head.json.

    python -m training.calibrate_evaluator [--data FOLDER] [--keep FILE]

Training shows one negative for one positive; a library shows many. So here every sentence of a passage is a pair, and
a question meets its own passage and the nearest others. Each kind of data counts the same. Figures are by two halves
of the groups, each fitted on the other; what is written is fitted on both. The layer for strips comes second: it reads
what the first one says of the whole passage, and is fitted in `strip_layer.py`.
"""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corpora.measures import auc, calibration_error, fit_logistic
from corpora.pair import Pair
from corpora.pairs import Corpus, held_out
from corpora.places import parser_of
from crag.evaluation.heads import FEATURES, Head, features, load_head
from crag.models.cross_encoder import FOLDER, CrossEncoder, Reading
from crag.text.sentences import sentences
from training.export_evaluator import head_file, write
from training.strip_layer import PENALTY, strip_layer
from training.vectors import remembered

QUESTIONS, BY_SENTENCE = 700, 250
"""Held-out questions of SQuAD that are used, and how many of each set are asked of single sentences."""
ADDED = {"coverage": 1.0, "closeness": 4.0}
"""What the words in common and the cosine add to the log-odds: chosen on data marked dev, since on held-out training
data, which is full of passages that share all words and answer nothing, they seem to be worth nothing."""
PAPER_UPPER, PAPER_LOWER = (1 + 0.59) / 2, (1 - 0.99) / 2
"""The thresholds on PopQA of Yan et al. 2024, read as probabilities."""


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--keep", type=Path, help="keeps the readings between runs; delete it when the model changes")
    parser.add_argument("--strips", action="store_true", help="fits the layer for strips alone")
    given = parser.parse_args()
    corpus = Corpus(given.data, remembered)
    head = load_head()[0] if given.strips else grade_layer(corpus, given.keep)
    strips = strip_layer(corpus, head)
    short = json.loads((FOLDER / "head.json").read_text("utf-8")).get("short") if given.strips else None
    content = head_file(list(head.weights), head.bias, list(strips.weights), strips.bias, short)
    print(content.decode())
    write({"head.json": content})


def grade_layer(corpus: Corpus, keep: Path | None) -> Head:
    """The layer for grades, fitted; its figures are printed."""
    pairs = natural(corpus)
    rows = read(pairs, keep)
    labels = np.array([pair.label for pair in pairs])
    kinds = np.array([pair.source for pair in pairs])
    weights = 1.0 / np.array([(kinds == kind).sum() for kind in kinds])
    halves = np.array([zlib.crc32(pair.group.encode()) // 6 % 2 for pair in pairs])
    scores = np.zeros(len(pairs))
    for half in (0, 1):
        scores[halves == half] = rows[halves == half] @ fitted(rows, labels, weights, halves != half)
    scores = 1 / (1 + np.exp(-scores))
    for kind in np.unique(kinds):
        mine = kinds == kind
        hard = (labels[mine] > 0.5).astype(int)
        error = calibration_error(labels[mine], scores[mine])
        areas = [auc(hard, each[mine]) for each in (scores, rows[:, 0], rows[:, 1], rows[:, 2])]
        figures = "  ".join(f"{name} {area:.3f}" for name, area in zip(("auc", *FEATURES[:3]), areas, strict=True))
        print(f"{kind:15} n {mine.sum():5}  positive {hard.mean():.2f}  {figures}  error {error:.3f}")
    popqa = kinds == "popqa"
    print(mapped(labels[popqa], scores[popqa]))
    found = fitted(rows, labels, weights, np.ones(len(pairs), bool))
    return Head(tuple(float(weight) for weight in found[:-1]), float(found[-1]))


def mapped(labels: NDArray[np.float64], scores: NDArray[np.float64]) -> str:
    """Where the paper's thresholds lie on this scale, if its -1..1 is read as a probability.

    0.59 is then a precision of 0.795 among what is scored at least so much, -0.99 a share of 0.005 positive below.
    """
    order = np.argsort(-scores)
    precision = np.cumsum(labels[order] > 0.5) / np.arange(1, len(order) + 1)
    upper = scores[order][np.flatnonzero(precision >= PAPER_UPPER)[-1]]
    below = np.cumsum(labels[order][::-1] > 0.5) / np.arange(1, len(order) + 1)
    under = np.flatnonzero(below <= PAPER_LOWER)
    lower = scores[order][::-1][under[-1]] if len(under) else 0.0
    return f"the paper's 0.59 is {upper:.2f} here, its -0.99 {lower:.3f} (held-out PopQA passages)"


def natural(corpus: Corpus) -> list[Pair]:
    """Held-out pairs as a library would show them."""
    dice = random.Random(11)
    pairs = [pair for pair in corpus.epoch(101) if held_out(pair.group)]
    by_source: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_source.setdefault(pair.source, []).append(pair)
    found = list(corpus.searched())
    found += [replace(pair, source="popqa") for pair in by_source["popqa passage"] if pair.title]
    found += [pair for kind in ("claim", "copied", "filing", "scifact window") for pair in by_source[kind]]
    squad = by_source["squad paragraph"] + by_source["squad unanswerable"]
    found += [replace(pair, source="answerable") for pair in dice.sample(squad, min(QUESTIONS, len(squad)))]
    for kind in ("squad paragraph", "nq passage"):
        answered = [pair for pair in by_source[kind] if pair.spots]
        answered = dice.sample(answered, min(BY_SENTENCE, len(answered)))
        found += [part for pair in answered for part in _by_sentence(pair, f"{kind.split()[0]} sentence")]
    return found


def _by_sentence(pair: Pair, source: str) -> Iterator[Pair]:
    for start, end in sentences(pair.text):
        label = float(any(start <= first and last <= end for first, last in pair.spots))
        yield replace(pair, text=pair.text[start:end], title="", label=label, spots=(), source=source)


def read(pairs: list[Pair], keep: Path | None) -> NDArray[np.float64]:
    """Shape (len(pairs), features + 1): the head's features and a one for the bias."""
    if keep and keep.exists():
        stored: NDArray[np.float64] = np.load(keep)
        return stored
    encoder, lexicon = CrossEncoder(), load_head()[1]
    order = dict[str, list[int]]()
    for number, pair in enumerate(pairs):
        order.setdefault(pair.question, []).append(number)
    rows = np.zeros((len(pairs), len(FEATURES) + 1))
    for question, numbers in order.items():
        texts = [pairs[number].read for number in numbers]
        for number, text, reading in zip(numbers, texts, encoder.read(question, texts), strict=True):
            reading = reading or Reading(-12.0, -12.0, 0.0, 0, 0, 1)
            rows[number] = (*features(reading, lexicon.coverage(question, text)), 1.0)
    if keep:
        np.save(keep, rows)
    return rows


def fitted(
    rows: NDArray[np.float64], labels: NDArray[np.float64], weights: NDArray[np.float64], used: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Weights and bias: what is read first, by itself; then, with what is added to it, one slope, length and bias."""
    own = [*range(FEATURES.index("coverage")), len(FEATURES)]
    rows, labels, shares = rows[used], labels[used], weights[used] / weights[used].mean()
    penalty = 2 * PENALTY * len(labels)
    found = np.zeros(rows.shape[1])
    found[own] = fit_logistic(rows[:, own], labels, penalty, shares)
    for name, weight in ADDED.items():
        found[FEATURES.index(name)] = weight
    length = FEATURES.index("length")
    scale = fit_logistic(np.stack([rows @ found, rows[:, length], np.ones(len(rows))], axis=1), labels, penalty, shares)
    found *= scale[0]
    found[length] += scale[1]
    found[-1] += scale[2]
    return found


if __name__ == "__main__":
    main()
