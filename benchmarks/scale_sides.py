"""What benchmarks.scale compares: each side opens a folder, takes documents in, and finds chunks by their numbers."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import faiss
import numpy as np
from numpy.typing import NDArray

from benchmarks.scale_chunks import MadeDocument
from crag.core.protocols import SearchQuery
from crag.core.types import Chunk, Document
from crag.index.chunk_index import Candidates, ChunkIndex, Contents, Numbers
from crag.storage.library import Library

K = 400
"""Candidates asked of an index."""
SHOWN = 10
"""Chunks asked of a library."""
_PAGE_CHUNKS = 5


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its search words, and its vector (dimension,)."""

    text: str
    words: list[str]
    vector: NDArray[np.float32]


class Searched(Protocol):
    """A side that is open."""

    @property
    def size(self) -> int: ...

    def add(self, documents: Sequence[MadeDocument]) -> None:
        """Take documents in; they can be found after `commit`."""
        ...

    def commit(self, generation: int) -> None: ...

    def find(self, asked: Asked) -> Numbers:
        """What a search brings."""
        ...

    def nearest(self, asked: Asked) -> Numbers:
        """What the search by the vector has found, for the recall."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """`most`: it is tried with no more chunks unless it is asked for by name. `needs`: the modules it is made of."""

    label: str
    opened: Callable[[Path, Contents], Searched]
    needs: tuple[str, ...]
    most: int = 1_000_000

    @property
    def missing(self) -> str:
        """The module that is not there, or nothing."""
        return next((name for name in self.needs if importlib.util.find_spec(name) is None), "")

    def code(self) -> str:
        """Tells one state of its code from another: what an older one built is built again."""
        said = hashlib.sha256()
        for name in self.needs:
            for file in _files(name):
                said.update(file.read_bytes())
        return said.hexdigest()[:12]


def _files(module: str) -> list[Path]:
    """The module's file; of a package of the engine, the whole package, which its modules share."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return []
    file = Path(spec.origin)
    return sorted(file.parent.glob("*.py")) if module.startswith("crag.") else [file]


# ---- chunk indexes -------------------------------------------------------------------------------------------------


class OfIndex:
    """A ChunkIndex as a side."""

    def __init__(self, index: ChunkIndex) -> None:
        self._index: Any = index

    @property
    def size(self) -> int:
        return int(self._index.size)

    def add(self, documents: Sequence[MadeDocument]) -> None:
        self._index.add([document.batch for document in documents])

    def commit(self, generation: int) -> None:
        self._index.commit(generation)

    def find(self, asked: Asked) -> Numbers:
        found: Candidates = self._index.top(asked.vector, [asked.words], K)
        return found.numbers

    def nearest(self, asked: Asked) -> Numbers:
        return self.find(asked)

    def close(self) -> None:
        self._index.close()


class Flat:
    """FAISS's flat index alone: vectors without words, one file that each commit writes whole."""

    def __init__(self, folder: Path, contents: Contents) -> None:
        self._file, self._numbers_file = folder / "vectors.faiss", folder / "numbers.npy"
        made = self._file.exists()
        self._index: Any = faiss.read_index(str(self._file)) if made else faiss.IndexFlatIP(contents.dimension)
        self._numbers: Numbers = np.load(self._numbers_file) if made else np.zeros(0, np.int64)

    @property
    def size(self) -> int:
        return len(self._numbers)

    def add(self, documents: Sequence[MadeDocument]) -> None:
        for document in documents:
            self._index.add(document.batch.vectors)
        self._numbers = np.concatenate([self._numbers, *(document.batch.numbers for document in documents)])

    def commit(self, generation: int) -> None:
        del generation
        faiss.write_index(self._index, str(self._file))
        np.save(self._numbers_file, self._numbers)

    def find(self, asked: Asked) -> Numbers:
        return np.asarray(self._numbers[self._index.search(asked.vector[None], K)[1][0]], np.int64)

    def nearest(self, asked: Asked) -> Numbers:
        return self.find(asked)

    def close(self) -> None:
        self._index.reset()


class OfEmbedded(OfIndex):
    """The embedded index without a library: there are no records to read from what its file lacks at the next start."""

    def close(self) -> None:
        self._index.wait_for_writers()
        self._index._allowed = 0
        self._index._write_vectors()
        super().close()


def _embedded(folder: Path, contents: Contents) -> Searched:
    from crag.index.embedded import EmbeddedIndex

    return OfEmbedded(EmbeddedIndex(folder, contents))


def _milvus(folder: Path, contents: Contents) -> Searched:
    from crag.index.milvus import MilvusIndex

    return OfIndex(MilvusIndex(str(folder / "index.db"), contents))


# ---- the whole library ---------------------------------------------------------------------------------------------


class _Given:
    """An embedder of questions whose vectors are known."""

    def __init__(self, contents: Contents) -> None:
        self.id, self.dimension = contents.model, contents.dimension
        self.vector = np.zeros(contents.dimension, np.float32)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise NotImplementedError(f"{len(texts)} texts: the benchmark embeds nothing")

    def embed_question(self, text: str) -> NDArray[np.float32]:
        del text
        return self.vector


class OfLibrary:
    """The library as the product uses it: records, index and ranking, and ten whole chunks read at the end."""

    def __init__(self, folder: Path, contents: Contents) -> None:
        self._embedder = _Given(contents)
        self._library = Library(folder, self._embedder)

    @property
    def size(self) -> int:
        return self._library.size[1]

    def add(self, documents: Sequence[MadeDocument]) -> None:
        for made in documents:
            chunks = _chunks(made)
            document = Document(
                id=chunks[0].document_id,
                name=made.name,
                title=made.title,
                size=0,
                pages=chunks[-1].page,
                chunks=len(chunks),
                added_at="2026-01-01T00:00:00+00:00",
                model=self._embedder.id,
            )
            self._library.documents.add(document, str(made.batch.document).encode(), chunks, made.batch.vectors)

    def commit(self, generation: int) -> None:
        """The records have it already; now the index, too, as after a folder was added."""
        self._library.refresh_index()

    def find(self, asked: Asked) -> Numbers:
        self._embedder.vector = asked.vector
        return _numbers(self._library.search(asked.text, SHOWN))

    def nearest(self, asked: Asked) -> Numbers:
        self._embedder.vector = asked.vector
        return _numbers(self._library.find(SearchQuery(asked.text, SHOWN, mode="dense")))

    def close(self) -> None:
        self._library.close()


def _chunks(made: MadeDocument) -> list[Chunk]:
    id = hashlib.sha256(str(made.batch.document).encode()).hexdigest()
    return [
        Chunk(
            id=f"c{number}",
            document_id=id,
            source=made.name,
            title=made.title,
            page=place // _PAGE_CHUNKS + 1,
            ordinal=place,
            start=0,
            end=len(text),
            text=text,
            context=context,
        )
        for place, (number, context, text) in enumerate(
            zip(made.batch.numbers, made.batch.contexts, made.batch.texts, strict=True)
        )
    ]


def _numbers(found: Sequence[Any]) -> Numbers:
    return np.array([int(each.chunk.id[1:]) for each in found], np.int64)


SIDES = {
    "flat": Side(label="FAISS flat alone, no words", opened=Flat, needs=("benchmarks.scale_sides",)),
    "embedded": Side(label="the embedded index", opened=_embedded, needs=("crag.index.embedded",)),
    "milvus-lite": Side(label="Milvus Lite", opened=_milvus, most=100_000, needs=("crag.index.milvus",)),
    "library": Side(
        label="the whole library", opened=OfLibrary, needs=("crag.storage.library", "crag.index.chunk_index")
    ),
}
