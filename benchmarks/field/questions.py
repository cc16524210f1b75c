"""The two sets: filings of FinanceBench, whose answer lies on pages, and paragraphs of SQuAD, each a file of text."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pypdfium2

from benchmarks.retrieval import Question, financebench

SQUAD_QUESTIONS, SQUAD_ARTICLES = 300, 16
"""The articles are the first by name, of 32."""
TIMED, TIMED_PAGES = "JOHNSON_JOHNSON_2022Q4_EARNINGS.pdf", 24
"""What starting and adding are timed with."""


@dataclass(frozen=True, slots=True)
class Set:
    title: str
    folder: Path
    files: tuple[str, ...]
    questions: tuple[Question, ...]


def sets_of(data: Path, work: Path, filings: int) -> dict[str, Set]:
    """Both sets, by name; of FinanceBench the `filings` filings with the fewest pages a question.

    SQuAD's paragraphs are written below `work`, under names that say nothing of them.
    """
    pdfs = data / "financebench" / "pdfs"
    asked_of = Counter(each.source for each in financebench(data))
    pages = {name: len(pypdfium2.PdfDocument(pdfs / name)) for name in asked_of}
    chosen = sorted(sorted(asked_of, key=lambda name: (pages[name] / asked_of[name], name))[:filings])
    found = {
        "financebench": Set(
            "FinanceBench",
            pdfs,
            tuple(chosen),
            tuple(each for each in financebench(data) if each.source in chosen),
        )
    }
    folder = work / "squad"
    folder.mkdir(parents=True, exist_ok=True)
    articles = json.loads((data / "squad" / "v1_train.json").read_text(encoding="utf-8"))["data"][:SQUAD_ARTICLES]
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    # In the order of a hash: neighbours in the file are no neighbours in the article.
    paragraphs.sort(key=lambda paragraph: hashlib.sha256(paragraph["context"].encode()).digest())
    asked = []
    for number, paragraph in enumerate(paragraphs, start=1):
        name = f"text-{number:04}.txt"
        (folder / name).write_text(paragraph["context"], encoding="utf-8")
        asked += [(each["id"], Question(each["question"].strip(), name, frozenset({1}))) for each in paragraph["qas"]]
    asked.sort(key=lambda pair: hashlib.sha256(pair[0].encode()).digest())
    found["squad"] = Set(
        "SQuAD",
        folder,
        tuple(f"text-{number:04}.txt" for number in range(1, len(paragraphs) + 1)),
        tuple(each for _, each in asked[:SQUAD_QUESTIONS]),
    )
    return found
