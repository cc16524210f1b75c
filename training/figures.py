"""What a run says of itself on held-out pairs: loss, and how well each kind of data is told apart."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from corpora.measures import auc
from corpora.pair import Pair
from crag.models.cross_encoder import PASSAGE
from training.samples import Batch, Reader, Sample, batched, dealt
from training.torch_model import CrossEncoder, Read, shorten

OF_EACH = 300
"""Pairs of one set that are read at a check, at most."""
Tensors = dict[str, torch.Tensor]


def draw_checks(sets: Mapping[str, Sequence[Pair]]) -> dict[str, list[Pair]]:
    """At most OF_EACH pairs of each set, the same ones every time."""
    dice = random.Random(1)
    return {name: dice.sample(list(found), min(len(found), OF_EACH)) for name, found in sets.items()}


class Checks:
    """Held-out pairs by what they tell, read once."""

    def __init__(self, sets: Mapping[str, Sequence[Pair]], reader: Reader | None = None) -> None:
        reader = reader or Reader()
        self.sets: dict[str, list[Sample]] = {name: reader.read(found) for name, found in draw_checks(sets).items()}

    def figures(self, model: CrossEncoder, device: torch.device) -> dict[str, float]:
        """Areas under the curve of relevance, of the best place, and of each token's being evidence.

        `held-out` and `held-out keep` are losses, each set counting the same.
        """
        found, losses, keep_losses = {}, [], []
        for name, samples in self.sets.items():
            relevance, spans, keeps = scored(model, samples, device)
            labels = np.array([sample.label for sample in samples])
            hard = (labels > 0.5).astype(np.int64)
            if 0 < hard.sum() < len(hard):
                found[name], found[f"{name} span"] = round(auc(hard, relevance), 4), round(auc(hard, spans), 4)
            losses.append(_loss(labels, relevance))
            targets = np.concatenate([sample.keep for sample in samples])
            known = targets >= 0
            if known.any():
                logits = np.concatenate(keeps)[known]
                keep_losses.append(_loss(targets[known].astype(np.float64), logits))
                if name == "keep" and 0 < targets[known].sum() < known.sum():
                    found["keep tokens"] = round(auc(targets[known], logits), 4)
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
    with torch.no_grad(), shorten(device):
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
