"""From features to a calibrated score: a small trained network in plain numpy, checked when it is loaded."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crag.core.errors import ModelError
from crag.evaluator.features import FEATURES
from crag.evaluator.lexicon import Lexicon
from crag.models.files import verified_files

__all__ = ["HEAD_ID", "Head", "load_head"]

HEAD_ID = "local-1"
FOLDER = Path(__file__).parent.parent / "models" / "local-evaluator"


@dataclass(frozen=True, slots=True)
class Head:
    """One hidden layer; `slope` and `offset` turn its output into a probability (Platt scaling)."""

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    hidden: NDArray[np.float64]
    hidden_bias: NDArray[np.float64]
    output: NDArray[np.float64]
    output_bias: float
    slope: float
    offset: float

    def scores(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Shape (n, features) to (n,), each 0..1. A feature far out of its usual range counts as its edge."""
        usual = np.clip((features - self.mean) / self.scale, -4, 4)
        # einsum, not @: its sums do not depend on how many rows come together, so a score never does.
        middle = np.maximum(np.einsum("nf,fh->nh", usual, self.hidden) + self.hidden_bias, 0)
        raw = np.einsum("nh,h->n", middle, self.output) + self.output_bias
        calibrated: NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(self.slope * raw + self.offset, -30, 30)))
        return calibrated


@cache
def load_head(folder: Path = FOLDER) -> tuple[Head, Lexicon]:
    """The shipped head and word counts. Raises ModelError if a file is missing, damaged or of other features."""
    files = verified_files(folder, HEAD_ID)
    try:
        given = json.loads(files["head.json"])
        counted = json.loads(files["lexicon.json"])
        if given["features"] != FEATURES:
            raise ValueError("it was trained on other features")
        head = Head(
            mean=np.array(given["mean"], np.float64),
            scale=np.array(given["scale"], np.float64),
            hidden=np.array(given["hidden"], np.float64),
            hidden_bias=np.array(given["hidden_bias"], np.float64),
            output=np.array(given["output"], np.float64),
            output_bias=float(given["output_bias"]),
            slope=float(given["slope"]),
            offset=float(given["offset"]),
        )
        return head, Lexicon(counted["paragraphs"], counted["counts"])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"The local evaluator's files can't be used ({error}).") from error
