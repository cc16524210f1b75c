"""All vectors of an index: segments that are searched exactly or by cells, the main file, and what came after it."""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from crag.index.chunk_index import Numbers, Scores, Vectors
from crag.index.manifest import IndexCorruptError, Record

Mask = NDArray[np.bool_]
_faiss_of_rows: Any = faiss  # Its type stubs know nothing of plain functions.

_FEW = 0.25
"""Up to this share of the rows it is faster to pick them out than to multiply all."""


@dataclass(frozen=True, eq=False)
class Rows:
    """`numbers`, `documents` and `alive`, each of shape (n,). Of one number, only the last row may be alive.

    Never changed: what was handed to a search stays as it was.
    """

    numbers: Numbers
    documents: Numbers
    alive: Mask

    @classmethod
    def none(cls) -> Rows:
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_))

    @cached_property
    def size(self) -> int:
        """How many are alive."""
        return int(np.count_nonzero(self.alive))

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64] | None, Numbers]:
        """The order that sorts the numbers, None where they are sorted, and the sorted numbers."""
        if not len(self.numbers) or (self.numbers[1:] > self.numbers[:-1]).all():
            return None, self.numbers
        order = np.argsort(self.numbers, kind="stable")
        return order, self.numbers[order]

    def at(self, numbers: Numbers) -> NDArray[np.int64]:
        """The living row of each of the `numbers`; -1 where there is none."""
        if not len(self.numbers) or not len(numbers):
            return np.full(len(numbers), -1, np.int64)
        order, known = self._sorted
        place = np.searchsorted(known, numbers, side="right") - 1
        rows = place if order is None else order[place]
        found: NDArray[np.int64] = np.where((place >= 0) & (self.numbers[rows] == numbers) & self.alive[rows], rows, -1)
        return found

    def of(self, documents: Numbers) -> Mask:
        """The living rows that belong to one of these documents."""
        found: Mask = np.isin(self.documents, documents) & self.alive
        return found

    def without(self, numbers: Numbers) -> Rows:
        """The same with the rows of these numbers dead; unknown numbers are passed over."""
        rows = self.at(numbers)
        if not (rows >= 0).any():
            return self
        alive = self.alive.copy()
        alive[rows[rows >= 0]] = False
        again = replace(self, alive=alive)
        again.__dict__["_sorted"] = self._sorted  # The numbers are the same: a million need not be sorted again.
        return again

    def joined(self, later: Rows) -> Rows:
        """These rows, then later ones."""
        names = ("numbers", "documents", "alive")
        return Rows(*(np.concatenate([getattr(self, name), getattr(later, name)]) for name in names))


@dataclass(frozen=True, eq=False)
class FlatSegment:
    """`vectors` (n, dimension) and what their rows are. Never changed."""

    rows: Rows
    vectors: Vectors

    def best(self, vector: Vectors, k: int, mask: Mask) -> tuple[NDArray[np.int64], Scores]:
        """At most `k` rows within the mask nearest to `vector`, in no order, and their cosines."""
        rows = np.flatnonzero(mask)
        scores = self.cosines(vector, rows) if len(rows) <= _FEW * len(mask) else _products(vector, self.vectors)[rows]
        if len(rows) > k:
            kept = np.argpartition(scores, len(rows) - k)[len(rows) - k :]
            rows, scores = rows[kept], scores[kept]
        return rows, scores

    def cosines(self, vector: Vectors, rows: NDArray[np.int64]) -> Scores:
        """The cosine of `vector` with each of these rows."""
        return _products(vector, self.vectors[rows])


def _products(vector: Vectors, vectors: Vectors) -> Scores:
    """The product of `vector` with each row, in this thread.

    NumPy's would share so little work among all cores, and wait for each: on a busy machine 60 times as long.
    """
    one, many = np.ascontiguousarray(vector, np.float32), np.ascontiguousarray(vectors, np.float32)
    if one.shape != many.shape[1:]:
        raise ValueError(f"a vector of {one.shape} among {many.shape}")
    found: Scores = np.empty(len(many), np.float32)
    _faiss_of_rows.fvec_inner_products_ny(*map(_faiss_of_rows.swig_ptr, (found, one, many)), many.shape[1], len(many))
    return found


_faiss: Any = faiss  # For what its type stubs do not know: they tell of C++ alone.

_PROBED = 256
"""Cells that a search looks into. How many there are in all hardly changes how many it takes."""
_RARER = 0.25
"""By which power of it a search looks into more cells where only a share of the vectors may be found."""
_CELLS_PER_ROOT = 4
"""Cells there are for each unit of the square root of the number of vectors."""
_SAMPLE = 30
"""Vectors that the centre of each cell is found from."""
_ROUNDS = 8
_BLOCK = 16_384
_PIECE = 1 << 20


@dataclass(frozen=True, eq=False)
class IvfSegment:
    """The vectors in cells, and what their rows are; `sums` are the SHA-256 of the two files."""

    index: Any
    rows: Rows
    name: str
    sums: tuple[str, ...]

    @classmethod
    def open(cls, folder: Path, name: str, sums: tuple[str, ...], dimension: int) -> IvfSegment:
        """Raises IndexCorruptError where the files are not what they were when they were made."""
        vectors, rows = _paths(folder, name)
        # FAISS trusts what it reads, so nothing unverified reaches it.
        if (_sum(vectors), _sum(rows)) != sums:
            raise IndexCorruptError("the main file is damaged")
        index = faiss.read_index(str(vectors), faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY)
        numbers, documents = np.frombuffer(rows.read_bytes(), "<i8").astype(np.int64).reshape(2, -1)
        if index.ntotal != len(numbers) or index.d != dimension:
            raise IndexCorruptError("the main file is another")
        return cls(index, Rows(numbers, documents, np.ones(len(numbers), np.bool_)), name, sums)

    def without(self, numbers: Numbers) -> IvfSegment:
        """The same without the chunks of these numbers; unknown ones are passed over."""
        return replace(self, rows=self.rows.without(numbers))

    def selector(self, mask: Mask) -> Any:
        """What restricts FAISS to the rows of the mask; None where that is all rows."""
        return None if mask.all() else _faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))

    def best(self, vector: Vectors, k: int, count: int, selector: Any) -> tuple[NDArray[np.int64], Scores]:
        """At most `k` of the `count` rows that the selector lets pass, near to `vector`, and about their cosines.

        The fewer pass, the more cells are looked into, and all of them before fewer than `k` are found.
        """
        cells = self.index.nlist
        wanted = min(k, count)
        if not wanted:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        probed = min(cells, round(_PROBED * (len(self.rows.numbers) / count) ** _RARER))
        while True:
            parameters = _faiss.SearchParametersIVF(sel=selector, nprobe=probed)
            scores, rows = self.index.search(vector[None], wanted, params=parameters)
            found = rows[0] >= 0
            if found.all() or probed == cells:
                return rows[0][found], scores[0][found]
            probed = min(cells, 4 * probed)


def make(
    folder: Path, name: str, main: IvfSegment | None, tail: FlatSegment, check_stop: Callable[[], None]
) -> tuple[str, ...]:
    """Write the main file of all that is alive, at least one vector, and give its sums. Raises OSError.

    `check_stop` is called again and again, and may raise to end it.

    The 8 bits of a number mean the same in every main file of an index, so that vectors do not blur as files are made
    from files. Cells stay too, until there should be twice as many.
    """
    numbers = np.concatenate([main.rows.numbers[main.rows.alive] if main else [], tail.rows.numbers[tail.rows.alive]])
    documents = np.concatenate(
        [main.rows.documents[main.rows.alive] if main else [], tail.rows.documents[tail.rows.alive]]
    )
    order = np.argsort(numbers, kind="stable")
    rows = Rows(numbers[order].astype(np.int64), documents[order].astype(np.int64), np.ones(len(order), np.bool_))
    wanted = max(1, round(_CELLS_PER_ROOT * len(order) ** 0.5))
    if main and wanted < 2 * main.index.nlist:
        index = _empty(main.index.quantizer, main.index)
        _copy(main, rows, index, tail.vectors, check_stop)
    else:
        index = _trained(main, tail, wanted)
        for block, alive in _decode_vectors(main) if main else ():
            check_stop()
            index.add_with_ids(block, rows.at(alive))
    living = np.flatnonzero(tail.rows.alive)
    for start in range(0, len(living), _BLOCK):
        check_stop()
        some = living[start : start + _BLOCK]
        index.add_with_ids(tail.vectors[some], rows.at(tail.rows.numbers[some]))
    vectors_path, rows_path = _paths(folder, name)
    return _write_index(index, vectors_path), _save_arrays(np.stack([rows.numbers, rows.documents]), rows_path)


def give_back_memory() -> None:
    """Return to the system what making a file took: glibc would keep it, once for each thread that ever made one."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)


def _paths(folder: Path, name: str) -> tuple[Path, Path]:
    return folder / f"{name}.faiss", folder / f"{name}.rows"


def _empty(quantizer: Any, like: Any) -> Any:
    """An index without vectors, with the quantizer's cells and with the 8-bit scale of `like`."""
    index = faiss.IndexIVFScalarQuantizer(
        quantizer, quantizer.d, quantizer.ntotal, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT, False
    )
    faiss.copy_array_to_vector(faiss.vector_to_array(like.sq.trained), index.sq.trained)
    index.is_trained = True
    return index


def _trained(main: IvfSegment | None, tail: FlatSegment, cells: int) -> Any:
    """An index without vectors, whose cells fit what is alive."""
    sample = _sample(main, tail, _SAMPLE * cells)
    dimension = sample.shape[1]
    quantizer = faiss.IndexFlatIP(dimension)
    index = faiss.IndexIVFScalarQuantizer(
        quantizer, dimension, cells, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT, False
    )
    index.cp.niter, index.cp.spherical, index.cp.min_points_per_centroid = _ROUNDS, True, 1
    index.train(sample)
    return _empty(quantizer, main.index) if main else index


def _sample(main: IvfSegment | None, tail: FlatSegment, most: int) -> Vectors:
    """At most this number of the living vectors, drawn the same way every time."""
    total = (main.rows.size if main else 0) + tail.rows.size
    share = min(1.0, most / total)
    draw = np.random.default_rng(0)
    parts = [block[draw.random(len(block)) < share] for block, _ in (_decode_vectors(main) if main else ())]
    living = np.flatnonzero(tail.rows.alive)
    parts.append(tail.vectors[living[draw.random(len(living)) < share]])
    return np.concatenate(parts)


def _lists(main: IvfSegment) -> Iterator[tuple[int, Numbers, NDArray[np.uint8]]]:
    """Each cell with its living rows and their codes."""
    lists = main.index.invlists
    for cell in range(main.index.nlist):
        count = lists.list_size(cell)
        if not count:
            continue
        ids, codes = lists.get_ids(cell), lists.get_codes(cell)
        rows = faiss.rev_swig_ptr(ids, count)
        alive = main.rows.alive[rows]
        yield cell, rows[alive], faiss.rev_swig_ptr(codes, count * lists.code_size).reshape(count, -1)[alive]
        lists.release_ids(cell, ids)
        lists.release_codes(cell, codes)


def _decode_vectors(main: IvfSegment) -> Iterator[tuple[Vectors, Numbers]]:
    """The living vectors as far as 8 bits tell them, and their chunks, a cell at a time."""
    for _, rows, codes in _lists(main):
        yield main.index.sq.decode(np.ascontiguousarray(codes)), main.rows.numbers[rows]


def _copy(main: IvfSegment, rows: Rows, index: Any, after: Vectors, check_stop: Callable[[], None]) -> None:
    """What is alive in one index into another of the same cells, with room in them for the vectors that come after."""
    near = index.quantizer.search(after, 1)[1].ravel() if len(after) else np.zeros(0, np.int64)
    more = np.bincount(near, minlength=index.nlist).tolist()
    for cell, old, codes in _lists(main):
        check_stop()
        ids, codes = rows.at(main.rows.numbers[old]), np.ascontiguousarray(codes)
        # A cell that grew later would take twice its memory.
        index.invlists.resize(cell, len(ids) + more[cell])
        index.invlists.resize(cell, 0)
        index.invlists.add_entries(cell, len(ids), faiss.swig_ptr(ids), faiss.swig_ptr(codes))
        index.ntotal += len(ids)


def _write_index(index: Any, path: Path) -> str:
    """Write what FAISS makes of an index; its SHA-256."""
    sum_ = hashlib.sha256()
    with path.open("wb") as file:

        def piece(data: bytes) -> None:
            sum_.update(data)
            file.write(data)

        _faiss.write_index(index, _faiss.BufferedIOWriter(_faiss.PyCallbackIOWriter(piece), _PIECE))
        file.flush()
        os.fsync(file.fileno())
    return sum_.hexdigest()


def _save_arrays(table: Numbers, path: Path) -> str:
    data = table.astype("<i8").tobytes()
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return hashlib.sha256(data).hexdigest()


def _sum(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise IndexCorruptError("the main file can't be read") from error


EXACT = 20_000
"""Up to this many vectors are searched exactly; from there on cells are faster."""
_TAIL_SHARE = 0.03
"""The share of the main file's rows that may come after it before it is made again."""
_DEAD_SHARE = 0.1


class Dense:
    """The main file, if there is one, and the exact rows after it. One thread at a time may change it."""

    def __init__(self, main: IvfSegment | None, dimension: int) -> None:
        self.main = main
        self._room = np.empty((1024, dimension), np.float32)
        """The vectors of the tail, with room for more."""
        self.tail = FlatSegment(Rows.none(), self._room[:0])

    @property
    def parts(self) -> list[Rows]:
        """The rows of both."""
        return [self.main.rows, self.tail.rows] if self.main else [self.tail.rows]

    @property
    def size(self) -> int:
        return sum(rows.size for rows in self.parts)

    def apply(self, records: Iterable[Record]) -> None:
        """Do what the journal says. A chunk that is added again replaces what was there."""
        done = [each for each in records if each]
        if not done:
            return
        last: dict[int, int] = {}
        """The row that each chunk was added as last, of all that are added here."""
        count = 0
        for each in done:
            for number in each.dropped.tolist():
                last.pop(number, None)
            last.update(zip(each.numbers.tolist(), range(count, count + len(each.numbers)), strict=True))
            count += len(each.numbers)
        rows = np.sort(np.fromiter(last.values(), np.int64, len(last)))
        changed = np.concatenate([part for each in done for part in (each.dropped, each.numbers)])
        names = ("numbers", "documents", "vectors")
        numbers, documents, vectors = (np.concatenate([getattr(each, name) for each in done])[rows] for name in names)
        added = Rows(numbers, documents, np.ones(len(rows), np.bool_))
        self.tail = FlatSegment(self.tail.rows.without(changed).joined(added), self._append(vectors))
        if self.main:
            self.main = self.main.without(changed)

    def _append(self, vectors: Vectors) -> Vectors:
        """The vectors of the tail and these. Views of earlier tails stay as they are."""
        start, stop = len(self.tail.vectors), len(self.tail.vectors) + len(vectors)
        if stop > len(self._room):
            self._room = np.empty((stop + stop // 2, vectors.shape[1]), np.float32)
            self._room[:start] = self.tail.vectors
        self._room[start:stop] = vectors
        return self._room[:stop]

    def numbers(self, documents: Numbers) -> Numbers:
        """The chunks of these documents."""
        return np.concatenate([rows.numbers[rows.of(documents)] for rows in self.parts])

    def holds(self, numbers: Numbers) -> Numbers:
        """Those of the numbers that are in it."""
        return numbers[np.logical_or.reduce([rows.at(numbers) >= 0 for rows in self.parts])]

    @property
    def limit(self) -> int:
        """How many exact rows are fine."""
        return max(EXACT, int(_TAIL_SHARE * len(self.main.rows.numbers))) if self.main else EXACT

    @property
    def is_due(self) -> bool:
        """Whether it would gain by being rebuilt: too many rows after the main file, or too many dead."""
        rows = self.main.rows if self.main else None
        dead = len(rows.numbers) - rows.size if rows else 0
        return len(self.tail.rows.numbers) > self.limit or dead > _DEAD_SHARE * max(self.size, EXACT)
