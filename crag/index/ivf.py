"""The main file of an index: most of its vectors in 8 bits a number, in cells of neighbours, read from the disk.

What it finds is near the truth, not the truth: the ranking computes the cosines of what was found. It is never
changed, but made again with what has come and gone since. Why so, and all figures: docs/decisions/index.md.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from crag.index.chunk_index import Numbers, Scores, Vectors
from crag.index.manifest import IndexCorruptError
from crag.index.rows import FlatSegment, Mask, Rows

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
    """At most so many of the living vectors, drawn the same way every time."""
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
