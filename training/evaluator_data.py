"""Pairs of question and passage with a label, from data that may train, split by article or question.

Easy negatives teach nothing, so a negative is: another paragraph of the same article, a retrieved passage that
does not answer, a paragraph with an unanswerable question written about it, a distractor of a multi-hop
question, another sentence of the same paragraph. Windows of one to three sentences are pairs too, because
strips are scored by the same evaluator.
"""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crag.evaluator.sentences import sentence_spans

__all__ = ["Pair", "background", "held_out", "training_pairs"]

Embed = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True)
class Pair:
    """`group` is the article or question that splits go by; `source` names data set and unit."""

    question: str
    text: str
    label: int
    group: str
    source: str
    weight: float = 1.0


def held_out(group: str) -> bool:
    """Every fourth group calibrates and is never fitted on."""
    return zlib.crc32(group.encode()) % 4 == 0


def training_pairs(data: Path, embed: Embed) -> list[Pair]:
    """All pairs, the same ones at every run."""
    dice = random.Random(7)
    pairs = [*_squad(data, embed, dice), *_natural(data, embed, dice), *_popqa(data, dice)]
    return [*pairs, *_multihop(data, dice), *_scifact(data, dice)]


def background(data: Path) -> Iterator[str]:
    """Paragraphs to count words in."""
    for name in ("v1_train", "v2_train"):
        for article in _json(data / "squad" / f"{name}.json")["data"]:
            yield from (paragraph["context"] for paragraph in article["paragraphs"])
    yield from (row["ctxs"][0]["text"] for row in _lines(data / "nq" / "train.jsonl"))
    yield from (p["text"] for row in _lines(data / "popqa" / "train.jsonl") for p in row["passages"])
    yield from (p["paragraph_text"] for r in _json(data / "multihop" / "musique_train.json") for p in r["paragraphs"])
    for row in _json(data / "multihop" / "hotpotqa_train.json"):
        yield from ("".join(sentences) for _, sentences in row["context"])
    yield from (" ".join(row["sentences"]) for row in _lines(data / "scifact" / "scifact_corpus.jsonl"))


def windows(
    question: str, text: str, answers: Sequence[tuple[int, int]], group: str, source: str, dice: random.Random
) -> Iterator[Pair]:
    """One positive and one negative run of one to three sentences of a passage that answers."""
    spans = sentence_spans(text)
    size = dice.choice((1, 1, 2, 3))
    cuts = [(spans[at][0], spans[min(at + size, len(spans)) - 1][1]) for at in range(len(spans))]
    hold = [cut for cut in cuts if any(cut[0] <= start and end <= cut[1] for start, end in answers)]
    miss = [cut for cut in cuts if not any(start < cut[1] and cut[0] < end for start, end in answers)]
    for label, choice in ((1, hold), (0, miss)):
        if choice:
            start, end = dice.choice(choice)
            yield Pair(question, text[start:end], label, group, f"{source} window")


def _squad(data: Path, embed: Embed, dice: random.Random) -> Iterator[Pair]:
    second = _json(data / "squad" / "v2_train.json")["data"]
    known = {article["title"] for article in second}
    first = [a for a in _json(data / "squad" / "v1_train.json")["data"] if a["title"] not in known]
    for article in second + first:
        group = article["title"]
        contexts = [paragraph["context"] for paragraph in article["paragraphs"]]
        asked = [(number, qa) for number, p in enumerate(article["paragraphs"]) for qa in p["qas"]]
        asked = dice.sample(asked, min(len(asked), 260))
        close = embed([qa["question"] for _, qa in asked]) @ embed(contexts).T
        for row, (number, qa) in enumerate(asked):
            question, impossible = qa["question"], qa.get("is_impossible", False)
            yield Pair(question, contexts[number], int(not impossible), group, "squad paragraph")
            texts = [answer["text"] for answer in qa["answers"]]
            ranked = [int(n) for n in np.argsort(-close[row]) if n != number]
            others = [n for n in ranked if not any(text in contexts[n] for text in texts)]
            for other in others[:1] + others[3:4] + dice.sample(others, min(1, len(others))):
                yield Pair(question, contexts[other], 0, group, "squad other paragraph")
            spots = [(a["answer_start"], a["answer_start"] + len(a["text"])) for a in qa["answers"]]
            if spots:
                yield from windows(question, contexts[number], spots, group, "squad", dice)
            elif spans := sentence_spans(contexts[number]):
                start, end = dice.choice(spans)
                yield Pair(question, contexts[number][start:end], 0, group, "squad window")


def _natural(data: Path, embed: Embed, dice: random.Random) -> Iterator[Pair]:
    rows = list(_lines(data / "nq" / "train.jsonl"))
    texts = [row["ctxs"][0]["text"] for row in rows]
    close = embed([row["question"] for row in rows]) @ embed(texts).T
    for number, row in enumerate(rows):
        question, group = row["question"], f"nq {number}"
        yield Pair(question, texts[number], 1, group, "nq passage")
        ranked = [int(n) for n in np.argsort(-close[number]) if n != number]
        for other in [n for n in ranked[:20] if not _holds(texts[n], row["answers"])][:2]:
            yield Pair(question, texts[other], 0, group, "nq other passage")
        spots = [(at, at + len(a)) for a in row["answers"] if (at := texts[number].find(a)) >= 0]
        if spots:
            yield from windows(question, texts[number], spots, group, "nq", dice)


def _popqa(data: Path, dice: random.Random) -> Iterator[Pair]:
    for row in _lines(data / "popqa" / "train.jsonl"):
        for passage in row["passages"]:
            label, clean = passage["label_answer_in_text"], passage["label_answer_in_text"] == passage["label_title"]
            weight = 2.0 if clean else 1.0
            yield Pair(row["question"], passage["text"], label, row["id"], "popqa passage", weight)
            spots = [(at, at + len(a)) for a in row["answers"] if (at := passage["text"].find(a)) >= 0]
            if spots and clean:
                yield from windows(row["question"], passage["text"], spots, row["id"], "popqa", dice)


def _multihop(data: Path, dice: random.Random) -> Iterator[Pair]:
    for number, row in enumerate(_json(data / "multihop" / "hotpotqa_train.json")):
        support = {title for title, _ in row["supporting_facts"]}
        facts = {(title, index) for title, index in row["supporting_facts"]}
        for title, sentences in row["context"]:
            text = f"{title}. {''.join(sentences)}"
            yield Pair(row["question"], text, int(title in support), f"hotpot {number}", "multihop passage", 0.5)
            index = dice.randrange(len(sentences))
            fact = int((title, index) in facts)
            yield Pair(row["question"], sentences[index], fact, f"hotpot {number}", "multihop window", 0.5)
    for row in _json(data / "multihop" / "musique_train.json"):
        for passage in row["paragraphs"]:
            text = f"{passage['title']}. {passage['paragraph_text']}"
            yield Pair(row["question"], text, int(passage["is_supporting"]), row["id"], "multihop passage", 0.5)


def _scifact(data: Path, dice: random.Random) -> Iterator[Pair]:
    corpus = {row["doc_id"]: row for row in _lines(data / "scifact" / "scifact_corpus.jsonl")}
    for row in _lines(data / "scifact" / "scifact_claims_train.jsonl"):
        group = f"scifact {min(row['cited_doc_ids'])}"
        for cited in row["cited_doc_ids"]:
            sentences = corpus[cited]["sentences"]
            rationale = {index for part in row["evidence"].get(str(cited), []) for index in part["sentences"]}
            yield Pair(row["claim"], " ".join(sentences), int(bool(rationale)), group, "scifact abstract", 0.5)
            rest = [index for index in range(len(sentences)) if index not in rationale]
            for index in sorted(rationale)[:2] + dice.sample(rest, min(2, len(rest))):
                yield Pair(row["claim"], sentences[index], int(index in rationale), group, "scifact window", 0.5)


def _holds(text: str, answers: Sequence[str]) -> bool:
    return any(answer.lower() in text.lower() for answer in answers)


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from (json.loads(line) for line in file)
