"""Fits the layer that says how likely the short answer is right, on held-out questions, and adds it to head.json.

    python -m training.calibrate_short [--data FOLDER] [--keep FILE]

Run it last: it reads the shipped weights and the fitted head, and training.calibrate_evaluator writes head.json without
it. A question meets what a search finds: the nearest four paragraphs of its article (SQuAD) or of all (NQ), its own
among them or not, or what its authors' search found (PopQA); some questions have no answer. Words are right where they
are an accepted answer, or share at least half of their words with one (token F1). Figures are by two halves of the
groups, each fitted on the other; what is written is fitted on both. It needs no torch.
"""

from __future__ import annotations

import hashlib
import json
import random
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corpora.measures import fit_logistic
from corpora.pairs import Corpus, held_out
from corpora.places import parser_of
from corpora.rows import read_articles, read_rows
from crag.analysis.questions.matching import answer_match
from crag.evaluation.heads import load_head, probability
from crag.evaluation.local import LONGEST, SHORT_FEATURES, features, trim_answer
from crag.models.cross_encoder import FOLDER, CrossEncoder
from crag.models.runtime import E5
from training.vectors import remembered

NEAREST = 4
ANSWERED, UNANSWERED, NATURAL = 50, 15, 300
"""Questions of an article that are used, those of them without an answer, and questions of NQ."""
SQUAD_FORMS = ("v1_train", "v2_train")
PENALTY = 1e-4
"""A row."""
PRECISION = 0.8
RIGHT_FROM = 0.5


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with accepted answers (none: nothing answers it) and the texts that a search finds, title first."""

    question: str
    answers: tuple[str, ...]
    texts: tuple[str, ...]
    group: str
    source: str


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--keep", type=Path, help="keeps the readings between runs; delete it when the model changes")
    given = parser.parse_args()
    corpus = Corpus(given.data, remembered)
    asked = [*squad(given.data), *natural(given.data, corpus), *retrieved(given.data, corpus)]
    rows, right, owner = read(asked, given.keep)
    halves = np.array([zlib.crc32(each.group.encode()) // 6 % 2 for each in asked])[owner]
    scores = np.zeros(len(rows))
    for half in (0, 1):
        others, own = rows[halves != half], right[halves != half]
        scores[halves == half] = rows[halves == half] @ fit_logistic(others, own, PENALTY * len(own))
    scores = 1 / (1 + np.exp(-scores))
    for source in ("squad", "nq", "popqa", ""):
        told(source, asked, scores, right, owner)
    found = fit_logistic(rows, right, PENALTY * len(right))
    weights, bias = [round(float(weight), 6) for weight in found[:-1]], round(float(found[-1]), 6)
    write_layer("short", {"features": list(SHORT_FEATURES), "weights": weights, "bias": bias})


def squad(data: Path) -> Iterator[Asked]:
    """Held-out articles of both versions; a paragraph's title is its article's."""
    seen: set[str] = set()
    dice, embedder = random.Random(21), E5()
    for form in reversed(SQUAD_FORMS):
        for article in read_articles(data, form):
            if article["title"] in seen or not held_out(article["title"]):
                continue
            seen.add(article["title"])
            contexts = [paragraph["context"] for paragraph in article["paragraphs"]]
            questions = [qa for paragraph in article["paragraphs"] for qa in paragraph["qas"]]
            known = [qa for qa in questions if not qa.get("is_impossible")]
            none = [qa for qa in questions if qa.get("is_impossible")]
            chosen = dice.sample(known, min(ANSWERED, len(known))) + dice.sample(none, min(UNANSWERED, len(none)))
            close = embedder.embed([qa["question"] for qa in chosen]) @ embedder.embed(contexts).T
            title = article["title"].replace("_", " ")
            for qa, row in zip(chosen, close, strict=True):
                texts = tuple(f"{title}\n{contexts[n]}" for n in np.argsort(-row)[:NEAREST])
                answers = () if qa.get("is_impossible") else tuple({a["text"] for a in qa["answers"]})
                yield Asked(qa["question"].strip(), answers, texts, article["title"], "squad")


def natural(data: Path, corpus: Corpus) -> Iterator[Asked]:
    """Held-out questions of Natural Questions over the gold passages of all; of a third without its own."""
    rows = read_rows(data / "nq/train.jsonl")
    texts = [f"{row['ctxs'][0]['title']}\n{row['ctxs'][0]['text']}" for row in rows]
    groups = [corpus.group(row["ctxs"][0]["title"]) for row in rows]
    apart = [number for number in range(len(rows)) if held_out(groups[number])]
    chosen = random.Random(22).sample(apart, min(NATURAL, len(apart)))
    embedder = E5()
    close = embedder.embed([rows[number]["question"] for number in chosen]) @ embedder.embed(texts).T
    for place, number in enumerate(chosen):
        own = [] if place % 3 else [number]
        near = [int(n) for n in np.argsort(-close[place])[: NEAREST + 1] if n not in own]
        found = tuple(texts[n] for n in near[:NEAREST])
        yield Asked(rows[number]["question"], tuple(rows[number]["answers"]), found, groups[number], "nq")


def retrieved(data: Path, corpus: Corpus) -> Iterator[Asked]:
    """Held-out questions of PopQA with the passages that its authors' search found."""
    for row in read_rows(data / "popqa/train.jsonl"):
        if held_out(group := corpus.group(row["s_wiki_title"])):
            texts = tuple(f"{each['title']}\n{each['text']}" for each in row["passages"][:NEAREST])
            yield Asked(row["question"], tuple(row["answers"]), texts, group, "popqa")


def read(
    asked: Sequence[Asked], keep: Path | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """One row a text with words to show: features and a one, whether the words are right, whose question it is."""
    if keep and keep.exists():
        stored = np.load(keep)
        return stored["rows"], stored["right"], stored["owner"]
    encoder, (head, lexicon) = CrossEncoder(), load_head()
    rows, right, owner = [], [], []
    for number, each in enumerate(asked):
        for text, reading in zip(each.texts, encoder.read(each.question, each.texts), strict=True):
            span = trim_answer(text, reading.start, reading.end) if reading else (0, 0)
            if reading is None or not 0 < span[1] - span[0] <= LONGEST:
                continue
            score = probability(head.odds(reading, lexicon.coverage(each.question, text)))
            rows.append((*features(each.question, text, span, reading, score), 1.0))
            match = answer_match(text[slice(*span)], each.answers)
            right.append(float(match is not None and match.f1 >= RIGHT_FROM))
            owner.append(number)
    found = np.array(rows), np.array(right), np.array(owner)
    if keep:
        np.savez(keep, rows=found[0], right=found[1], owner=found[2])
    return found


def told(
    source: str,
    asked: Sequence[Asked],
    scores: NDArray[np.float64],
    right: NDArray[np.float64],
    owner: NDArray[np.int64],
) -> None:
    """Prints how often the surest words of a question are right, and from which confidence four of five are."""
    best: dict[int, tuple[float, float]] = {}
    for number, score, fine in zip(owner, scores, right, strict=True):
        if asked[number].source == (source or asked[number].source):
            best[int(number)] = max(best.get(int(number), (0.0, 0.0)), (float(score), float(fine)))
    ordered = sorted(best.values(), reverse=True)
    fine = np.array([each[1] for each in ordered])
    precision = np.cumsum(fine) / np.arange(1, len(fine) + 1)
    shown = np.flatnonzero(precision >= PRECISION)
    count = int(shown[-1]) + 1 if len(shown) else 0
    floor = ordered[count - 1][0] if count else 1.0
    print(
        f"{source or 'all':6} {len(ordered)} questions, surest words right {fine.mean():.3f}; "
        f"{PRECISION:.0%} right from {floor:.2f} on, which shows {count / len(ordered):.2f}"
    )
    for line in (0.3, 0.4, 0.5, 0.6, 0.7):
        over = np.array([fit for score, fit in ordered if score >= line])
        print(
            f"       from {line:.1f}: {len(over) / len(ordered):.2f} shown, {over.mean() if len(over) else 0:.2f} right"
        )


def write_layer(name: str, layer: Mapping[str, object], folder: Path = FOLDER) -> None:
    """Adds a layer to head.json, and the file's new hash to the manifest; all else stays."""
    head = json.loads((folder / "head.json").read_text(encoding="utf-8"))
    head[name] = layer
    data = (json.dumps(head, indent=1) + "\n").encode()
    (folder / "head.json").write_bytes(data)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["sha256"]["head.json"] = hashlib.sha256(data).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(layer))


if __name__ == "__main__":
    main()
