"""Fits the layer that scores the strips of a passage, on held-out pairs whose sentences to keep are known."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from corpora.measures import auc, calibration_error, fit_logistic
from corpora.pair import Pair, held_out
from corpora.pairs import Corpus
from crag.core.settings import Settings
from crag.evaluation.heads import STRIP_FEATURES, Head, Layer, Lexicon, load_head, strip_features
from crag.evaluation.strips import StripRefiner
from crag.models.cross_encoder import CrossEncoder

OF_EACH = 120
"""Passages with evidence that are read of each kind of data, and as many without."""
FEWEST = 3
"""Strips of the shortest passage that is read: chunks of a library are no shorter."""
PENALTY = 1e-3
FLOORS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
"""The strip filters whose worth is printed."""


def strip_layer(corpus: Corpus, head: Head) -> Layer:
    """The layer for strips under a layer for grades, fitted; its figures are printed."""
    table = strips_of(chosen([*corpus.epoch(101), *corpus.searched()]), head, load_head()[1])
    rows, labels, kinds, groups, sizes = (np.array(column) for column in zip(*table, strict=True))
    weights = 1.0 / np.array([(kinds == kind).sum() for kind in kinds])
    halves = np.array([zlib.crc32(group.encode()) // 6 % 2 for group in groups])
    scores = np.zeros(len(labels))
    for half in (0, 1):
        fitted = rising(rows[halves != half], labels[halves != half], weights[halves != half])
        scores[halves == half] = rows[halves == half] @ fitted
    scores = 1 / (1 + np.exp(-scores))
    for kind in np.unique(kinds):
        mine = kinds == kind
        hard = labels[mine].astype(int)
        told = f"{kind:22} strips {mine.sum():5}  evidence {hard.mean():.2f}  error "
        told += f"{calibration_error(labels[mine], scores[mine]):.3f}"
        if 0 < hard.sum() < len(hard):
            each = zip(STRIP_FEATURES, rows.T, strict=False)
            told += f"  auc {auc(hard, scores[mine]):.3f}  "
            told += "  ".join(f"{name} {auc(hard, column[mine]):.3f}" for name, column in each)
        print(told)
    for floor in FLOORS:
        kept = scores >= floor
        evidence = (kept & (labels == 1)) @ sizes / ((labels == 1) @ sizes)
        print(
            f"filter {floor:4}: keeps {evidence:.3f} of the evidence in {kept @ sizes / sizes.sum():.3f} of the words"
        )
    found = rising(rows, labels, weights)
    return Layer(tuple(float(weight) for weight in found[:-1]), float(found[-1]))


def chosen(pairs: Iterable[Pair]) -> list[Pair]:
    """Held-out pairs of which it is known what to keep, of every kind of data, with evidence and without."""
    kinds: dict[tuple[str, bool], list[Pair]] = {}
    for pair in pairs:
        keeps = () if pair.label == 0 else pair.keeps
        if held_out(pair.group) and keeps is not None:
            kinds.setdefault((pair.source, bool(keeps)), []).append(pair)
    dice = random.Random(13)
    return [pair for _, found in sorted(kinds.items()) for pair in dice.sample(found, min(OF_EACH, len(found)))]


Row = tuple[tuple[float, ...], float, str, str, int]
"""Features and a one for the bias, label, kind of data, group, and how many words."""


def strips_of(pairs: list[Pair], head: Head, lexicon: Lexicon) -> list[Row]:
    """The strips of texts as the product cuts them; one is evidence where over half of it lies in what is to keep."""
    encoder, refiner, settings, found = CrossEncoder(), StripRefiner(), Settings(), list[Row]()
    for pair in pairs:
        [reading] = encoder.read(pair.question, [pair.read])
        if reading is None:
            continue
        odds, ahead = head.odds(reading, lexicon.coverage(pair.question, pair.read)), len(pair.read) - len(pair.text)
        spans = refiner.decompose(pair.text, settings)
        for start, end in spans if len(spans) >= FEWEST else ():
            inside = sum(max(0, min(end, last) - max(start, first)) for first, last in pair.keeps or ())
            values = (*strip_features(reading, start + ahead, end + ahead, odds), 1.0)
            words = len(pair.text[start:end].split())
            found.append((values, float(2 * inside > end - start), pair.source, pair.group, words))
    return found


def rising(rows: NDArray[np.float64], labels: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """`fit_logistic` without a weight below zero: what would have one is left out."""
    used = list(range(rows.shape[1]))
    while True:
        found = fit_logistic(rows[:, used], labels, 2 * PENALTY * len(labels), weights / weights.mean())
        if len(used) == 1 or found[:-1].min() >= 0:
            break
        del used[int(found[:-1].argmin())]
    whole = np.zeros(rows.shape[1])
    whole[used] = found
    return whole
