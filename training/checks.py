"""What a run says of itself on held-out pairs: loss, and how well each kind of data is told apart."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from crag.models.pairing import PASSAGE
from training.measures import auc
from training.pair import Pair
from training.samples import Batch, Reader, Sample, batched, dealt
from training.torch_model import CrossEncoder, Read

__all__ = ["Checks", "on_device", "read_batch"]

PAIRS, OF_EACH = 6000, 600
"""Pairs that are read at a check, and at most of one set."""
FEWEST = 30
"""A set of fewer positives or negatives says nothing."""
TOGETHER = {
    "squad paragraph": "answerable",
    "squad unanswerable": "answerable",
    "nq passage": "nq",
    "nq other": "nq",
}
"""Sources that are one set; each other source is a set of its own."""
Tensors = dict[str, torch.Tensor]


class Checks:
    """Held-out pairs by what they tell, read once."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        dice, reader = random.Random(1), Reader()
        kinds: dict[str, list[Pair]] = {}
        for pair in pairs:
            kinds.setdefault(TOGETHER.get(pair.source, pair.source), []).append(pair)
        told = {}
        for name, found in sorted(kinds.items()):
            right = [pair for pair in found if pair.label > 0.5]
            if min(len(right), len(found) - len(right)) >= FEWEST:
                told[name] = found
        size = min(OF_EACH, PAIRS // max(1, len(told)))
        self.sets: dict[str, list[Sample]] = {
            name: reader.read(dice.sample(found, min(len(found), size))) for name, found in told.items()
        }

    def figures(self, model: CrossEncoder, device: torch.device) -> dict[str, float]:
        """Areas under the curve of relevance, of the best place, and of each token's being evidence.

        `held-out` and `held-out keep` are losses, each set counting the same.
        """
        found, losses, keep_losses = {}, [], []
        for name, samples in self.sets.items():
            relevance, spans, keeps = scored(model, samples, device)
            labels = np.array([sample.label for sample in samples])
            hard = (labels > 0.5).astype(np.int64)
            found[name], found[f"{name} span"] = round(auc(hard, relevance), 4), round(auc(hard, spans), 4)
            losses.append(_loss(labels, relevance))
            targets = np.concatenate([sample.keep for sample in samples])
            known = targets >= 0
            if known.any():
                logits = np.concatenate(keeps)[known]
                keep_losses.append(_loss(targets[known].astype(np.float64), logits))
                if 0 < targets[known].sum() < known.sum():
                    found[f"{name} keep"] = round(auc(targets[known], logits), 4)
        if losses:
            found["held-out"] = round(float(np.mean(losses)), 4)
        if keep_losses:
            found["held-out keep"] = round(float(np.mean(keep_losses)), 4)
        return found


def scored(
    model: CrossEncoder, samples: Sequence[Sample], device: torch.device
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[NDArray[np.float64]]]:
    """Relevance logits, the best span's start and end logits less those of "no answer", each token's keep logit."""
    order = sorted(range(len(samples)), key=lambda number: len(samples[number].ids))
    relevance, spans = np.zeros(len(samples)), np.zeros(len(samples))
    keeps = [np.zeros(0)] * len(samples)
    model.eval()
    at = 0
    with torch.no_grad(), torch.autocast(device.type, torch.bfloat16):
        for dealt_samples in dealt([samples[number] for number in order], 8192):
            batch = batched(dealt_samples)
            given = on_device(batch, device)
            read = read_batch(model, given, int(batch.asked.max()))
            places = torch.arange(batch.ids.shape[1], device=device)
            floor = torch.where((places < given["real"][:, None]) & (given["kinds"] >= PASSAGE), 0.0, -1e4)
            best = (read.start.float() + floor).max(dim=1).values + (read.end.float() + floor).max(dim=1).values
            rows = order[at : at + len(batch)]
            relevance[rows] = read.relevance.float().cpu().numpy()
            spans[rows] = (best - read.start[:, 0].float() - read.end[:, 0].float()).cpu().numpy()
            for row, logits in zip(rows, read.keep.float().cpu().numpy(), strict=True):
                keeps[row] = logits[: len(samples[row].ids)].astype(np.float64)
            at += len(batch)
    return relevance, spans, keeps


def on_device(batch: Batch, device: torch.device) -> Tensors:
    """A batch as tensors; a GPU fetches them while it is still at the step before."""
    made = {name: torch.from_numpy(value) for name, value in vars(batch).items()}
    if device.type == "cuda":
        return {name: value.pin_memory().to(device, non_blocking=True) for name, value in made.items()}
    return made


def read_batch(model: CrossEncoder, given: Tensors, longest: int) -> Read:
    read: Read = model(given["ids"], given["kinds"], given["real"], given["asked"], longest)
    return read


def _loss(labels: NDArray[np.float64], logits: NDArray[np.float64]) -> float:
    return float((np.logaddexp(0, logits) - labels * logits).mean())
