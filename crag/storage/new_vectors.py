"""Vectors that are made for a whole library, in a temporary file until all of them are there."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from crag.core.errors import StorageError

_AT_ONCE = 4_000


class NewVectors:
    """One vector a chunk number; a context manager. Of the vectors only a batch is ever in memory."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._places: dict[int, int] = {}

    def __enter__(self) -> Self:
        try:
            self._file = tempfile.TemporaryFile(prefix="crag-vectors-")
        except OSError as error:
            raise _no_room(error) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, number: int) -> bool:
        return number in self._places

    def add(self, numbers: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """Keep a vector for each number. Raises StorageError where the disk is full."""
        rows = np.ascontiguousarray(vectors, dtype="<f4").reshape(len(numbers), self._dimension)
        try:
            self._file.seek(4 * self._dimension * len(self._places))
            self._file.write(rows.tobytes())
            self._file.flush()
        except OSError as error:
            raise _no_room(error) from error
        self._places.update(zip(numbers, range(len(self._places), len(self._places) + len(numbers)), strict=True))

    def batches(self, numbers: Sequence[int]) -> Iterator[tuple[Sequence[int], NDArray[np.float32]]]:
        """The vectors of these numbers, each of which is there, some thousands at a time."""
        for at in range(0, len(numbers), _AT_ONCE):
            some = numbers[at : at + _AT_ONCE]
            held = np.memmap(self._file, "<f4", "r", shape=(len(self._places), self._dimension))
            yield some, held[[self._places[number] for number in some]]


def _no_room(error: OSError) -> StorageError:
    return StorageError(
        f"The new vectors can't be kept until all are there: {error.strerror or error}.",
        "Free disk space for temporary files, or set TMPDIR to a folder with more, and re-index again.",
    )
