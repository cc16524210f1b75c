"""Fits the layers over the reader of every language, on held-out documents, and adds them to head.json.

    python -m training.calibrate_languages [--data FOLDER] [--pairs N]

Run it after training.export_any_language. Pairs are those of XQuAD's train part, in one language and across two, that
the reader was not fitted on, and English ones of many kinds, read by it as if they were not English. First the layer of
a passage's score, then those of its strips and of the second look, each over the ones before.
Figures are by two halves of the documents, each fitted on the other. It needs no torch.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from corpora.measures import auc, calibration_error, fit_logistic
from corpora.pair import Pair, held_out
from corpora.pairs import Corpus
from corpora.places import parser_of
from corpora.published_sets import read_xquad
from crag.core.settings import Settings
from crag.evaluation.heads import FEATURES, STRIP_FEATURES, Head, features, strip_features
from crag.evaluation.local import LocalEvaluator
from crag.evaluation.strips import StripRefiner
from crag.models.any_language import AnyLanguage
from crag.models.cross_encoder import Reading
from crag.models.runtime import E5
from crag.text.sentences import sentences
from training.calibrate_second import UPPER, english, fit_layer, read
from training.calibrate_short import write_layer
from training.strip_layer import FEWEST, rising
from training.vectors import remembered
from training.windows import LANGUAGES

PENALTY = 1e-3
"""A pair."""
NONE = Reading(-12.0, -12.0, 0.0, 0, 0, 1)


class Remembering(AnyLanguage):
    """Reads every text once."""

    def read(self, question: str, texts: Sequence[str]) -> list[Reading | None]:
        return [self._once(question, text) for text in texts]

    @cache  # noqa: B019 - it lives as long as the run
    def _once(self, question: str, text: str) -> Reading | None:
        return super().read(question, [text])[0]


class Elsewhere(LocalEvaluator):
    """Reads every pair as one that is not English."""

    def __init__(self, reader: AnyLanguage) -> None:
        super().__init__()
        self._any_reader = reader

    def _english(self, question: str, texts: Sequence[str]) -> list[bool]:
        return [False] * len(texts)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--pairs", type=int, default=1200, help="of XQuAD, and about as many in English")
    given = parser.parse_args()
    foreign = list(languages(given.data, held_out))
    foreign = random.Random(1).sample(foreign, min(given.pairs, len(foreign)))
    pairs = [*foreign, *english(Corpus(given.data, remembered), given.pairs // 60)]
    reader = Remembering(E5())
    readings = [reader.read(pair.question, [pair.read])[0] or NONE for pair in pairs]
    write_layer("elsewhere", grade_layer(pairs, readings))
    looks = read(pairs, Elsewhere(reader))
    write_layer("sentence elsewhere", fit_layer([(pair, look) for pair, look in looks if look]))


def languages(data: Path, chosen: Callable[[str], bool]) -> Iterator[Pair]:
    """Questions put to their own paragraph, to it without the sentence that answers, and to another of the article.

    Of one language, and across, with English; of the articles whose group is chosen.
    """
    dice = random.Random(1)
    texts = {language: read_xquad(data, language, "train") for language in ("en", *LANGUAGES)}
    ways = [way for each in LANGUAGES for way in ((each, each), (each, "en"), ("en", each))]
    for at, article in enumerate(texts["en"]):
        for own, paragraph in enumerate(article["paragraphs"] if chosen(f"xquad {at}") else ()):
            for number, (asked, said) in ((n, way) for n in range(len(paragraph["qas"])) for way in ways):
                paragraphs = texts[said][at]["paragraphs"]
                question = texts[asked][at]["paragraphs"][own]["qas"][number]["question"]
                kind, text = "one language" if asked == said else "across languages", paragraphs[own]["context"]
                answer = paragraphs[own]["qas"][number]["answers"][0]
                spot = answer["answer_start"], answer["answer_start"] + len(answer["text"])
                parts = sentences(text)
                rest = " ".join(text[start:end] for start, end in parts if end <= spot[0] or start >= spot[1])
                other = dice.choice([each for number, each in enumerate(paragraphs) if number != own])["context"]
                keeps = tuple(span for span in parts if span[0] < spot[1] and spot[0] < span[1])
                pair = Pair(question, text, 1.0, f"xquad {at}", kind, "", (spot,), keeps=keeps)
                yield pair
                for wrong in filter(None, (other, rest)):
                    yield Pair(question, wrong, 0.0, f"xquad {at}", kind, keeps=())


def grade_layer(pairs: Sequence[Pair], readings: Sequence[Reading]) -> dict[str, object]:
    """The layer of a passage's score, with the one of its strips in it. Words in common count as read by the model."""
    rows = np.array([[*features(reading, 0.0), 1.0] for reading in readings])
    labels = np.array([float(pair.label > 0.5) for pair in pairs])
    kinds = np.array([pair.source for pair in pairs])
    groups = np.array([hash_half(pair.group) for pair in pairs])
    weights = np.array([1 / (kinds == kind).sum() ** 0.5 for kind in kinds])
    scores = np.zeros(len(pairs))
    for half in (0, 1):
        used = groups != half
        scores[~used] = rows[~used] @ fit_logistic(rows[used], labels[used], PENALTY * used.sum(), weights[used])
    for kind in np.unique(kinds):
        mine = kinds == kind
        area = auc(labels[mine].astype(int), scores[mine]) if 0 < labels[mine].sum() < mine.sum() else 0.0
        over = scores[mine] >= np.log(UPPER / (1 - UPPER))
        shares = [over[labels[mine] == label].mean() if (labels[mine] == label).any() else 0.0 for label in (1, 0)]
        print(f"{kind:22} n {mine.sum():5}  auc {area:.3f}  CORRECT {shares[0]:.2f} / {shares[1]:.2f}")
    print("calibration error", calibration_error(labels, 1 / (1 + np.exp(-scores))))
    found = fit_logistic(rows, labels, PENALTY * len(labels), weights / weights.mean())
    head = Head(tuple(float(each) for each in found[:-1]), float(found[-1]))
    return {
        "features": list(FEATURES),
        "weights": [round(each, 6) for each in head.weights],
        "bias": round(head.bias, 6),
        "strips": strip_layer(pairs, readings, head),
    }


def hash_half(group: str) -> int:
    return sum(group.encode()) % 2


def strip_layer(pairs: Sequence[Pair], readings: Sequence[Reading], head: Head) -> dict[str, object]:
    refiner, settings, rows, labels = StripRefiner(), Settings(), [], []
    for pair, reading in zip(pairs, readings, strict=True):
        keeps = () if pair.label == 0 else pair.keeps
        spans = refiner.decompose(pair.text, settings) if keeps is not None else []
        ahead, odds = len(pair.read) - len(pair.text), head.odds(reading, 0.0)
        for start, end in spans if len(spans) >= FEWEST else ():
            inside = sum(max(0, min(end, last) - max(start, first)) for first, last in keeps or ())
            rows.append([*strip_features(reading, start + ahead, end + ahead, odds), 1.0])
            labels.append(float(2 * inside > end - start))
    values, right = np.array(rows), np.array(labels)
    found = rising(values, right, np.ones(len(right)))
    print(len(right), "strips, auc", auc(right.astype(int), values @ found))
    weights = [round(float(each), 6) for each in found[:-1]]
    return {"features": list(STRIP_FEATURES), "weights": weights, "bias": round(float(found[-1]), 6)}


if __name__ == "__main__":
    main()
