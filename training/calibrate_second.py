"""Fits the layer of the evaluator's second look on held-out documents, and adds it to head.json.

    python -m training.calibrate_second [--data FOLDER] [--keep FILE] [--pairs N]

Run it after training.calibrate_evaluator. Pairs are those that held-out documents of all sets give, questions that
nobody can answer, and questions with another year, number or name of the passage. Figures are by two halves of the
documents, each fitted on the other. --keep FILE holds what was read: delete it when the model changes. It needs no
torch.
"""

from __future__ import annotations

import pickle
import random
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corpora.measures import auc, calibration_error, fit_logistic
from corpora.near_misses import make_near_miss, swap_within
from corpora.pair import Pair, held_out
from corpora.pairs import Corpus, untitled
from corpora.places import parser_of
from crag.evaluation.local import LocalEvaluator
from crag.evaluation.second_look import SENTENCE_FEATURES, Look
from training.calibrate_short import write_layer
from training.vectors import remembered

Rows = Sequence[tuple[Pair, Look | None]]
SWAPPED, NO = 3.0, 1.5
"""How much more a swapped question counts, and a pair that answers nothing: a library shows more of these."""
UPPER = 0.4
PENALTY = 0.2


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--keep", type=Path, help="keeps what was read between runs")
    parser.add_argument("--pairs", type=int, default=160, help="of each kind at most")
    given = parser.parse_args()
    if given.keep and given.keep.exists():
        rows: Rows = pickle.loads(given.keep.read_bytes())
    else:
        pairs = list(english(Corpus(given.data, remembered), given.pairs))
        rows = list(read(pairs))
        if given.keep:
            given.keep.write_bytes(pickle.dumps(rows))
    write_layer("sentence", fit_layer([(pair, look) for pair, look in rows if look]))


def english(corpus: Corpus, most: int) -> Iterator[Pair]:
    """Pairs of held-out documents, at most `most` of each kind; swapped ones with what was asked before."""
    dice = random.Random(3)
    kinds: dict[str, list[Pair]] = {}
    for pair in corpus.sources.epoch(5):
        if held_out(pair.group):
            kinds.setdefault(pair.source, []).append(pair)
    for row in corpus.popqa:
        for found in row["passages"][:6] if held_out(row["s_wiki_title"]) else ():
            if found["label_title"] == found["label_answer_in_text"]:
                pair = Pair(row["question"], untitled(found), found["label_title"], row["s_wiki_title"], "popqa")
                kinds.setdefault("popqa", []).append(replace(pair, title=found["title"]))
    asked = [pair for pairs in kinds.values() for pair in pairs if pair.spots and pair.source.endswith(" passage")]
    for article in corpus.articles:
        for paragraph in article["paragraphs"] if held_out(article["title"]) else ():
            for qa in paragraph["qas"]:
                spots = tuple(
                    {(each["answer_start"], each["answer_start"] + len(each["text"])) for each in qa["answers"]}
                )
                impossible, title = bool(qa.get("is_impossible")), article["title"].replace("_", " ")
                pair = Pair(
                    qa["question"].strip(), paragraph["context"], float(not impossible), title, "squad", title, spots
                )
                kinds.setdefault(f"squad {impossible}", []).append(pair)
                asked += [] if impossible else [pair]
    for kind, pairs in sorted(kinds.items()):
        many = 3 * most if kind.startswith("squad ") else most // 3 if kind.endswith("window") else most
        yield from dice.sample(pairs, min(many, len(pairs)))
    dice.shuffle(asked)
    count = Counter[str]()
    for pair in asked:
        # Questions about a stretch of years name two, of which another one may be as right.
        others = {} if "tsqa" in pair.source else swap_within(pair.question, pair.text, pair.spots, dice)
        for kind, other in (others | {"miss": make_near_miss(pair.question, pair.text, dice)}).items():
            if other != pair.question and count[kind] < 2 * most:
                count[kind] += 1
                yield replace(pair, source=f"asked {kind}")
                yield replace(pair, source=f"swapped {kind}", question=other, label=0.0, spots=())


def read(pairs: Sequence[Pair], evaluator: LocalEvaluator | None = None) -> Iterator[tuple[Pair, Look | None]]:
    evaluator = evaluator or LocalEvaluator()
    for number, pair in enumerate(pairs):
        yield pair, evaluator.looks(pair.question, [pair.read])[0]
        if number % 1000 == 0:
            print(f"{number:,} of {len(pairs):,} pairs", flush=True)


def fit_layer(rows: Rows) -> dict[str, object]:
    """The layer; the figures of both halves are printed."""
    values = np.array([[*look.values, 1.0] for _, look in rows if look])
    labels = np.array([float(pair.label > 0.5) for pair, _ in rows])
    kinds = np.array([pair.source for pair, _ in rows])
    count = Counter(kinds)
    weights = np.array(
        [(SWAPPED if kind.startswith(("asked", "swapped")) else 1.0) / count[kind] ** 0.5 for kind in kinds]
    )
    weights *= np.where(labels > 0, 1.0, NO)
    halves = np.array([zlib.crc32(pair.group.encode()) // 6 % 2 for pair, _ in rows])
    scores = np.zeros(len(rows))
    for half in (0, 1):
        used = halves != half
        scores[~used] = values[~used] @ fit_logistic(
            values[used], labels[used], PENALTY, weights[used] / weights[used].mean()
        )
    report(scores, values[:, SENTENCE_FEATURES.index("passage")], labels, kinds)
    found = fit_logistic(values, labels, PENALTY, weights / weights.mean())
    weights, bias = [round(float(each), 6) for each in found[:-1]], round(float(found[-1]), 6)
    return {"features": list(SENTENCE_FEATURES), "weights": weights, "bias": bias}


def report(
    scores: NDArray[np.float64], first: NDArray[np.float64], labels: NDArray[np.float64], kinds: NDArray[np.str_]
) -> None:
    """By kind, of the passage alone and with the second look: AUC, and the shares at the upper threshold."""
    from_on = np.log(UPPER / (1 - UPPER))
    for kind in sorted({str(each).replace("asked", "swapped").replace(" other", " passage") for each in kinds}):
        mine = np.isin(kinds, [kind, kind.replace("swapped", "asked"), kind.replace(" passage", " other")])
        line = f"{kind:20} n {mine.sum():5}"
        for name, odds in (("passage", first), ("second look", scores)):
            yes, no = odds[mine & (labels > 0)], odds[mine & (labels < 1)]
            if len(yes) and len(no):
                area = auc(labels[mine].astype(int), odds[mine])
                line += f"  {name} {area:.3f}, {np.mean(yes >= from_on):.2f} / {np.mean(no >= from_on):.2f}"
        print(line)
    plain = ~np.char.startswith(kinds, "swapped") & ~np.char.startswith(kinds, "asked")
    print("calibration error", round(calibration_error(labels[plain], 1 / (1 + np.exp(-scores[plain]))), 3))


if __name__ == "__main__":
    main()
