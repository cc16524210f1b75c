"""The sets of the train folder as rows with passages, read once, each row on one side of the split."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from corpora.pair import Spot
from corpora.rows import read_rows

ARTICLES = "squad_train_part"
SETS = tuple(
    "adversarialqa_part aitqa boolq_part evidence_inference fairytaleqa fetaqa fever_part liveqa_med medquad "
    "multihop_dev_parts onestopqa qa_feedback_asqa qed_dev qmsum quoref_part selqa squad_sentences squad_train_extra "
    "squad_unansq squadshifts_newwiki tatqa tsqa_human wikitablequestions".split()
)
FIRST = tuple(
    "squad/v1_train.json squad/v2_train.json nq/train.jsonl popqa/train.jsonl multihop/hotpotqa_train.json "
    "multihop/musique_train.json scifact/scifact_corpus.jsonl scifact/scifact_claims_train.jsonl".split()
)
"""The files that earlier versions were trained on."""
SHORT = 100
"""Characters up to which a marked span is an answer; longer ones are evidence."""


def digest(data: Path) -> str:
    """One hash over all train files, so that a run can be told from one on other data."""
    names = [*FIRST, f"train/{ARTICLES}.json.gz", *(f"train/{name}.jsonl.gz" for name in SETS)]
    return hashlib.sha256(b"".join(hashlib.sha256((data / name).read_bytes()).digest() for name in names)).hexdigest()


@dataclass(frozen=True, slots=True)
class Passage:
    """A text of a set. `label` None: nobody judged it; `silver`: a rule did. `keeps` None: not known."""

    text: str
    label: float | None
    title: str = ""
    spots: tuple[Spot, ...] = ()
    keeps: tuple[Spot, ...] | None = None
    kind: str = ""
    silver: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A question or claim and its passages; `group` is the document that the split goes by.

    `more` holds what one set alone has: all sentences, a partner, a verdict.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    passages: tuple[Passage, ...]
    more: dict[str, Any]
    group: str = ""

    def on(self, group: str, passages: tuple[Passage, ...]) -> Row:
        return replace(self, group=group, passages=passages)


def rows(data: Path, name: str) -> Iterator[Row]:
    """The rows of one set as they are stored."""
    for row in read_rows(data / "train" / f"{name}.jsonl.gz"):
        passages = tuple(_passage(each) for each in row["passages"] if each["text"].strip())
        more = {key: row[key] for key in ("sentences", "pair", "verdict", "unit", "src", "qtype") if key in row}
        yield Row(row["id"], _asked(row["question"]), tuple(row["answers"]), passages, more)


def _asked(question: str) -> str:
    return " ".join(question.split())


def _passage(given: dict[str, Any]) -> Passage:
    spans = [(int(start), int(end)) for start, end in given["spans"]]
    evidence = tuple(sorted({(int(start), int(end)) for start, end in given["evidence_sentences"] if start < end}))
    label = given["label"]
    spots = tuple(sorted({(start, end) for start, end in spans if 0 < end - start <= SHORT}))
    if not label:
        spots, evidence = (), ()
    if "distractor_span" in given and label:
        lure = tuple(given["distractor_span"] or ())
        kind = f"lure {lure[0]} {lure[1]}" if lure else "gold"
    else:
        kind = given["kind"]
    return Passage(
        text=sys.intern(given["text"]),
        label=None if label is None else float(label),
        title=heading(given["title"]),
        spots=spots,
        keeps=evidence if evidence else (() if label == 0 else None),
        kind=kind,
        silver=bool(given.get("silver")),
    )


def heading(title: str) -> str:
    """A title as the app writes it before a chunk: the document's, then the section's."""
    title = re.sub(r"\s+[—–]\s+", " › ", title.strip())
    return "" if title in {"table", "table of an airline annual report"} else title.replace("_", " ")


def articles(data: Path) -> list[dict[str, Any]]:
    """The SQuAD articles of the set that is stored as SQuAD is."""
    with gzip.open(data / "train" / f"{ARTICLES}.json.gz", "rt", encoding="utf-8") as file:
        found: list[dict[str, Any]] = json.load(file)["data"]
    return found
