"""Fits the layer that tells questions about a whole document from others: crag/models/overview/weights.json.

    python -m training.overview_questions [--data FOLDER]

Questions about a whole document are the forms of overview_questions.json; other questions come from eight sets of train
data in several languages, some of their words taken for a document's name or for a heading. It needs no torch, and a
minute. `benchmarks.overviews` has the error rates on forms and sets that nothing is fitted on.
"""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from corpora.measures import Adam
from corpora.places import parser_of
from corpora.rows import read_articles, read_rows
from crag.generation.whole_questions import FILE, KINDS, NAME, OTHER, PART, features_of, roots_of, shorten, tokens_of
from crag.text.words import words

HERE = Path(__file__).resolve().parent
EACH, STEPS, RATE, DECAY = 700, 300, 0.05, 2e-3
"""Ordinary questions of a set; steps of the fit, their rate, and what a weight costs."""
THINGS = frozenset(
    map(shorten, "document paper report file text slides email dokument datei documento informe rapport".split())
)


def ordinary(data: Path) -> Iterator[list[str]]:
    """The questions of each set."""
    for name in ("v1_train", "v2_train"):
        yield _questions(read_articles(data, name))
    for language in ("de", "es", "ru"):
        yield _questions(json.loads(gzip.decompress((data / "xquad" / f"{language}_train.json.gz").read_bytes())))
    for name in ("nq", "popqa"):
        yield [row["question"] for row in read_rows(data / name / "train.jsonl")]
    for name in ("tatqa", "medquad", "boolq_part", "fairytaleqa", "wikitablequestions"):
        packed = gzip.decompress((data / "train" / f"{name}.jsonl.gz").read_bytes()).decode()
        yield [json.loads(line)["question"] for line in packed.splitlines()]


def _questions(articles: list[dict]) -> list[str]:  # type: ignore[type-arg]
    return [asked["question"] for each in articles for paragraph in each["paragraphs"] for asked in paragraph["qas"]]


def forms() -> Iterator[tuple[int, list[str]]]:
    """Each form with its kind, as the layer reads it."""
    slots = {"part": PART, "name": NAME, "num": "§number"}
    for kind, each in json.loads((HERE / "overview_questions.json").read_text("utf-8")).items():
        for form in each:
            marked = form.format(**{slot: f" zq{slot} " for slot in slots})
            found = [slots.get(word.removeprefix("zq"), word) for word in words(marked)]
            tokens = [token if token[0] == "§" else shorten(token) for token in found]
            yield KINDS.index(kind), tokens
            if any(token in THINGS for token in tokens) and NAME not in tokens:
                for stands in (OTHER, NAME):  # a thing that no form names: "the protocol"
                    yield KINDS.index(kind), [stands if token in THINGS else token for token in tokens]


def main() -> None:
    dice, rows = random.Random(7), [*forms()]
    known = {token for _, tokens in rows for token in tokens if token[0] != "§"}
    for questions in ordinary(parser_of(__doc__).parse_args().data):
        for question in dice.sample(questions, min(EACH, len(questions))):
            said = sorted(roots_of(question))
            names = dice.sample(said, min(len(said), dice.choice((0, 0, 1, 2))))
            part = dice.sample(said, min(len(said), dice.choice((1, 1, 2)))) if dice.random() < 0.15 else []
            rows.append((0, tokens_of(question, names, [frozenset(part)], known)))
    counts = Counter(feature for kind, tokens in rows for feature in set(features_of(tokens)) if kind)
    names = sorted(counts)
    place = {feature: at for at, feature in enumerate(names)}
    x = np.zeros((len(rows), len(names)), np.float32)
    for at, (_, tokens) in enumerate(rows):
        x[at, [place[feature] for feature in features_of(tokens) if feature in place]] = 1
    kinds = np.array([kind for kind, _ in rows])
    y = np.eye(len(KINDS), dtype=np.float32)[kinds]
    share = np.where(kinds > 0, (kinds == 0).sum() / (kinds > 0).sum(), 1.0).astype(np.float32)[:, None] / len(rows)
    weights, adam = np.zeros((len(names), len(KINDS)), np.float32), Adam((len(names), len(KINDS)))
    for _ in range(STEPS):
        odds = np.exp((sums := x @ weights) - sums.max(1, keepdims=True))
        slope = x.T @ (share * (odds / odds.sum(1, keepdims=True) - y)) + DECAY * weights / 100
        weights -= adam.step(slope, RATE)
    said = {name: [round(float(each), 2) for each in row] for name, row in zip(names, weights, strict=True)}
    FILE.write_text(json.dumps(said, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    right = float(((x @ weights).argmax(1) == kinds).mean())
    print(f"{len(rows):,} questions, {len(names):,} features, right: {right:.4f}")


if __name__ == "__main__":
    main()
