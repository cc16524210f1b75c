"""The sets: PDFs of FinanceBench and MMLongBench, whose gold is pages; texts of SQuAD and ClapNQ, each a file."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pypdfium2

from benchmarks.evaluator_sets import lines
from benchmarks.retrieval import Question, financebench, mmlongbench

SQUAD_QUESTIONS, SQUAD_ARTICLES = 300, 16
"""The articles are the first by name, of 32."""
TIMED, TIMED_PAGES = "JOHNSON_JOHNSON_2022Q4_EARNINGS.pdf", 24
"""What starting and adding are timed with."""
PAGED = ("financebench", "mmlongbench")
"""The sets of PDFs; of the others each text is a file."""
MADE_CHARACTERS, MADE_QUESTIONS = 450, 50
"""The most characters of a made text, and how many questions are asked of made ones."""
GROUPED = 100
"""Made texts in one file for our side, which starts a process for each file that it reads."""


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
    articles = json.loads((data / "squad" / "v1_train.json").read_text(encoding="utf-8"))["data"][:SQUAD_ARTICLES]
    asked = {
        paragraph["context"]: [(each["id"], each["question"].strip()) for each in paragraph["qas"]]
        for article in articles
        for paragraph in article["paragraphs"]
    }
    found["squad"] = _texts("SQuAD", asked, work / "squad", SQUAD_QUESTIONS)
    asked = {
        row["passages"][0]["text"]: [(row["id"], row["input"])] if part == "answerable" else []
        for part in ("answerable", "unanswerable")
        for row in lines(data / "clapnq" / f"{part}.jsonl")
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


def made_texts(data: Path, work: Path, count: int, grouped: int) -> Set:
    """`count` texts of at most 450 characters, which no side's splitter cuts, `grouped` in one file.

    Each is a paragraph of SQuAD to the end of a sentence, under a number of its own, so no two are the same.
    """
    articles = json.loads((data / "squad" / "v1_train.json").read_text(encoding="utf-8"))["data"]
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    said = [_cut(paragraph["context"]) for paragraph in paragraphs]
    folder = work / f"made-{grouped}"
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for first in range(0, count, grouped):
        names.append(f"text-{first:06}.txt")
        texts = [f"Record {number}. {said[number % len(said)]}" for number in range(first, min(first + grouped, count))]
        if not (folder / names[-1]).exists():
            (folder / names[-1]).write_text("\n\n".join(texts), encoding="utf-8")
    asked = (each["question"].strip() for paragraph in paragraphs for each in paragraph["qas"][:1])
    questions = [Question(text, "", frozenset()) for text in islice(asked, MADE_QUESTIONS)]
    return Set("made", folder, tuple(names), tuple(questions))


def _cut(text: str) -> str:
    """Its first sentences, as far as they fit."""
    return text if len(text) <= MADE_CHARACTERS else text[: text.rfind(". ", 0, MADE_CHARACTERS) + 1 or MADE_CHARACTERS]
