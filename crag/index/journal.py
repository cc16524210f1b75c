"""What was added to an index and dropped from it since its main file was made: a file that only grows."""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crag.index.chunk_index import Numbers, Vectors
from crag.index.manifest import IndexCorruptError

_HEAD = struct.Struct("<4sBxxxQ32s")
"""A magic word, the kind, how many chunks, and the SHA-256 of what follows."""
_MAGIC = b"crag"
_ADDED, _DROPPED = 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class Added:
    """Chunks that came, n of them: `numbers` and `documents` (n,), `vectors` (n, dimension). They replace the same."""

    numbers: Numbers
    documents: Numbers
    vectors: Vectors


@dataclass(frozen=True, slots=True, eq=False)
class Dropped:
    """Chunks that went."""

    numbers: Numbers


Record = Added | Dropped


def append(path: Path, length: int, records: Iterable[Record]) -> int:
    """Write records behind the first `length` bytes, in place of what no commit counts. The new length.

    Raises OSError.
    """
    with path.open("r+b" if length else "w+b") as file:
        file.truncate(length)
        file.seek(length)
        for record in records:
            file.writelines(_pack(record))
        file.flush()
        os.fsync(file.fileno())
        return file.tell()


def read(path: Path, start: int, stop: int, dimension: int) -> Iterator[Record]:
    """The records between two lengths. Raises IndexCorruptError where the file does not hold them whole."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            while file.tell() < stop:
                head = file.read(_HEAD.size)
                if len(head) < _HEAD.size:
                    raise IndexCorruptError("the journal is cut off")
                magic, kind, count, sum_ = _HEAD.unpack(head)
                row = 8 if kind == _DROPPED else 16 + 4 * dimension
                if magic != _MAGIC or count * row > stop - file.tell():
                    raise IndexCorruptError("the journal is damaged")
                body = file.read(count * row)
                if hashlib.sha256(body).digest() != sum_:
                    raise IndexCorruptError("the journal is damaged")
                yield _unpack(kind, count, body, dimension)
    except OSError as error:
        raise IndexCorruptError(f"the journal can't be read: {error.strerror}") from error


def _pack(record: Record) -> list[bytes]:
    parts = [record.numbers.astype("<i8").tobytes()]
    kind = _DROPPED
    if isinstance(record, Added):
        kind = _ADDED
        parts += [record.documents.astype("<i8").tobytes(), record.vectors.astype("<f4").tobytes()]
    sum_ = hashlib.sha256()
    for part in parts:
        sum_.update(part)
    return [_HEAD.pack(_MAGIC, kind, len(record.numbers), sum_.digest()), *parts]


def _unpack(kind: int, count: int, body: bytes, dimension: int) -> Record:
    numbers = np.frombuffer(body, "<i8", count).astype(np.int64)
    if kind == _DROPPED:
        return Dropped(numbers)
    documents = np.frombuffer(body, "<i8", count, 8 * count).astype(np.int64)
    vectors = np.frombuffer(body, "<f4", count * dimension, 16 * count).reshape(count, dimension)
    return Added(numbers, documents, vectors.astype(np.float32, copy=False))
