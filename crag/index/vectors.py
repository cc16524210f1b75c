"""The vectors of an index: one file that FAISS searches, and rows after it that are compared one by one."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from faiss.contrib import inspect_tools
from numpy.typing import NDArray

from crag.index.chunk_index import Batch, Contents, Numbers, Scores, Vectors
from crag.index.stamp import IndexCorruptError, Stamped, end_with_stamp, translate_corruption

_faiss: Any = faiss  # Its type stubs know C++ alone, and not what Python adds.
_tools: Any = inspect_tools

Mask = NDArray[np.bool_]

EXACT = 20_000
"""Up to this many vectors are compared one by one; from there on cells are faster."""
_CELLS_PER_ROOT = 4
"""Cells for each unit of the square root of the number of vectors."""
_PROBED = 256
"""Cells that a search looks into. How many there are in all hardly changes how many it takes."""
_RARER = 0.25
"""By which power of it a search looks into more cells where only a share of the vectors may be found."""
_SAMPLE = 40
"""Vectors that the centre of each cell is found from; FAISS asks for 39."""
_BLOCK = 16_384


def places(among: Numbers, numbers: Numbers) -> NDArray[np.int64]:
    """Where each of the numbers stands in `among`, which is ascending; -1 where it does not."""
    if not len(among):
        return np.full(len(numbers), -1, np.int64)
    found = np.minimum(np.searchsorted(among, numbers), len(among) - 1)
    return np.where(among[found] == numbers, found, -1)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """n chunks as they are: `numbers` (n,) ascending, `documents` (n,), `vectors` (n, dimension). Never changed."""

    numbers: Numbers
    documents: Numbers
    vectors: Vectors

    @classmethod
    def of(cls, batches: Sequence[Batch], dimension: int) -> Rows:
        """The chunks of all batches, each number once, as it was added last."""
        numbers = np.concatenate([np.zeros(0, np.int64), *(each.numbers for each in batches)])
        documents = np.repeat([each.document for each in batches], [len(each.numbers) for each in batches])
        vectors = np.concatenate([np.zeros((0, dimension), np.float32), *(each.vectors for each in batches)])
        last = len(numbers) - 1 - np.unique(numbers[::-1], return_index=True)[1]
        return cls(numbers[last].astype(np.int64), documents[last].astype(np.int64), vectors[last].astype(np.float32))

    def where(self, mask: Mask) -> Rows:
        return self if mask.all() else Rows(self.numbers[mask], self.documents[mask], self.vectors[mask])

    def joined(self, others: Rows) -> Rows:
        """These rows and others."""
        parts = ("numbers", "documents", "vectors")
        numbers, documents, vectors = (np.concatenate([getattr(self, each), getattr(others, each)]) for each in parts)
        order = np.argsort(numbers, kind="stable")
        return Rows(numbers[order], documents[order], vectors[order])

    def cosines(self, vector: Vectors) -> Scores:
        """The cosine of `vector` with each row, in this thread.

        NumPy's product would share so little work among all cores, and wait for each: on a busy machine 60 times as
        long.
        """
        one, many = np.ascontiguousarray(vector, np.float32), np.ascontiguousarray(self.vectors, np.float32)
        if one.shape != many.shape[1:]:
            raise ValueError(f"a vector of {one.shape} among {many.shape}")
        found: Scores = np.empty(len(many), np.float32)
        _faiss.fvec_inner_products_ny(*map(_faiss.swig_ptr, (found, one, many)), many.shape[1], len(many))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """n vectors of 8 bits a number in cells of neighbours, mapped from their file.

    `numbers` (n,) ascending and `documents` (n,) say which chunks they are, `alive` (n,) which were not deleted since.
    """

    index: Any
    numbers: Numbers
    documents: Numbers
    alive: Mask

    @classmethod
    def none(cls) -> Cells:
        return cls(None, np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_))

    def where(self, mask: Mask) -> Cells:
        """The same with no more than these alive."""
        return replace(self, alive=self.alive & mask)

    def selector(self, mask: Mask) -> Any:
        """What restricts FAISS to the rows of the mask; None where that is all rows."""
        if mask.all():
            return None
        bits = np.zeros(self.numbers[-1] + 1, np.bool_)
        bits[self.numbers[mask]] = True
        return _faiss.IDSelectorBitmap(np.packbits(bits, bitorder="little"))

    def best(self, vector: Vectors, k: int, count: int, selector: Any) -> tuple[Numbers, Scores]:
        """`k` of the `count` chunks that the selector lets pass, near to `vector`, and about their cosines.

        `count` is more than `k`. The fewer pass, the more cells are looked into, and all of them before fewer than `k`
        are found. Raises IndexCorruptError.
        """
        cells = self.index.nlist
        probed = min(cells, round(_PROBED * (len(self.numbers) / count) ** _RARER))
        while True:
            parameters = _faiss.SearchParametersIVF(sel=selector, nprobe=probed)
            with translate_corruption("the vectors can't be searched"):
                scores, numbers = self.index.search(vector[None], k, params=parameters)
            found = numbers[0] >= 0
            if found.all() or probed == cells:
                return numbers[0][found], scores[0][found]
            probed = min(cells, 4 * probed)

    def decoded(self) -> Iterator[tuple[Numbers, Vectors]]:
        """The living chunks and their vectors as far as 8 bits tell them, a cell at a time."""
        for cell in range(self.index.nlist if self.index else 0):
            numbers, codes = _tools.get_invlist(self.index.invlists, cell)
            living = self.alive[np.searchsorted(self.numbers, numbers)]
            centre = self.index.quantizer.reconstruct(cell)
            yield numbers[living], self.index.sq.decode(np.ascontiguousarray(codes[living])) + centre


@dataclass(frozen=True, slots=True, eq=False)
class InFile:
    """What a file holds: cells, or rows where they are few."""

    generation: int
    cells: Cells
    rows: Rows


def read(path: Path, contents: Contents) -> InFile | None:
    """What a file holds; None where there is none of these contents. Raises IndexCorruptError."""
    file = Stamped.read(path, contents)
    if file is None:
        return None
    # FAISS trusts what it reads, so nothing unverified reaches it. It reads no further than it wrote.
    with translate_corruption("the vectors can't be read"):
        index = _faiss.read_index(str(path), faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY)
    if index.ntotal != file.count or index.d != contents.dimension:
        raise IndexCorruptError("the vectors are others")
    table = file.body[len(file.body) - 16 * file.count :].tobytes()
    numbers, documents = np.frombuffer(table, "<i8").astype(np.int64).reshape(2, -1)
    if isinstance(index, faiss.IndexIVF):
        cells = Cells(index, numbers, documents, np.ones(file.count, np.bool_))
        return InFile(file.generation, cells, Rows.of([], contents.dimension))
    return InFile(file.generation, Cells.none(), Rows(numbers, documents, index.index.reconstruct_n(0, file.count)))


def write(path: Path, into: Path, contents: Contents, held: InFile, check_stop: Callable[[], None]) -> None:
    """Write into a file what is alive in the cells, which stand at `path`, and the rows after them.

    `check_stop` is called again and again, and may raise to end it. Raises OSError and IndexCorruptError.
    """
    cells, rows = held.cells, held.rows
    numbers = np.concatenate([cells.numbers[cells.alive], rows.numbers])
    documents = np.concatenate([cells.documents[cells.alive], rows.documents])
    order = np.argsort(numbers, kind="stable")
    with translate_corruption("the vectors can't be written"):
        index = _index_for(len(numbers), path, cells, rows, check_stop)
        for start in range(0, len(rows.numbers), _BLOCK):
            check_stop()
            index.add_with_ids(rows.vectors[start : start + _BLOCK], rows.numbers[start : start + _BLOCK])
        _faiss.write_index(index, str(into))
    with into.open("ab") as file:
        file.write(np.stack([numbers[order], documents[order]]).astype("<i8").tobytes())
    end_with_stamp(into, contents, held.generation, len(numbers))


def _index_for(total: int, path: Path, cells: Cells, rows: Rows, check_stop: Callable[[], None]) -> Any:
    """FAISS's index with what is alive in the cells, for `total` in all. Cells stay until there should be twice as
    many.
    """
    dimension, wanted = rows.vectors.shape[1], max(1, round(_CELLS_PER_ROOT * total**0.5))
    if cells.index is None and total <= EXACT:
        return _faiss.index_factory(dimension, "IDMap,Flat", faiss.METRIC_INNER_PRODUCT)
    if cells.index and wanted < 2 * cells.index.nlist:
        index = _faiss.read_index(str(path))
        index.remove_ids(cells.numbers[~cells.alive])
        return index
    index = _faiss.index_factory(dimension, f"IVF{wanted},SQ8", faiss.METRIC_INNER_PRODUCT)
    draw, share = np.random.default_rng(0), _SAMPLE * wanted / total
    blocks = chain((vectors for _, vectors in cells.decoded()), [rows.vectors])
    index.train(np.concatenate([block[draw.random(len(block)) < share] for block in blocks]))
    for numbers, vectors in cells.decoded():
        check_stop()
        index.add_with_ids(vectors, numbers)
    return index


def give_back_memory() -> None:
    """Return to the system what writing a file took: glibc would keep it, once for each thread that ever wrote one."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)
