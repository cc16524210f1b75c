"""Page hit rates of the library's search beside the usual recipe's, on real questions over real PDFs.

Run `python -m benchmarks.retrieval`. Prints a table and writes results/retrieval.json and results/retrieval.md;
Vectors are cached by text in the system's temporary folder (or --cache), so a second run takes half a minute.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pypdfium2
from numpy.typing import NDArray

from benchmarks.pages import machine, parse, publish
from corpora.places import is_missing, parser_of
from corpora.rows import read_rows
from crag.core.config import AppConfig
from crag.core.errors import DocumentError
from crag.core.protocols import Embedder, QuestionEmbedder, SearchQuery
from crag.core.types import Chunk, Document
from crag.ingest.chunking import CHUNKING_ID, chunk_document
from crag.ingest.files import content_id
from crag.ingest.reader import read_document
from crag.models.runtime import E5
from crag.storage.library import Library

RRF_CONSTANT = 60
DEPTH = 100
"""How deep the two rankings go that plain reciprocal rank fusion joins."""

Place = tuple[str, int]
"""A file's name and a page from 1."""


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    source: str
    pages: frozenset[int]


@dataclass(frozen=True, slots=True)
class Read:
    """One file as the product reads it."""

    document: Document
    chunks: tuple[Chunk, ...]
    vectors: NDArray[np.float32]


def financebench(data: Path) -> list[Question]:
    """All questions; their evidence pages count from 0."""
    rows = read_rows(data / "financebench" / "questions.jsonl")
    return [
        Question(
            row["question"],
            f"{row['doc_name']}.pdf",
            frozenset(each["evidence_page_num"] + 1 for each in row["evidence"]),
        )
        for row in rows
    ]


def mmlongbench(data: Path) -> list[Question]:
    """The questions that text can answer: not those on charts and figures, nor those without an answer."""
    found = []
    for row in read_rows(data / "mmlongbench" / "questions.jsonl"):
        pages = frozenset(int(page) for page in ast.literal_eval(row["evidence_pages"]))
        pictures = {"Chart", "Figure"} & set(ast.literal_eval(row["evidence_sources"]))
        if pages and not pictures and row["answer"] != "Not answerable":
            found.append(Question(row["question"], row["doc_id"], pages))
    return found


class CachedEmbedder:
    """A shipped model; vectors of texts embedded before come from a file, whatever cut the texts."""

    def __init__(self, folder: Path, model: Embedder | None = None) -> None:
        self._model = model or E5()
        self.id, self.dimension = self._model.id, self._model.dimension
        self._path = folder / f"{self.id}.npz"
        self._rows: dict[str, NDArray[np.float32]] = {}
        if self._path.exists():
            with np.load(self._path) as stored:
                self._rows = dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (len(texts), dimension)."""
        keys = [hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._rows}
        self._rows.update(zip(new, self._model.embed(list(new.values())), strict=True))
        return np.stack([self._rows[key] for key in keys]) if keys else np.zeros((0, self.dimension), np.float32)

    def embed_question(self, text: str) -> NDArray[np.float32]:
        """Shape (dimension,), as the model reads questions."""
        if not isinstance(self._model, QuestionEmbedder):
            return self.embed([text])[0]
        key = hashlib.sha256(f"question: {text}".encode("utf-8", "replace")).hexdigest()
        if key not in self._rows:
            self._rows[key] = self._model.embed_question(text)
        return self._rows[key]

    def save(self) -> None:
        """Write what was embedded, in one step."""
        part = self._path.with_suffix(".part.npz")
        np.savez(part, keys=np.array(list(self._rows)), vectors=np.array(list(self._rows.values())))
        os.replace(part, self._path)


def read_ours(files: Sequence[Path], embedder: CachedEmbedder) -> list[Read]:
    """The files through the product's reader, chunker and embedder; a scan without text is left out, said aloud."""
    found = []
    for at, path in enumerate(files, start=1):
        data = path.read_bytes()
        began = time.perf_counter()
        try:
            parsed = read_document(data, path.name, AppConfig())
        except DocumentError as error:
            print(f"  {path.name}: {error.message}", file=sys.stderr)
            continue
        chunks = tuple(chunk_document(parsed, content_id(data), path.name))
        document = Document(
            id=content_id(data),
            name=path.name,
            title=parsed.title,
            size=len(data),
            pages=len(parsed.pages),
            chunks=len(chunks),
            added_at="2026-01-01T00:00:00+00:00",
            model=embedder.id,
        )
        found.append(Read(document, chunks, embedder.embed([chunk.indexed_text for chunk in chunks])))
        embedder.save()  # a run that is broken off goes on here
        print(f"  {at}/{len(files)} {path.name}: {time.perf_counter() - began:.1f} s", file=sys.stderr)
    return found


def read_recipe(files: Sequence[Path], embedder: CachedEmbedder) -> tuple[list[Place], NDArray[np.float32]]:
    """The files by the usual recipe: pypdfium2's text page by page, recursive splitter 500/50, the same model."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter  # for this side alone, so not always there

    splitter = RecursiveCharacterTextSplitter(chunk_size=500, chunk_overlap=50)
    places: list[Place] = []
    texts: list[str] = []
    for path in files:
        pdf = pypdfium2.PdfDocument(path.read_bytes())
        for number in range(1, len(pdf) + 1):
            cut = splitter.split_text(pdf[number - 1].get_textpage().get_text_range())
            texts += cut
            places += [(path.name, number)] * len(cut)
    return places, embedder.embed(texts)


def build(folder: Path, reads: Iterable[Read], embedder: CachedEmbedder) -> Library:
    """A library of what was read. The bytes don't matter to search, so an empty file stands for each."""
    library = Library(folder, embedder)
    for read in reads:
        library.documents.add(read.document, b"", read.chunks, read.vectors)
    library.refresh_index()
    return library


def took(questions: Sequence[Question], library: Library) -> dict[str, float]:
    """Milliseconds of a search on the clock, its question embedded already: the median and the 95th percentile."""
    seconds = []
    for question in questions:
        began = time.perf_counter()
        library.search(question.text, 10)
        seconds.append(time.perf_counter() - began)
    return {
        "p50": round(float(np.median(seconds)) * 1000, 1),
        "p95": round(float(np.percentile(seconds, 95)) * 1000, 1),
    }


def score(questions: Sequence[Question], ranking: Callable[[Question], list[Place]]) -> dict[str, float]:
    """Shares of questions with a gold page among the first 5 and 10 chunks, and the mean reciprocal rank (at 10)."""
    ranks = []
    for question in questions:
        places = ranking(question)[:10]
        ranks.append(
            next(
                (
                    rank
                    for rank, (source, page) in enumerate(places, 1)
                    if source == question.source and page in question.pages
                ),
                0,
            )
        )
    count = len(questions)
    return {
        "hit@5": sum(0 < rank <= 5 for rank in ranks) / count,
        "hit@10": sum(rank > 0 for rank in ranks) / count,
        "MRR": sum(1 / rank for rank in ranks if rank) / count,
    }


def fuse(rankings: Sequence[Sequence[str]]) -> list[str]:
    """Plain reciprocal rank fusion."""
    total: dict[str, float] = {}
    for ranking in rankings:
        for rank, id in enumerate(ranking, 1):
            total[id] = total.get(id, 0.0) + 1 / (RRF_CONSTANT + rank)
    return sorted(total, key=lambda id: -total[id])


def measure(
    name: str, questions: Sequence[Question], files: Sequence[Path], embedder: CachedEmbedder
) -> dict[str, Any]:
    """All searches on one set, over all its documents in one library and inside the right document alone."""
    print(f"{name}: {len(questions)} questions, {len(files)} files", file=sys.stderr)
    reads = read_ours(files, embedder)
    places, vectors = read_recipe(files, embedder)
    index = faiss.IndexFlatIP(embedder.dimension)
    index.add(vectors)
    queries = {question: embedder.embed_question(question.text) for question in questions}
    embedder.save()

    def recipe(question: Question) -> list[Place]:
        return [places[row] for row in index.search(queries[question][None], 10)[1][0]]

    def recipe_inside(question: Question) -> list[Place]:
        rows = np.flatnonzero([source == question.source for source, _ in places])
        order = np.argsort(-(vectors[rows] @ queries[question]), kind="stable")[:10]
        return [places[rows[row]] for row in order]

    def of(library: Library, mode: Any) -> Callable[[Question], list[Place]]:
        return lambda question: [
            (found.chunk.source, found.chunk.page) for found in library.find(SearchQuery(question.text, 10, mode=mode))
        ]

    def rrf(question: Question) -> list[Place]:
        lists = [whole.find(SearchQuery(question.text, DEPTH, mode=mode)) for mode in ("dense", "bm25")]
        chunks = {found.chunk.id: found.chunk for ranking in lists for found in ranking}
        fused = fuse([[found.chunk.id for found in ranking] for ranking in lists])
        return [(chunks[id].source, chunks[id].page) for id in fused]

    with tempfile.TemporaryDirectory() as folder:
        whole = build(Path(folder) / "all", reads, embedder)
        alone = {
            read.document.name: build(Path(folder) / read.document.id, [read], embedder)
            for read in reads
            if read.chunks
        }

        def inside(mode: Any) -> Callable[[Question], list[Place]]:
            return lambda question: of(alone[question.source], mode)(question) if question.source in alone else []

        table = {
            "usual recipe, dense": (score(questions, recipe), score(questions, recipe_inside)),
            "dense": (score(questions, of(whole, "dense")), score(questions, inside("dense"))),
            "BM25": (score(questions, of(whole, "bm25")), score(questions, inside("bm25"))),
            "plain reciprocal rank fusion": (score(questions, rrf), None),
            "hybrid (the default)": (score(questions, of(whole, "hybrid")), score(questions, inside("hybrid"))),
        }
        milliseconds, size = took(questions, whole), whole.size
        for library in (whole, *alone.values()):
            library.close()
    return {
        "questions": len(questions),
        "documents": size[0],
        "chunks": size[1],
        "recipe chunks": len(places),
        "milliseconds": milliseconds,
        "results": {
            label: {"all documents": overall, "inside the right document": within}
            for label, (overall, within) in table.items()
        },
    }


def report(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    lines = [
        "# Retrieval",
        "",
        "Made by `python -m benchmarks.retrieval`. Page hit rate: the share of questions with a gold page among the",
        "first 5 or 10 chunks; MRR at 10. The usual recipe is pypdfium2's text, a recursive splitter (500/50) and",
        f"dense search; all rows embed with {results['model']}, so they differ by reading and search alone.",
        f"Chunking {results['chunking']}.",
    ]
    for name, found in results["sets"].items():
        lines += [
            "",
            f"## {name}",
            "",
            f"{found['questions']} questions, {found['documents']} documents, {found['chunks']} chunks "
            f"({found['recipe chunks']} by the recipe). A search takes {found['milliseconds']['p50']} ms at the median "
            f"and {found['milliseconds']['p95']} ms at p95, embedding the question not counted.",
            "",
            "| search | hit@5 | hit@10 | MRR | inside the right document: hit@5 | hit@10 | MRR |",
            "|---|---|---|---|---|---|---|",
        ]
        for label, both in found["results"].items():
            cells = [
                f"{part[key]:.3f}" if part else "–"
                for part in (both["all documents"], both["inside the right document"])
                for key in ("hit@5", "hit@10", "MRR")
            ]
            lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "crag-retrieval-cache")
    options = parse(parser)
    if is_missing(options.data, "financebench", "mmlongbench"):
        return 2
    options.cache.mkdir(parents=True, exist_ok=True)
    embedder = CachedEmbedder(options.cache)
    sets = {"FinanceBench": ("financebench", financebench), "MMLongBench": ("mmlongbench", mmlongbench)}
    results = {
        "model": embedder.id,
        "chunking": CHUNKING_ID,
        "machine": machine(),
        "sets": {
            label: measure(label, load(options.data), sorted((options.data / folder / "pdfs").glob("*.pdf")), embedder)
            for label, (folder, load) in sets.items()
        },
    }
    publish("retrieval", report(results), results, folder=options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
