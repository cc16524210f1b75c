"""The FAISS index: a cache of the vectors in SQLite, kept as a file that is believed only while its stamp fits."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from crag.core.errors import StorageError
from crag.library import store
from crag.library.tables import chunks
from crag.library.tables import vectors as stored

_log = logging.getLogger(__name__)
_MAGIC = b"crag-vectors 1 "


@dataclass(frozen=True, slots=True)
class Vectors:
    """All vectors at one moment.

    `numbers` (n,) int64 are the chunks' numbers, ascending; row i of `index` is the vector of `numbers[i]`, and
    `documents[i]`, `pages[i]` say where that chunk stands.
    """

    index: Any
    numbers: NDArray[np.int64]
    documents: NDArray[np.int64]
    pages: NDArray[np.int64]

    def similarities(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosine of the query (unit vector) with every row, shape (n,)."""
        total = len(self.numbers)
        if not total:
            return np.zeros(0, dtype=np.float32)
        # No public way gives the rows without a copy; tests/library/test_vectors.py tells when this one changes.
        matrix = faiss.rev_swig_ptr(self.index.get_xb(), total * self.index.d).reshape(total, self.index.d)
        return np.asarray(matrix @ query, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class _Stamp:
    """What a cache file must say to be believed."""

    library: str
    generation: int
    model: str
    dimension: int
    count: int


class VectorFile:
    """The cache file of one library."""

    def __init__(self, path: Path | None) -> None:
        """`path` None: nothing is kept on the disk."""
        self.path = path

    def load(self, connection: Connection) -> Vectors:
        """The vectors as `connection`'s transaction sees them: from the file if it fits, else rebuilt and written."""
        where = select(chunks.c.number, chunks.c.document, chunks.c.page).order_by(chunks.c.number)
        rows = [tuple(row) for row in connection.execute(where)]
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        stamp = _Stamp(
            library=store.meta(connection, "library"),
            generation=int(store.meta(connection, "generation")),
            model=store.meta(connection, "model"),
            dimension=int(store.meta(connection, "dimension")),
            count=len(rows),
        )
        index = _read(self.path, stamp) if self.path else None
        if index is None:
            index = _build(connection, stamp)
            if self.path:
                _write(self.path, stamp, index)
        return Vectors(index, table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy())


def _build(connection: Connection, stamp: _Stamp) -> Any:
    """The index from SQLite, which is the truth. Raises StorageError if vectors are missing there."""
    index = faiss.IndexFlatIP(stamp.dimension or 1)
    found = connection.scalars(select(stored.c.vector).order_by(stored.c.chunk), execution_options={"yield_per": 4096})
    for rows in found.partitions():
        blob = b"".join(rows)
        if len(blob) != len(rows) * stamp.dimension * 4:
            break
        index.add(np.frombuffer(blob, dtype="<f4").reshape(len(rows), stamp.dimension))
    if index.ntotal != stamp.count:
        raise StorageError(
            "The library's vectors are incomplete.", "Re-index the library on the Documents page: no document is lost."
        )
    return index


def _read(path: Path, stamp: _Stamp) -> Any | None:
    """The index of the file, or None if the file is missing, stale or damaged in any way."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    head, _, body = data.partition(b"\n")
    # FAISS trusts what it reads, so nothing unverified reaches it.
    if head != _head(stamp, body):
        _log.info("vector cache %s is stale or damaged: it is rebuilt", path)
        return None
    index = faiss.deserialize_index(np.frombuffer(body, dtype=np.uint8))
    return index if index.ntotal == stamp.count and index.d == max(stamp.dimension, 1) else None


def _write(path: Path, stamp: _Stamp, index: Any) -> None:
    """Replace the file in one step. A cache that can't be written costs time on the next start, nothing else."""
    body = faiss.serialize_index(index).tobytes()
    try:
        handle, name = tempfile.mkstemp(prefix=path.name, suffix=".part", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_head(stamp, body) + b"\n" + body)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        _log.warning("the vector cache %s could not be written: %s", path, error)


def _head(stamp: _Stamp, body: bytes) -> bytes:
    values = {**asdict(stamp), "sha256": hashlib.sha256(body).hexdigest()}
    return _MAGIC + json.dumps(values, sort_keys=True).encode()
