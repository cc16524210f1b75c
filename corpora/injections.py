"""Texts that speak to a language model, those of the shared folder and those written for this project, and others.

Of the project's own a third is marked `apart`, and of the shared ones a half by hash: nothing is fitted
on these.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pypdfium2

from corpora.places import DATA
from corpora.rows import read_rows

PDFS: Mapping[str, Sequence[str]] = {
    "manuals, papers, brochures": ("mmlongbench/pdfs", "pdfs_real"),
    "filings": ("financebench/pdfs",),
    "reports of agencies": ("public_domain",),
}
"""Folders of documents that speak to readers; half of each is apart."""


@dataclass(frozen=True, slots=True)
class Planted:
    """An instruction. `canary`: the word it demands, empty where it demands none. `apart`: not developed on."""

    kind: str
    text: str
    canary: str
    apart: bool
    shared: bool


def planted() -> Iterator[Planted]:
    """Both collections."""
    found = json.loads((DATA / "injection/text_attack_train.json").read_text(encoding="utf-8"))
    for kind, texts in found.items():
        yield from (Planted(kind, text, "", _apart(text), True) for text in texts)
    for row in read_rows(Path(__file__).with_suffix(".jsonl")):
        canary = "Zor" + hashlib.sha256(row["text"].encode()).hexdigest()[:5].translate(
            str.maketrans("0123456789", "aeioubdgkl")
        )
        yield Planted(row["kind"], row["text"].replace("{c}", canary), canary, bool(row.get("apart")), False)


def _apart(text: str) -> bool:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % 2 == 0


def contexts(articles: Iterable[Mapping[str, Any]]) -> list[str]:
    """The paragraphs of articles of SQuAD."""
    return [each["context"] for article in articles for each in article["paragraphs"]]


def files(data: Path, folders: Iterable[str], *, apart: bool) -> list[Path]:
    """The PDFs of these folders that are apart, or the others."""
    found = sorted(each for folder in folders for each in (data / folder).rglob("*.pdf"))
    return [each for each in found if _apart(each.name) is apart]


def pages(files: list[Path]) -> Iterator[str]:
    """The text of every page of the PDFs."""
    for file in files:
        document = pypdfium2.PdfDocument(file)
        for page in document:
            yield page.get_textpage().get_text_range().replace("\r\n", "\n")
