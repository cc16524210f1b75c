"""Averages of weights that were trained side by side from one beginning, chosen on held-out documents.

As Wortsman et al. 2022 do it with models that were fine-tuned (arXiv 2203.05482 and 2109.01903): an average costs
nothing when it runs, and keeps what each part knows better.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from corpora.pair import Pair
from training.figures import Checks, scored
from training.samples import Reader, Sample
from training.torch_model import CrossEncoder
from training.weak_points import Met, WeakPoints

State = Mapping[str, NDArray[np.float32]]
CHOSEN_BY = "mean", "same document", "retrieval"
"""Figures whose mean chooses."""
SHOWN = (*CHOSEN_BY, "title lift", "held-out", "keep tokens")
SHARES = 0.25, 0.5, 0.75
"""Of what ships, in an average with the best of the others."""


def average(states: Mapping[str, State], shares: Mapping[str, float]) -> dict[str, NDArray[np.float32]]:
    """Each weight's mean over the states, which count by their shares; shares sum to 1."""
    first = next(iter(shares))
    return {
        name: sum((share * states[each][name] for each, share in shares.items()), np.zeros(1, np.float32))
        for name in states[first]
    }


def choose_shares(names: Sequence[str], measure: Callable[[Mapping[str, float]], float]) -> dict[str, float]:
    """The best of: each state alone, all but the first in equal parts, and the first with the best of the others.

    `names`: first what training began with.
    """
    first, *trained = names
    found: list[tuple[float, dict[str, float]]] = []

    def try_out(shares: dict[str, float]) -> float:
        value = measure(shares)
        found.append((value, shares))
        return value

    alone = {name: try_out({name: 1.0}) for name in names}
    if len(trained) > 1:
        try_out({name: 1 / len(trained) for name in trained})
        ordered = sorted(trained, key=lambda name: -alone[name])
        if len(trained) > 2:
            try_out({name: 0.5 for name in ordered[:2]})
    _, best = max((each for each in found if first not in each[1]), key=lambda each: each[0])
    for share in SHARES:
        try_out({first: share, **{name: (1 - share) * part for name, part in best.items()}})
    return max(found, key=lambda each: each[0])[1]


class HeldOut:
    """What a model's weights are worth on held-out pairs and weak points; every pair is made to numbers once."""

    def __init__(self, sets: Mapping[str, Sequence[Pair]], weak: WeakPoints, reader: Reader) -> None:
        self._checks, self._weak, self._reader = Checks(sets, reader), weak, reader
        self._samples: dict[Pair, Sample] = {}

    def figures(self, model: CrossEncoder, device: torch.device) -> dict[str, float]:
        """Those of `Checks`, with the mean of their areas, and of `WeakPoints`."""

        def score(pairs: Sequence[Pair]) -> NDArray[np.float64]:
            new = [pair for pair in dict.fromkeys(pairs) if pair not in self._samples]
            self._samples.update(zip(new, self._reader.read(new), strict=True))
            return scored(model, [self._samples[pair] for pair in pairs], device)[0]

        found = self._checks.figures(model, device)
        if areas := [found[name] for name in self._checks.sets if f"{name} span" in found]:
            found["mean"] = round(float(np.mean(areas)), 4)
        return {**found, **self._weak.figures(score)}


def write_held_out(sets: Mapping[str, Sequence[Pair]], weak: WeakPoints, path: Path) -> int:
    """Write what `HeldOut` needs, for the machine where training is done; returns the file's bytes."""
    stored: dict[str, Any] = {"sets": {name: [asdict(pair) for pair in pairs] for name, pairs in sets.items()}}
    stored |= {"same": [asdict(each) for each in weak.same], "found": [asdict(each) for each in weak.found]}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(json.dumps(stored).encode(), preset=6))
    return path.stat().st_size


def read_held_out(path: Path) -> tuple[dict[str, list[Pair]], WeakPoints]:
    """What `write_held_out` wrote."""
    stored = json.loads(lzma.decompress(path.read_bytes()))
    same, found = ([_met(each) for each in stored[name]] for name in ("same", "found"))
    return {name: [_pair(each) for each in pairs] for name, pairs in stored["sets"].items()}, WeakPoints(same, found)


def _met(stored: Mapping[str, Any]) -> Met:
    return Met(_pair(stored["right"]), tuple(_pair(each) for each in stored["wrong"]))


def _pair(stored: Mapping[str, Any]) -> Pair:
    marks = {
        name: None if stored[name] is None else tuple((start, end) for start, end in stored[name])
        for name in ("spots", "keeps")
    }
    return Pair(**{**stored, **marks})
