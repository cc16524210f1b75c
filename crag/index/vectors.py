"""The vectors of an index: one file that FAISS searches, and rows after it that are compared one by one."""

from __future__ import annotations

import ctypes
import hashlib
import os
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import faiss
import numpy as np
from faiss.contrib.inspect_tools import get_invlist
from numpy.typing import NDArray

from crag.index.chunk_index import Batch, Contents, Numbers, Scores, Vectors
from crag.index.stamp import IndexCorruptError, Stamp, translate_corruption

_faiss: Any = faiss  # Its type stubs know C++ alone, and not what Python adds.

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

    def of_mask(self, mask: Mask) -> Rows:
        return self if mask.all() else Rows(self.numbers[mask], self.documents[mask], self.vectors[mask])

    def joined(self, others: Rows) -> Rows:
        """These rows and others."""
        parts = ("numbers", "documents", "vectors")
        numbers, documents, vectors = (np.concatenate([getattr(self, each), getattr(others, each)]) for each in parts)
        if (numbers[1:] > numbers[:-1]).all():
            return Rows(numbers, documents, vectors)
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
    """Vectors of 8 bits a number in cells of neighbours, mapped from their file.

    `numbers` (n,) ascending and `documents` (n,) say which chunks they are.
    """

    index: Any
    numbers: Numbers
    documents: Numbers

    def selector(self, mask: Mask) -> Any:
        """What restricts FAISS to the rows of the mask; None where that is all rows."""
        if mask.all():
            return None
        bits = np.zeros(self.numbers[-1] + 1, np.bool_)
        bits[self.numbers[mask]] = True
        return _faiss.IDSelectorBitmap(np.packbits(bits, bitorder="little"))

    def best(self, vector: Vectors, k: int, count: int, selector: Any) -> tuple[Numbers, Scores]:
        """At most `k` of the `count` chunks that the selector lets pass, near to `vector`, and about their cosines.

        The fewer pass, the more cells are looked into, and all of them before fewer than `k` are found. Raises
        IndexCorruptError.
        """
        wanted, cells = min(k, count), self.index.nlist
        if not wanted:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        probed = min(cells, round(_PROBED * (len(self.numbers) / count) ** _RARER))
        while True:
            parameters = _faiss.SearchParametersIVF(sel=selector, nprobe=probed)
            with translate_corruption("the vectors can't be searched"):
                scores, numbers = self.index.search(vector[None], wanted, params=parameters)
            found = numbers[0] >= 0
            if found.all() or probed == cells:
                return numbers[0][found], scores[0][found]
            probed = min(cells, 4 * probed)

    def decoded(self, alive: Mask) -> Iterator[tuple[Numbers, Vectors]]:
        """The living chunks and their vectors as far as 8 bits tell them, a cell at a time."""
        for cell in range(self.index.nlist):
            numbers, codes = get_invlist(self.index.invlists, cell)
            living = alive[np.searchsorted(self.numbers, numbers)]
            if living.any():
                centre = self.index.quantizer.reconstruct(cell)
                yield numbers[living], self.index.sq.decode(np.ascontiguousarray(codes[living])) + centre


# ---- the file --------------------------------------------------------------------------------------------------------

# What FAISS writes, then the numbers and documents of its vectors, the stamp, their sizes, and the SHA-256 of it all:
# FAISS reads no further than it wrote.
_SIZES = struct.Struct("<QQ")
_DIGEST = hashlib.sha256().digest_size
_END = _SIZES.size + _DIGEST
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class VectorFile:
    """What stands in a file: cells, or rows where they are few."""

    stamp: Stamp
    cells: Cells | None
    rows: Rows

    @property
    def numbers(self) -> Numbers:
        """All chunks, ascending."""
        return self.cells.numbers if self.cells else self.rows.numbers

    @classmethod
    def open(cls, path: Path, contents: Contents) -> VectorFile | None:
        """What stands at `path`; None where nothing does. Raises IndexCorruptError for what can't be believed."""
        try:
            with path.open("rb") as file:
                size = file.seek(0, 2)
                # FAISS trusts what it reads, so nothing unverified reaches it.
                if _sum(file, size - _DIGEST) != file.read(_DIGEST):
                    raise IndexCorruptError("the vectors are damaged")
                stamp, count = _read_end(file, size)
                if stamp.contents != contents:
                    raise IndexCorruptError("the vectors are of another library or model")
                file.seek(-_END - len(stamp.dump()) - 16 * count, 2)
                numbers, documents = np.frombuffer(file.read(16 * count), "<i8").astype(np.int64).reshape(2, -1)
                with translate_corruption("the vectors can't be read"):
                    index = _faiss.read_index(str(path), faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY)
                if not os.path.samestat(os.fstat(file.fileno()), path.stat()):
                    raise IndexCorruptError("the vectors were replaced while they were read")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise IndexCorruptError("the vectors can't be read") from error
        if index.ntotal != count or index.d != contents.dimension:
            raise IndexCorruptError("the vectors are others")
        if isinstance(index, faiss.IndexIVF):
            return cls(stamp, Cells(index, numbers, documents), Rows.of([], contents.dimension))
        return cls(stamp, None, Rows(numbers, documents, index.index.reconstruct_n(0, count)))


def generation_of(path: Path) -> int:
    """Which generation a file names, which is not looked at further; -1 where it names none."""
    try:
        with path.open("rb") as file:
            return _read_end(file, file.seek(0, 2))[0].generation
    except (OSError, IndexCorruptError):
        return -1


def write(
    path: Path,
    stamp: Stamp,
    cells: Cells | None,
    cells_path: Path,
    alive: Mask,
    rows: Rows,
    check_stop: Callable[[], None],
) -> None:
    """Write a file of all that is alive in `cells`, which stand at `cells_path`, and of the rows after them.

    `check_stop` is called again and again, and may raise to end it. Raises OSError and IndexCorruptError.
    """
    held = [(cells.numbers[alive], cells.documents[alive])] if cells else []
    numbers, documents = (np.concatenate(each) for each in zip(*held, (rows.numbers, rows.documents), strict=True))
    order, said = np.argsort(numbers, kind="stable"), stamp.dump()
    with translate_corruption("the vectors can't be written"):
        _faiss.write_index(_made(cells, cells_path, alive, rows, check_stop), str(path))
    with path.open("r+b") as file:
        file.seek(0, 2)
        file.write(np.stack([numbers[order], documents[order]]).astype("<i8").tobytes())
        file.write(said + _SIZES.pack(len(numbers), len(said)))
        file.write(_sum(file, file.tell()))


def give_back_memory() -> None:
    """Return to the system what writing a file took: glibc would keep it, once for each thread that ever wrote one."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)


def _made(cells: Cells | None, cells_path: Path, alive: Mask, rows: Rows, check_stop: Callable[[], None]) -> Any:
    """The index of FAISS's that the file is to hold. Cells stay until there should be twice as many."""
    total, dimension = int(np.count_nonzero(alive)) + len(rows.numbers), rows.vectors.shape[1]
    wanted = max(1, round(_CELLS_PER_ROOT * total**0.5))
    if cells is None and total <= EXACT:
        index = _faiss.index_factory(dimension, "IDMap,Flat", faiss.METRIC_INNER_PRODUCT)
    elif cells is not None and wanted < 2 * cells.index.nlist:
        index = _faiss.read_index(str(cells_path))
        index.remove_ids(cells.numbers[~alive])
    else:
        index = _faiss.index_factory(dimension, f"IVF{wanted},SQ8", faiss.METRIC_INNER_PRODUCT)
        index.train(_sample(cells, alive, rows, _SAMPLE * wanted / total))
        for numbers, vectors in cells.decoded(alive) if cells else ():
            check_stop()
            index.add_with_ids(vectors, numbers)
    for start in range(0, len(rows.numbers), _BLOCK):
        check_stop()
        index.add_with_ids(rows.vectors[start : start + _BLOCK], rows.numbers[start : start + _BLOCK])
    return index


def _sample(cells: Cells | None, alive: Mask, rows: Rows, share: float) -> Vectors:
    """This share of the living vectors, drawn the same way every time."""
    draw = np.random.default_rng(0)
    blocks = chain((vectors for _, vectors in cells.decoded(alive)) if cells else (), [rows.vectors])
    return np.concatenate([block[draw.random(len(block)) < share] for block in blocks])


def _read_end(file: BinaryIO, size: int) -> tuple[Stamp, int]:
    """The stamp at the end of an open file of this size, and how many vectors it has. Raises IndexCorruptError."""
    if size < _END:
        raise IndexCorruptError("the vectors are damaged")
    file.seek(size - _END)
    count, length = _SIZES.unpack(file.read(_SIZES.size))
    if length + 16 * count > size - _END:
        raise IndexCorruptError("the vectors are damaged")
    file.seek(size - _END - length)
    return Stamp.load(file.read(length)), count


def _sum(file: BinaryIO, length: int) -> bytes:
    """The SHA-256 of the first `length` bytes; the file is left behind them."""
    file.seek(0)
    sum_ = hashlib.sha256()
    while length > 0:
        piece = file.read(min(length, _PIECE))
        sum_.update(piece)
        length -= len(piece) or length
    return sum_.digest()
