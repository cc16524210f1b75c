"""One leg of the evaluator's long training, beside all other work: lowest priority, taken up where it was left.

    python -m training.leg --minutes 110        trains, evaluates, and adds a line to training/runs.jsonl
    python -m training.leg --evaluate           evaluates what is saved, and adds the line
    python -m training.leg --carry              writes training/carried/leg.npz, which goes into git

It goes on from runs/leg/state.pt; where there is none, from the carried checkpoint; where there is none either, from
the evaluator that ships. SIGTERM ends it at the next step with all saved; SIGSTOP and SIGCONT pause it. Where
runs/mined.zip exists (`python -m training.mine`), its pairs are trained on beside those of the first sources.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # a thread that waits leaves its core to others
import torch
from numpy.typing import NDArray

from corpora.filings import filing_pairs
from corpora.pair import Pair
from corpora.pairs import Corpus
from corpora.sources.checks import checks
from training import checkpoints
from training.bodies import BODIES, Body
from training.candidates import compute_digest
from training.feed import Epochs, Feed, Place
from training.figures import scored
from training.mined import Mined, Mixed, draw_weak_points
from training.run import WEIGHTS, Run, complete, digest, load_shipped, load_state
from training.soups import HeldOut
from training.torch_model import CrossEncoder, published_names
from training.train_evaluator import ROOT
from training.vectors import remembered
from training.weak_points import WeakPoints

FOLDER, PACK = ROOT / "runs" / "leg", ROOT / "runs" / "mined.zip"
RUNS = ROOT / "training" / "runs.jsonl"
STEPS, SEED = 60_000, 51
FIRST = 90_000
"""Pairs of the first sources in an epoch that also has mined ones."""
ON = {"cpu": (3072, 1e-4, 0), "cuda": (32768, 3e-4, 12)}
"""Tokens a step, learning rate and processes that prepare steps."""
TEACHER = 0.5
"""The share of each target that the evaluator which ships says: with hard targets alone more training made it worse."""
COMPARED = 300
"""Pairs on which the carried checkpoint is compared with the full one."""


def main(arguments: Sequence[str] | None = None) -> None:
    began = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared = Path(os.environ.get("CRAG_SHARED", ROOT.parent / "shared")) / "data"
    parser.add_argument("--data", type=Path, default=shared)
    parser.add_argument("--minutes", type=float, default=0.0, help="of training, loading included")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where state.pt is kept")
    parser.add_argument("--pack", type=Path, default=PACK, help="mined questions, by training.mine")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, default=STEPS, help="what the learning rate is planned for")
    parser.add_argument("--every", type=float, default=300.0, help="seconds from one state.pt to the next")
    parser.add_argument("--body", choices=tuple(BODIES), default="minilm", help="the encoder that is trained")
    parser.add_argument("--note", default="")
    parser.add_argument("--evaluate", action="store_true")
    parser.add_argument("--anchor", action="store_true", help="evaluates the evaluator that ships, without training")
    parser.add_argument("--carry", action="store_true")
    given = parser.parse_args(arguments)
    step_back(idle=not (given.evaluate or given.anchor or given.carry))
    if given.carry:
        return carry(given.folder)
    given.tokens, given.rate, workers = ON[given.device]
    given.device, given.out = torch.device(given.device), given.folder
    complete(given, seed=SEED, teacher=TEACHER)
    given.out.mkdir(parents=True, exist_ok=True)
    epochs, data = choose_data(given)
    feed = Feed(epochs, given.seed, given.tokens, workers, BODIES[given.body].reader)
    try:
        torch.manual_seed(given.seed)
        run = Run(feed, given, began)
        if given.anchor:
            run.begin(run.body.weights())
            run.kept = {"begin": "shipped", "logged": count(run)}
        else:
            take_up(run, data)
        if not (given.evaluate or given.anchor):
            signal.signal(signal.SIGCONT, run.watch.resume)
            signal.signal(signal.SIGTERM, lambda *_: setattr(run, "halted", True))
            for _ in run.steps():
                pass
            if run.halted:
                return print(f"Ended at step {run.step}; `python -m training.leg --evaluate` adds the line.")
        line = evaluate(run, epochs, given)
    finally:
        feed.close()
    with RUNS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    print(json.dumps(line, indent=1))
    if not given.anchor:
        run.kept = {**run.kept, "logged": count(run)}
        run.save()


def step_back(*, idle: bool = True) -> None:
    """Take only the processor time that nobody else wants; what is soon done takes a little.

    Linux shares time between sessions first (sched_autogroup): the leader of one steps back for the whole of it.
    """
    os.nice(19 if idle else 10)
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):
            Path("/proc/self/autogroup").write_text("19" if idle else "10")
    if idle and hasattr(os, "SCHED_IDLE"):
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def choose_data(given: argparse.Namespace) -> tuple[Epochs, str]:
    """What pairs are drawn from, and one name for it: another name is other data.

    Without the data, as on a machine that is lent, the pack alone.
    """
    here = (given.data / "train").exists()
    first = digest(given.data)[:16] if here else ""
    if not given.pack.exists():
        return Corpus(given.data, remembered), first
    code = b"".join((ROOT / "training" / name).read_bytes() for name in ("mined.py", "near_misses.py", "candidates.py"))
    name = f"{first} mined {compute_digest(given.pack)} {hashlib.sha256(code).hexdigest()[:8]}".strip()
    mined = Mined(given.pack)
    return (Mixed([(Corpus(given.data, remembered), FIRST), (mined, 0)]) if here else mined), name


def take_up(run: Run, data: str) -> None:
    """Go on from the state or the carried checkpoint, whichever is further; without either from what ships."""
    state, carried = load_state(run.given.out), checkpoints.read_carried()
    if carried is not None and carried.about["body"] != run.given.body:
        carried = None
    if state and (carried is None or state["step"] >= carried.about["step"]):
        run.take_up(state)
    elif carried is not None:
        about = carried.about
        run.begin(add_frozen(carried.weights, run.body))
        run.step = run.warmed = about["step"]
        run.seen, run.place, run.watch = about["pairs"], Place(*about["place"]), checkpoints.Watch(about["seconds"])
        run.kept = about["kept"]
    else:
        run.begin(run.body.weights())
        run.kept = {"begin": "shipped", "logged": count(run)}
    before = run.kept.get("data")
    if before and before != data:
        print(f"The data has changed from {before} to {data}: a new epoch begins.")
        run.place = Place(run.place.epoch + 1)
        run.kept["changed"] = [*run.kept.get("changed", []), {"step": run.step, "from": before}]
    run.kept["data"] = run.data = data


def add_frozen(weights: dict[str, NDArray[np.float32]], body: Body) -> dict[str, NDArray[np.float32]]:
    """Carried weights under their published names, with the shipped table of words."""
    state = load_shipped(body).state_dict()
    for name, value in weights.items():
        state[name].copy_(torch.from_numpy(value))
    return published_names(state)


def count(run: Run) -> dict[str, float]:
    return {"step": run.step, "pairs": run.seen, "seconds": round(run.watch.seconds)}


def evaluate(run: Run, epochs: Epochs, given: argparse.Namespace) -> dict[str, Any]:
    """One line for the log of runs: what was trained since the last one, and what held-out documents say."""
    first = epochs.parts[0][0] if isinstance(epochs, Mixed) else epochs
    sets = {} if isinstance(first, Mined) else checks(first)
    weak = draw_weak_points(Mined(given.pack).pack) if given.pack.exists() else WeakPoints((), ())
    return describe(run, given, HeldOut(sets, weak, run.reader).figures(run.average, run.device))


def describe(run: Run, given: argparse.Namespace, figures: dict[str, float]) -> dict[str, Any]:
    """One line for the log of runs, with figures of held-out documents."""
    counted, before = count(run), run.kept["logged"]
    known = {"run": "leg", "begin": run.kept.get("begin", ""), "note": given.note, "device": run.device.type}
    known |= {"tokens": given.tokens, "rate": given.rate, "planned": given.steps, "seed": given.seed}
    known |= {"data": run.data, "changed": run.kept.get("changed", [])}
    losses = {name: round(float(loss), 4) for name, loss in zip(WEIGHTS, run.losses, strict=True)}
    run.kept["changed"] = []
    stretch = {f"{name} since": round(counted[name] - before[name]) for name in counted}
    return {**known, "from": before["step"], **counted, **stretch, "loss": losses, **figures}


def carry(folder: Path) -> None:
    """The average weights as the carried checkpoint, and how far its logits are from theirs."""
    state = load_state(folder)
    if state is None:
        raise SystemExit(f"{folder} holds no checkpoint that can be read: nothing is carried.")
    weights = {name: value.float().numpy() for name, value in state["average"].items()}
    about = {"step": state["step"], "pairs": state["seen"], "seconds": state["seconds"]}
    body = BODIES[state["planned"]["body"]]
    about |= {"place": state["place"], "kept": state["kept"], "body": state["planned"]["body"]}
    size = checkpoints.carry(weights, about)
    carried = checkpoints.read_carried()
    assert carried is not None
    full, small = load_shipped(body).eval(), CrossEncoder(body.layers, body.words).eval()
    full.load_state_dict(state["average"], strict=not body.shared)
    small.begin(add_frozen(carried.weights, body))
    samples = body.reader().read(make_compared_pairs())
    one, other = (scored(each, samples, torch.device("cpu"))[0] for each in (full, small))
    close = float(np.corrcoef(one, other)[0, 1])
    print(f"{checkpoints.CARRIED.name}: step {about['step']}, {size / 1e6:.1f} MB, logits correlate at {close:.5f}")


def make_compared_pairs() -> list[Pair]:
    """Pairs for which no data is needed."""
    return list(filing_pairs(random.Random(3), COMPARED // 2))[:COMPARED]


if __name__ == "__main__":
    main()
