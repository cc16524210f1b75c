"""What an index's files must be to be believed: a small file that is written last, and a journal that only grows."""

from __future__ import annotations

import hashlib
import io
import json
import logging
import os
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from crag.index.chunk_index import Contents, Numbers, Vectors

_log = logging.getLogger(__name__)


class IndexCorruptError(Exception):
    """A file is missing, damaged, or not what the manifest says. Nothing of the index is believed then."""


@contextmanager
def translate_corruption(what: str) -> Iterator[None]:
    """What FAISS or tantivy raise inside becomes a IndexCorruptError: a damaged file, or no room for one."""
    try:
        yield
    except BaseException as error:
        # A panic of tantivy's is a BaseException, whose class nothing exports.
        if isinstance(error, RuntimeError | ValueError) or type(error).__module__ == "pyo3_runtime":
            raise IndexCorruptError(what) from error
        raise


Mark = tuple[int, int, int]
"""Which version of the manifest's file was looked at: its number, time and size; zeros where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One commit.

    `cells` is the name of the main file, without its ending, or empty; `sums` are the SHA-256 of its parts. `length` is
    how many bytes of the file `journal` count. `words` is the folder of the words, `opstamp` the commit in it.
    """

    contents: Contents
    journal: str
    words: str
    generation: int = -1
    size: int = 0
    cells: str = ""
    sums: tuple[str, ...] = ()
    length: int = 0
    opstamp: int = 0

    @property
    def names(self) -> set[str]:
        """The files and folders that belong to it."""
        return {self.journal, self.words, *([f"{self.cells}.faiss", f"{self.cells}.rows"] if self.cells else [])}


def mark(path: Path) -> Mark:
    """Which version stands at `path` now: one look at the folder, so that every search can ask."""
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_mtime_ns, found.st_size


def read(path: Path, contents: Contents) -> Manifest | None:
    """The manifest, or None where there is none, or it is damaged, or it is of another library or model."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        _log.warning("the chunk index's manifest can't be read: %s", error.strerror)
        return None
    sum_, _, body = data.partition(b"\n")
    if sum_ != _sum(body):
        _log.warning("the chunk index's manifest is damaged: the index is filled again")
        return None
    values = json.loads(body)
    if values["contents"] != asdict(contents):
        _log.info("the chunk index is of another library or model: it is filled again")
        return None
    return Manifest(**{**values, "contents": contents, "sums": tuple(values["sums"])})


def write(path: Path, made: Manifest) -> None:
    """Replace the manifest in one step that lasts. Raises OSError."""
    body = json.dumps(asdict(made), sort_keys=True).encode()
    part = path.with_suffix(".part")
    try:
        with part.open("wb") as file:
            file.write(_sum(body) + b"\n" + body)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    sync(path.parent)


def _sum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def sync(path: Path) -> None:
    """Make a file, or a folder's own entries, last. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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


def read_journal(path: Path, start: int, stop: int, dimension: int) -> Iterator[Record]:
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
