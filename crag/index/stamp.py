"""What an index's files must show to be believed: whose they are, up to which generation, and that they are whole."""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crag.index.chunk_index import Contents


class IndexCorruptError(Exception):
    """A file is damaged, or another than it should be. Nothing of the index is believed then."""


@contextmanager
def translate_corruption(what: str) -> Iterator[None]:
    """What FAISS or tantivy raise inside becomes an IndexCorruptError: a damaged file, or no room for one."""
    try:
        yield
    except BaseException as error:
        # A panic of tantivy's is a BaseException, whose class nothing exports.
        if isinstance(error, RuntimeError | ValueError) or type(error).__module__ == "pyo3_runtime":
            raise IndexCorruptError(what) from error
        raise


_STAMP = struct.Struct("<qQ32s")
_DIGEST = 32
"""Bytes of a SHA-256."""


@dataclass(frozen=True, slots=True, eq=False)
class Stamped:
    """A file whose stamp was checked: the bytes before it, mapped; its generation; how many vectors it has."""

    body: NDArray[np.uint8]
    generation: int
    count: int

    @classmethod
    def read(cls, path: Path, contents: Contents) -> Stamped | None:
        """The file at `path`; None where there is none, or none of these contents. Raises IndexCorruptError."""
        try:
            data = np.memmap(path, np.uint8, "r")
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise IndexCorruptError(f"{path.name} can't be read") from error
        end = len(data) - _DIGEST - _STAMP.size
        if end < 0 or hashlib.sha256(data[:-_DIGEST].data).digest() != data[-_DIGEST:].tobytes():
            raise IndexCorruptError(f"{path.name} is damaged")
        generation, count, whose = _STAMP.unpack(data[end:-_DIGEST].data)
        return cls(data[:end], generation, count) if whose == _whose(contents) else None


def end_with_stamp(path: Path, contents: Contents, generation: int, count: int = 0) -> None:
    """Write behind what stands in a file whose it is, up to which generation, how many vectors it has, and the SHA-256
    of it all. Raises OSError.
    """
    with path.open("ab") as file:
        file.write(_STAMP.pack(generation, count, _whose(contents)))
        file.flush()
        file.write(hashlib.sha256(np.memmap(path, np.uint8, "r").data).digest())


def stamp(path: Path, contents: Contents, generation: int) -> None:
    """Write a file that is a stamp alone, in one step that lasts. Raises OSError."""
    part = path.with_suffix(".part")
    part.write_bytes(b"")
    end_with_stamp(part, contents, generation)
    put_in_place(part, path)


def put_in_place(part: Path, path: Path) -> None:
    """Make a written file last, and give it its name in one step. Raises OSError."""
    sync(part)
    part.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Make a file, or a folder's own entries, last. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _whose(contents: Contents) -> bytes:
    return hashlib.sha256(repr(contents).encode()).digest()
