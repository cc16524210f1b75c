"""The real chunks that the libraries of benchmarks.scale are enlarged from, embedded once and kept in a folder.

All PDFs of FinanceBench and MMLongBench and the articles of SQuAD's train share, cut and embedded as the product does,
and some hundreds of real questions about them.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.retrieval import CachedEmbedder, read_ours
from corpora.rows import read_rows
from crag.core.ingesting import Page, ParsedDocument
from crag.core.types import INDEXED_AS, Chunk
from crag.ingest.chunking import CHUNKING_ID, chunk_document
from crag.models.runtime import E5

NEIGHBOURS = 16
"""How many of the nearest other chunks are noted for each."""
_VOLUME = 200
"""Articles are bound into volumes of at least so many chunks: made documents are cut from them."""
_PAGE_PARAGRAPHS = 5
_EACH_ARTICLE = 3
"""Questions taken from each article."""
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Sources:
    """s real chunks of d documents, in reading order.

    `titles` (d,) as the documents' names and titles; `starts` (d + 1,) the first chunk of each, and s at the end;
    `vectors` (s, dimension) of length 1; `near` (s, NEIGHBOURS) the rows of the nearest other chunks, nearest first;
    `asked` (q, dimension) the vectors of `questions`.
    """

    titles: list[tuple[str, str]]
    starts: NDArray[np.int64]
    contexts: list[str]
    texts: list[str]
    vectors: NDArray[np.float32]
    near: NDArray[np.int64]
    questions: list[str]
    asked: NDArray[np.float32]
    model: str

    @property
    def id(self) -> str:
        """Tells these sources from others."""
        told = hashlib.sha256(json.dumps([self.titles, self.contexts, self.texts, self.questions]).encode())
        told.update(self.vectors.tobytes())
        return told.hexdigest()[:16]

    def save(self, folder: Path) -> None:
        """Write them to the folder, the file that says they are whole at last."""
        np.savez(folder / "sources.npz", starts=self.starts, vectors=self.vectors, near=self.near, asked=self.asked)
        said = {"format": _stamp(), "titles": self.titles, "questions": self.questions, "model": self.model}
        part = folder / "sources.part"
        part.write_text(json.dumps(said | {"contexts": self.contexts, "texts": self.texts}), encoding="utf-8")
        os.replace(part, folder / "sources.json")

    @classmethod
    def load(cls, folder: Path) -> Sources | None:
        """What was saved there, or None where nothing was, or by other rules than today's."""
        file = folder / "sources.json"
        if not file.exists():
            return None
        said = json.loads(file.read_text(encoding="utf-8"))
        if said.pop("format") != _stamp():
            return None
        said["titles"] = [(name, title) for name, title in said["titles"]]
        with np.load(folder / "sources.npz") as arrays:
            return cls(**said, **{name: arrays[name] for name in arrays.files})


def gathered(data: Path, folder: Path) -> Sources:
    """The sources of the folder, made first where they are missing: some minutes of reading and embedding."""
    found = Sources.load(folder)
    if found is None:
        folder.mkdir(parents=True, exist_ok=True)
        found = _made(data, folder)
        found.save(folder)
    return found


def neighbours(vectors: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """The rows of the `count` nearest others of each row, nearest first: shape (n, count)."""
    found = np.zeros((len(vectors), count), np.int64)
    for at in range(0, len(vectors), 1024):
        cosines = vectors[at : at + 1024] @ vectors.T
        cosines[np.arange(len(cosines)), np.arange(at, at + len(cosines))] = -np.inf
        best = np.argpartition(-cosines, count, axis=1)[:, :count]
        order = np.argsort(-np.take_along_axis(cosines, best, axis=1), axis=1)
        found[at : at + 1024] = np.take_along_axis(best, order, axis=1)
    return found


def _made(data: Path, folder: Path) -> Sources:
    embedder = CachedEmbedder(folder)
    titles: list[tuple[str, str]] = []
    chunks: list[list[Chunk]] = []
    files = [file for name in ("financebench", "mmlongbench") for file in sorted((data / name / "pdfs").glob("*.pdf"))]
    for read in read_ours(files, embedder):
        if read.chunks:
            titles.append((read.document.name, read.document.title))
            chunks.append(list(read.chunks))
    for title, volume in _volumes(data):
        titles.append((f"{title}.pdf", title))
        chunks.append(volume)
    flat = [chunk for document in chunks for chunk in document]
    questions = _questions(data)
    print(f"  {len(flat)} chunks, {len(questions)} questions: embedding", file=sys.stderr)
    vectors = embedder.embed([chunk.indexed_text for chunk in flat])
    asked = np.stack([embedder.embed_question(question) for question in questions])
    embedder.save()
    # Some texts stand in several places (a page header alone): one of each is enough.
    _, first = np.unique(vectors, axis=0, return_index=True)
    kept = np.sort(first)
    ends = np.cumsum([len(document) for document in chunks])
    return Sources(
        titles=titles,
        starts=np.searchsorted(kept, np.concatenate([[0], ends])).astype(np.int64),
        contexts=[flat[row].context for row in kept],
        texts=[flat[row].text for row in kept],
        vectors=vectors[kept],
        near=neighbours(vectors[kept], NEIGHBOURS),
        questions=questions,
        asked=asked,
        model=embedder.id,
    )


def _volumes(data: Path) -> Iterator[tuple[str, list[Chunk]]]:
    """Articles in order, several to a volume: the volume's title, and its chunks."""
    named: list[str] = []
    volume: list[Chunk] = []
    for article in _articles(data):
        title = article["title"].replace("_", " ")
        paragraphs = [paragraph["context"].strip() for paragraph in article["paragraphs"]]
        pages = [
            Page(number=number, text="\n\n".join(paragraphs[at : at + _PAGE_PARAGRAPHS]), width=612, height=792)
            for number, at in enumerate(range(0, len(paragraphs), _PAGE_PARAGRAPHS), start=1)
        ]
        volume += chunk_document(ParsedDocument(title=title, pages=tuple(pages)), title, f"{title}.pdf")
        named.append(title)
        if len(volume) >= _VOLUME:
            yield f"{named[0]} to {named[-1]}", volume
            named, volume = [], []


def _questions(data: Path) -> list[str]:
    found = []
    for name in ("financebench", "mmlongbench"):
        found += [row["question"] for row in read_rows(data / name / "questions.jsonl")]
    for article in _articles(data):
        asked = [each["question"].strip() for paragraph in article["paragraphs"] for each in paragraph["qas"]]
        found += [asked[len(asked) * part // _EACH_ARTICLE] for part in range(_EACH_ARTICLE)]
    return list(dict.fromkeys(found))


def _articles(data: Path) -> list[dict[str, Any]]:
    """Each title once: some articles are in both versions."""
    found: dict[str, dict[str, Any]] = {}
    for name in ("v1_train.json", "v2_train.json"):
        for article in json.loads((data / "squad" / name).read_text(encoding="utf-8"))["data"]:
            found.setdefault(article["title"], article)
    return [found[title] for title in sorted(found)]


def _stamp() -> str:
    return f"{_FORMAT} {CHUNKING_ID} {INDEXED_AS} {E5().id}"
