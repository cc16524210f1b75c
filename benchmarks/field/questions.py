"""The sets: PDFs of FinanceBench and MMLongBench, whose gold is pages; texts of SQuAD and ClapNQ, each a file."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pypdfium2

from benchmarks.retrieval import Question, financebench, mmlongbench
from corpora.rows import read_articles, read_rows

SQUAD_QUESTIONS, SQUAD_ARTICLES = 300, 16
"""The articles are the first by name, of 32."""
TIMED, TIMED_PAGES = "JOHNSON_JOHNSON_2022Q4_EARNINGS.pdf", 24
"""What starting and adding are timed with."""
PAGED = ("financebench", "mmlongbench")
"""The sets of PDFs; of the others each text is a file."""


@dataclass(frozen=True, slots=True)
class Set:
    title: str
    folder: Path
    files: tuple[str, ...]
    questions: tuple[Question, ...]


def sets_of(data: Path, work: Path, filings: int) -> dict[str, Set]:
    """All sets, by name; of FinanceBench the `filings` filings with the fewest pages a question.

    Texts are written below `work`, under names that say nothing of them.
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
    pdfs = data / "mmlongbench" / "pdfs"
    files = tuple(sorted(path.name for path in pdfs.glob("*.pdf")))
    found["mmlongbench"] = Set("MMLongBench", pdfs, files, tuple(mmlongbench(data)))
    articles = read_articles(data, "v1_train")[:SQUAD_ARTICLES]
    asked = {
        paragraph["context"]: [(each["id"], each["question"].strip()) for each in paragraph["qas"]]
        for article in articles
        for paragraph in article["paragraphs"]
    }
    found["squad"] = _texts("SQuAD", asked, work / "squad", SQUAD_QUESTIONS)
    asked = {
        row["passages"][0]["text"]: [(row["id"], row["input"])] if part == "answerable" else []
        for part in ("answerable", "unanswerable")
        for row in read_rows(data / "clapnq" / f"{part}.jsonl")
    }
    found["clapnq"] = _texts("ClapNQ", asked, work / "clapnq", len(asked))
    return found


def _texts(title: str, asked: Mapping[str, Sequence[tuple[str, str]]], folder: Path, most: int) -> Set:
    """Texts with the (id, question) pairs asked of each, written as files under names that say nothing of them."""
    folder.mkdir(parents=True, exist_ok=True)
    questions, names = [], []
    # In the order of a hash: neighbours in the data are no neighbours here.
    for number, text in enumerate(sorted(asked, key=lambda each: _digest(each)), start=1):
        names.append(f"text-{number:04}.txt")
        (folder / names[-1]).write_text(text, encoding="utf-8")
        questions += [(id, Question(question, names[-1], frozenset({1}))) for id, question in asked[text]]
    questions.sort(key=lambda pair: _digest(pair[0]))
    return Set(title, folder, tuple(names), tuple(each for _, each in questions[:most]))


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
