"""The evaluator's lexicon.json: in how many paragraphs of the train data each word stem stands."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from corpora.rows import read_articles, read_rows
from crag.evaluation.heads import stems

FEWEST = 3
"""Stems of fewer paragraphs are left out: they count as in none."""


def lexicon_file(data: Path) -> bytes:
    """The content of lexicon.json."""
    texts = dict.fromkeys(_paragraphs(data))
    counts = Counter(root for text in texts for root in stems(text))
    kept = {root: count for root, count in sorted(counts.items()) if count >= FEWEST}
    return (
        json.dumps({"paragraphs": len(texts), "counts": kept}, ensure_ascii=False, separators=(",", ":")) + "\n"
    ).encode()


def _paragraphs(data: Path) -> Iterator[str]:
    for name in ("v1_train", "v2_train"):
        for article in read_articles(data, name):
            yield from (paragraph["context"] for paragraph in article["paragraphs"])
    yield from (row["ctxs"][0]["text"] for row in read_rows(data / "nq/train.jsonl"))
    yield from (passage["text"] for row in read_rows(data / "popqa/train.jsonl") for passage in row["passages"])
    for row in json.loads((data / "multihop/musique_train.json").read_text("utf-8")):
        yield from (passage["paragraph_text"] for passage in row["paragraphs"])
    for row in json.loads((data / "multihop/hotpotqa_train.json").read_text("utf-8")):
        yield from ("".join(sentences) for _, sentences in row["context"])
    yield from (" ".join(row["sentences"]) for row in read_rows(data / "scifact/scifact_corpus.jsonl"))
