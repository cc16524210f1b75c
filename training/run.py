"""One training run of the evaluator's cross-encoder: its steps, its state, its moving average.

It needs torch, numpy and tokenizers alone, so that it also runs on a machine that is lent and holds little else.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from training.bodies import BODIES, Body
from training.checkpoints import Watch, read_newest, renew
from training.feed import Feed, Place
from training.figures import Checks, on_device, read_batch
from training.samples import Batch
from training.torch_model import DROPOUT, CrossEncoder, shorten

WEIGHTS = {"relevance": 1.0, "span": 0.4, "closeness": 4.0, "keep": 0.4}
"""What each head's loss counts."""
AVERAGE = 0.995
"""The moving average's decay for each step."""
WARM_UP = 300
STATE = "state.pt"
PLANNED = ("steps", "tokens", "rate", "seed", "only", "begin", "note", "body")
"""What a run keeps when it is taken up again, whatever the command says then."""


def digest(data: Path) -> str:
    """One hash over the train files, so that a run can be told from one on other data."""
    names = "squad/v1_train.json squad/v2_train.json nq/train.jsonl popqa/train.jsonl multihop/hotpotqa_train.json"
    names += " multihop/musique_train.json scifact/scifact_corpus.jsonl scifact/scifact_claims_train.jsonl"
    files = [*(data / name for name in names.split()), *sorted((data / "train").glob("*.gz"))]
    return hashlib.sha256(b"".join(hashlib.sha256(f.read_bytes()).digest() for f in files if f.exists())).hexdigest()


def load_state(folder: Path) -> dict[str, Any] | None:
    """The newest whole state of a run, or None."""

    def read(path: Path) -> dict[str, Any]:
        found: dict[str, Any] = torch.load(path, "cpu", weights_only=True)
        return found

    return read_newest(folder / STATE, read)


UNSET = {
    **{"only": (), "begin": "", "note": "", "stop": 0, "minutes": 0.0, "timed": False},
    **{"every": 600.0, "check": 10**9, "dropout": DROPOUT, "teacher": 0.0},
}
"""What a run does that a command says nothing of."""


def complete(given: argparse.Namespace, **known: Any) -> None:
    """Add what a `Run` needs to know and the command does not say; `known` replaces what it says."""
    vars(given).update({**UNSET, **vars(given), **known})


def load_shipped(body: Body) -> CrossEncoder:
    """The model that a body begins with."""
    model = CrossEncoder(body.layers, body.words)
    model.begin(body.weights())
    return model


class Run:
    """One training run, new (`begin`) or gone on with (`take_up`)."""

    def __init__(self, feed: Feed, given: argparse.Namespace, began: float) -> None:
        self.feed, self.given, self.began = feed, given, began
        self.device: torch.device = given.device
        self.body = BODIES[given.body]
        self.reader = self.body.reader()
        self.data = digest(given.data)
        self.place, self.step, self.seen, self.watch = Place(), 0, 0, Watch()
        self.halted = False
        self.teacher: CrossEncoder | None = None
        self.losses = torch.zeros(len(WEIGHTS), device=self.device)

    def begin(self, weights: dict[str, Any]) -> None:
        """From weights under their published names; parts that they lack learn four times as fast."""
        model = CrossEncoder(self.body.layers, self.body.words, self.given.dropout)
        self._prepared(model, model.begin(weights))
        if self.given.teacher:
            self.teacher = copy.deepcopy(model, {id(model.words): model.words}).eval()

    def take_up(self, state: dict[str, Any]) -> None:
        """From the very step at which a state was saved."""
        shared = self.body.shared
        model = load_shipped(self.body) if shared else CrossEncoder(self.body.layers, self.body.words)
        model.load_state_dict(state["model"], strict=not self.body.shared)
        self._prepared(model, set(state["fresh"]))
        if self.given.teacher:
            self.teacher = load_shipped(self.body).to(self.device).eval()
        self.average.load_state_dict(state["average"], strict=not self.body.shared)
        for group in state["optimizer"]["param_groups"]:
            group["fused"] = self.device.type == "cuda"  # it may have been saved on another device
        self.optimizer.load_state_dict(state["optimizer"])
        self.place, self.losses = Place(*state["place"]), state["losses"].to(self.device)
        self.step, self.seen, self.watch = state["step"], state["seen"], Watch(state["seconds"])
        torch.set_rng_state(state["dice"])
        if state["cuda dice"] is not None and self.device.type == "cuda":
            torch.cuda.set_rng_state(state["cuda dice"])

    def _prepared(self, model: CrossEncoder, fresh: set[str]) -> None:
        self.model, self.fresh = model.to(self.device), fresh
        for name, each in model.named_parameters():
            part = name.split(".")[0]
            frozen = {"words"} if self.body.shared else {"words", "positions"}
            each.requires_grad_(part in self.given.only if self.given.only else part not in frozen)
        kinds: dict[bool, list[torch.nn.Parameter]] = {False: [], True: []}
        for name, each in model.named_parameters():
            if each.requires_grad:
                kinds[name.split(".")[0] in fresh].append(each)
        rate = self.given.rate
        groups = [{"params": each, "top": rate * (4 if new else 1)} for new, each in kinds.items() if each]
        self.optimizer = torch.optim.AdamW(groups, rate, weight_decay=0.01, fused=self.device.type == "cuda")
        self.average = copy.deepcopy(model, {id(model.words): model.words}).eval()
        self.trained = [each for kind in kinds.values() for each in kind]

    def train(self) -> dict[str, object]:
        """Steps until the last one or the time is up; returns what goes into the log of all runs."""
        given, latest = self.given, dict[str, float]()
        checks = Checks(self.feed.checks(), self.reader)
        first = self.step
        for _ in self.steps():
            if self.step % given.check == 0 and self.step < given.steps:
                latest = self._checked(checks)
        latest = self._checked(checks)
        ended = {"from": first, "step": self.step, "pairs": self.seen, "seconds": round(self.watch.seconds)}
        planned = {name: getattr(given, name) for name in PLANNED}
        return {**planned, "device": self.device.type, "data": self.data, **ended, **latest}

    def steps(self) -> Iterator[int]:
        """Train until the last step, until the time is up or until `halted`; saved now and then, and at the end."""
        given, saved = self.given, self.watch.seconds
        last = min(given.stop or given.steps, given.steps)
        for place, batch in self.feed.batches(self.place):
            if self.halted or self.step >= last or (given.minutes and self._minutes() > given.minutes):
                break
            self._step(batch)
            self.place, self.step, self.seen = place, self.step + 1, self.seen + len(batch)
            seconds = self.watch.tick()
            if seconds - saved > given.every:
                self.save()
                saved = seconds
            if self.step % 100 == 0:
                print(self.step, self.seen, round(seconds), [round(float(x), 4) for x in self.losses], flush=True)
            yield self.step
        self.watch.tick()
        self.save()

    def _minutes(self) -> float:
        return (time.monotonic() - self.began) / 60

    def _done(self) -> float:
        """The share of the run that is over: of its steps or, where that is what is short, of its time."""
        timed = self._minutes() / self.given.minutes if self.given.timed else 0.0
        return min(1.0, max(self.step / self.given.steps, timed))

    def _step(self, batch: Batch) -> None:
        steps = self.given.steps
        share = min(1.0, (self.step + 1) / min(WARM_UP, max(1, steps // 10))) * (1 - self._done())
        for group in self.optimizer.param_groups:
            group["lr"] = group["top"] * share
        parts = self._losses(batch)
        sum(weight * part for weight, part in zip(WEIGHTS.values(), parts, strict=True)).backward()
        torch.nn.utils.clip_grad_norm_(self.trained, 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.no_grad():
            self.losses.lerp_(torch.stack([part.detach() for part in parts]), 0.01)
            if (self.step + 1) % 5 == 0:
                decay = min(AVERAGE**5, (self.step + 1) / (self.step + 51))
                for old, new in zip(self.average.parameters(), self.model.parameters(), strict=True):
                    if new.requires_grad:
                        old.lerp_(new, 1 - decay)

    def _losses(self, batch: Batch) -> Sequence[torch.Tensor]:
        """In the order of `WEIGHTS`."""
        given = on_device(batch, self.device)
        ids, label, weight = given["ids"], given["label"], given["weight"]
        hidden = (torch.rand(ids.shape, device=self.device) < 0.03) & (ids > self.reader.last_special)
        given["ids"] = torch.where(hidden, self.reader.mask, ids)
        self.model.train()
        longest = int(batch.asked.max())
        with shorten(self.device):
            read = read_batch(self.model, given, longest)
            with torch.no_grad():
                soft = read_batch(self.teacher, given, longest) if self.teacher else None
        share = self.given.teacher if soft else 0.0
        relevance = functional.binary_cross_entropy_with_logits(
            read.relevance.float(), _soften(label, soft and soft.relevance, share), weight=weight
        )
        placed = (given["start"] >= 0).float()
        places = torch.arange(ids.shape[1], device=self.device)
        floor = torch.where(places < given["real"][:, None], 0.0, -1e4)
        span = torch.zeros((), device=self.device)
        for name in ("start", "end"):
            logits = getattr(read, name).float() + floor
            losses = functional.cross_entropy(logits, given[name].clamp(min=0), reduction="none")
            if soft:
                target = (getattr(soft, name).float() + floor).softmax(dim=1)
                losses = (1 - share) * losses + share * functional.cross_entropy(logits, target, reduction="none")
            span = span + 0.5 * _mean(losses, placed)
        known = (~given["closeness"].isnan()).float()
        closeness = _mean((read.closeness.float() - given["closeness"].nan_to_num()) ** 2, known)
        # Each text counts the same, however long; so do its tokens.
        judged = (given["keep"] >= 0).float()
        target = _soften(given["keep"].clamp(min=0).float(), soft and soft.keep, share)
        losses = functional.binary_cross_entropy_with_logits(read.keep.float(), target, reduction="none")
        by_text = (losses * judged).sum(dim=1) / judged.sum(dim=1).clamp(min=1)
        keep = _mean(by_text * weight, judged.amax(dim=1))
        return relevance, span, closeness, keep

    def _checked(self, checks: Checks) -> dict[str, float]:
        figures = checks.figures(self.average, self.device)
        losses = {name: round(float(loss), 4) for name, loss in zip(WEIGHTS, self.losses, strict=True)}
        line = {"step": self.step, "pairs": self.seen, "seconds": round(self.watch.seconds), "loss": losses, **figures}
        print(json.dumps(line), flush=True)
        with (self.given.out / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        return figures

    def save(self) -> None:
        """Write state.pt and model.pt, each whole or not at all; those before are kept."""
        state = {
            "planned": {name: getattr(self.given, name) for name in PLANNED},
            "data": self.data,
            "fresh": sorted(self.fresh),
            "model": self._saved(self.model),
            "average": self._saved(self.average),
            "optimizer": self.optimizer.state_dict(),
            "place": list(self.place),
            "losses": self.losses,
            "step": self.step,
            "seen": self.seen,
            "seconds": self.watch.seconds,
            "dice": torch.get_rng_state(),
            "cuda dice": torch.cuda.get_rng_state() if self.device.type == "cuda" else None,
        }
        half = {name: value.half().cpu() for name, value in self._saved(self.average).items()}
        renew(self.given.out / STATE, lambda part: torch.save(state, part))
        renew(self.given.out / "model.pt", lambda part: torch.save(half, part))

    def _saved(self, model: CrossEncoder) -> dict[str, torch.Tensor]:
        """A model's tensors, without words that are the embedder's."""
        return {n: value for n, value in model.state_dict().items() if not (self.body.shared and n == "words.weight")}


def _soften(labels: torch.Tensor, logits: torch.Tensor | None, share: float) -> torch.Tensor:
    """Labels, a share of each as the teacher says it."""
    return labels if logits is None else labels.lerp(logits.float().sigmoid(), share)


def _mean(values: torch.Tensor, counted: torch.Tensor) -> torch.Tensor:
    return (values * counted).sum() / counted.sum().clamp(min=1)
