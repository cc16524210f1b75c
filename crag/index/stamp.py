"""What an index's files must show to be believed: whose they are, up to which generation, and that they are whole."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from crag.index.chunk_index import Contents


class IndexCorruptError(Exception):
    """A file is missing, damaged, or another than it should be. Nothing of the index is believed then."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Of which library and model a file is, and up to which generation of the records it has everything."""

    contents: Contents
    generation: int

    def dump(self) -> bytes:
        return json.dumps(asdict(self), sort_keys=True).encode()

    @classmethod
    def load(cls, data: bytes) -> Stamp:
        """Raises IndexCorruptError for what `dump` never wrote."""
        try:
            found = json.loads(data)
            return cls(contents=Contents(**found["contents"]), generation=int(found["generation"]))
        except (ValueError, TypeError, KeyError) as error:
            raise IndexCorruptError("the stamp is damaged") from error


def read_stamp(path: Path) -> Stamp | None:
    """The stamp in a file of its own; None where there is none. Raises IndexCorruptError."""
    try:
        sum_, _, body = path.read_bytes().partition(b"\n")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise IndexCorruptError("the stamp can't be read") from error
    if sum_ != hashlib.sha256(body).hexdigest().encode():
        raise IndexCorruptError("the stamp is damaged")
    return Stamp.load(body)


def write_stamp(path: Path, stamp: Stamp) -> None:
    """Replace the stamp in one step that lasts. Raises OSError."""
    body = stamp.dump()
    part = path.with_suffix(".part")
    part.write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
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
