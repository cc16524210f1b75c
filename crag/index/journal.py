"""What was added to an index and dropped from it since its main file was made: a file that only grows."""

from __future__ import annotations

import io
import os
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from crag.index.chunk_index import Numbers, Vectors
from crag.index.manifest import IndexCorruptError

_LENGTH = struct.Struct("<Q")
"""The bytes of a record, written before it."""


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """One change: the chunks `dropped`, then n that were added, in place of those of the same numbers.

    `numbers` and `documents` (n,), each number once; `vectors` (n, dimension). In the file it is an archive of NumPy's,
    which checks every array when it is read.
    """

    dropped: Numbers
    numbers: Numbers
    documents: Numbers
    vectors: Vectors

    def __bool__(self) -> bool:
        return bool(len(self.dropped) or len(self.numbers))


def append(path: Path, length: int, record: Record) -> int:
    """Write a record behind the first `length` bytes, in place of what no commit counts. The new length.

    Raises OSError.
    """
    archive = io.BytesIO()
    np.savez(archive, **asdict(record))
    with path.open("r+b" if length else "w+b") as file:
        file.truncate(length)
        file.seek(length)
        if record:
            file.write(_LENGTH.pack(archive.getbuffer().nbytes))
            file.write(archive.getbuffer())
        file.flush()
        os.fsync(file.fileno())
        return file.tell()


def read(path: Path, start: int, stop: int, dimension: int) -> Iterator[Record]:
    """The records between two lengths. Raises IndexCorruptError where the file does not hold them whole."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            while file.tell() < stop:
                (size,) = _LENGTH.unpack(file.read(_LENGTH.size))
                if size > stop - file.tell():
                    raise IndexCorruptError("the journal is damaged")
                with np.load(io.BytesIO(file.read(size)), allow_pickle=False) as arrays:
                    record = Record(**{each.name: arrays[each.name] for each in fields(Record)})
                if record.vectors.shape != (len(record.numbers), dimension):
                    raise IndexCorruptError("the journal is another")
                yield record
    except OSError as error:
        raise IndexCorruptError(f"the journal can't be read: {error.strerror}") from error
    except (zipfile.BadZipFile, struct.error, ValueError, KeyError, EOFError) as error:
        raise IndexCorruptError("the journal is damaged") from error
