"""Checkpoints that outlive a cut-off: written beside the last whole one, and the one before is kept.

Also weights as 8-bit integers with a scale for each 64 of a row, as they travel. Nothing here needs torch.
"""

from __future__ import annotations

import os
import pickle
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

BEFORE = "before"
FROZEN = "words"
"""The part that training leaves as it is in a shipped model."""
BLOCK = 64
"""Weights of a row that share a scale."""
DAMAGE = (OSError, EOFError, KeyError, RuntimeError, ValueError, pickle.UnpicklingError, zipfile.BadZipFile)
"""What reading a file raises that was cut off in the middle."""
T = TypeVar("T")
Arrays = dict[str, NDArray[np.float32]]


def renew(path: Path, write: Callable[[Path], None]) -> None:
    """Write a checkpoint; the one that was there is kept beside it as the one before."""
    part = path.with_name(f"{path.name}.part")
    write(part)
    with part.open("rb") as file:
        os.fsync(file.fileno())
    if path.exists():
        path.replace(_before(path))
    part.replace(path)


def read_newest(path: Path, read: Callable[[Path], T]) -> T | None:
    """The newest checkpoint that can be read, or None; it says which one could not be."""
    for each in (path, _before(path)):
        if not each.exists():
            continue
        try:
            return read(each)
        except DAMAGE as error:
            print(f"{each} is cut off or damaged ({type(error).__name__}); the one before it is used.", flush=True)
    return None


def _before(path: Path) -> Path:
    return path.with_name(f"{path.stem}.{BEFORE}{path.suffix}")


def quantize(weights: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[Any]]:
    """Large matrices as 8-bit integers with a scale for each BLOCK of a row; all others as they are."""
    stored: dict[str, NDArray[Any]] = {}
    for name, value in sorted(weights.items()):
        if value.ndim == 2 and value.size > 100_000:
            blocks = value.reshape(len(value), -1, BLOCK if value.shape[1] % BLOCK == 0 else value.shape[1])
            scale = (np.abs(blocks).max(axis=2, keepdims=True) / 127).clip(1e-7).astype(np.float16)
            made = np.rint(blocks / scale.astype(np.float32)).clip(-127, 127)
            stored[name] = made.astype(np.int8).reshape(value.shape)
            stored[f"{name}:scale"] = scale[:, :, 0]
        else:
            stored[name] = value.astype(np.float32)
    return stored


def restore(stored: Mapping[str, NDArray[Any]]) -> Arrays:
    """The weights of which `quantize` made what is stored; matrices kept in half precision too."""
    weights: Arrays = {}
    for name, value in stored.items():
        if not name.endswith(":scale"):
            scale = stored.get(f"{name}:scale")
            weights[name] = value.astype(np.float32)
            if scale is not None:
                weights[name] *= np.repeat(scale.astype(np.float32), value.shape[1] // scale.shape[1], axis=1)
    return weights


class Watch:
    """Seconds of training; the time for which the process was stopped by a signal does not count."""

    def __init__(self, seconds: float = 0.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._last = clock()
        self._stopped = False

    def resume(self, *_: object) -> None:
        """The process was stopped and goes on (SIGCONT): what passed since the last tick is not counted."""
        self._stopped = True

    def tick(self) -> float:
        now = self._clock()
        if not self._stopped:
            self.seconds += now - self._last
        self._last, self._stopped = now, False
        return self.seconds
