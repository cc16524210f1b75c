"""What a stopped command goes on with, and what a page says of how it was made."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from corpora.judging import evaluator_version
from crag.analysis.intervals import intervals, share
from crag.ingest.chunking import CHUNKING_ID
from crag.models.cross_encoder import MODEL_ID

Figures = dict[str, Any]


class Kept:
    """Values as JSON by their keys, one a line of a file. A line that a kill cut short counts as not there."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._known = path, dict[str, Any]()
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
            try:
                key, value = json.loads(line)
            except ValueError:
                continue
            self._known[key] = value

    def get(self, key: str, measure: Callable[[], Any]) -> Any:
        """The value kept by this key, else the measured one, written at once."""
        if key not in self._known:
            self._known[key] = measure()
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"\n{json.dumps([key, self._known[key]])}")
        return self._known[key]


def made() -> Figures:
    """Date, machine and versions of a measurement."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "versions": f"evaluator {MODEL_ID} ({evaluator_version()}), chunking {CHUNKING_ID}",
    }


def fraction(flags: Sequence[bool]) -> Figures:
    """The share of true ones, with Wilson's interval."""
    return asdict(share(sum(flags), len(flags)))


def average(values: Sequence[float]) -> Figures:
    """The mean, with a bootstrap over the values."""
    ((low, high),) = intervals(np.array(values, np.float64).reshape(-1, 1))
    return {"value": float(np.mean(values)) if values else None, "low": low, "high": high, "of": len(values)}
