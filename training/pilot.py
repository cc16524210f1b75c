"""Compares the bodies that the evaluator could have, at equal processor time and on equal data.

    python -m training.pilot [--processor-minutes 120] [--bodies minilm e5-12 e5-6]

Each body is trained in a folder of its own under runs/pilot until it has used its time, or goes on where it was left;
then it is evaluated as a leg is, on equal held-out documents. The table shows mean AUC, the weak points, and the
processor time of a pair when it is read. The learning rate stays what it is after its warm-up, so that a body's time
can be extended. A line for each goes to training/runs.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from training import leg
from training.bodies import BODIES
from training.feed import Feed
from training.figures import scored
from training.run import Run, complete, load_state
from training.train_evaluator import ROOT

FOLDER = ROOT / "runs" / "pilot"
COLUMNS = ("mean", "same document", "same document first", "title lift", "retrieval")
USED = "processor"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared = Path(os.environ.get("CRAG_SHARED", ROOT.parent / "shared")) / "data"
    parser.add_argument("--data", type=Path, default=shared)
    parser.add_argument("--pack", type=Path, default=leg.PACK)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--processor-minutes", type=float, default=120.0, help="for each body")
    parser.add_argument("--bodies", nargs="+", choices=tuple(BODIES), default=list(BODIES))
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--note", default="")
    given = parser.parse_args(arguments)
    leg.step_back()
    given.tokens, given.rate, _ = leg.ON[given.device]
    # The rate falls over ten million steps, so that it hardly falls.
    given.device, given.steps, given.seed = torch.device(given.device), 10_000_000, leg.SEED
    complete(given, every=300.0)
    epochs, data = leg.choose_data(given)
    lines = {}
    for body in given.bodies:
        given.body, given.out = body, given.folder / body
        given.out.mkdir(parents=True, exist_ok=True)
        feed = Feed(epochs, given.seed, given.tokens, 0, BODIES[body].reader)
        torch.manual_seed(given.seed)
        run = Run(feed, given, time.monotonic())
        begin(run, data)
        signal.signal(signal.SIGCONT, run.watch.resume)
        signal.signal(signal.SIGTERM, lambda *_, run=run: setattr(run, "halted", True))
        train_for(run, 60 * given.processor_minutes)
        if run.halted:
            return print(f"Ended in {body} at step {run.step}; the same command goes on.")
        line = {**leg.evaluate(run, epochs, given), "run": "pilot", "body": body, USED: round(run.kept[USED])}
        lines[body] = {**line, "ms a pair": round(measure_milliseconds(run), 1)}
        with leg.RUNS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(lines[body]) + "\n")
    print(format_table(lines))


def begin(run: Run, data: str) -> None:
    """From where the body was left, or from what ships of it."""
    state = load_state(run.given.out)
    if state:
        run.take_up(state)
    else:
        run.begin(run.body.weights())
        run.kept = {"begin": run.given.body, "logged": {"step": 0, "pairs": 0, "seconds": 0}, USED: 0.0}
    run.kept["data"] = run.data = data


def train_for(run: Run, seconds: float) -> None:
    """Train until the run has used the given seconds of processor time, over all of its legs."""
    used, began = run.kept[USED], time.process_time()
    if used < seconds:
        for _ in run.steps():
            run.kept[USED] = used + time.process_time() - began
            run.halted = run.halted or run.kept[USED] >= seconds
        run.halted = run.kept[USED] < seconds


def measure_milliseconds(run: Run) -> float:
    """Processor time of reading one pair, on a CPU in 32 bits: the shipped int8 form is faster by about three."""
    samples = run.reader.read(leg.make_compared_pairs()[:60])
    began = time.process_time()
    scored(run.average, samples, run.device)
    return 1000 * (time.process_time() - began) / len(samples)


def format_table(lines: Mapping[str, Mapping[str, Any]]) -> str:
    """The bodies by mean AUC, the best first."""
    names = ("body", "steps", "pairs", USED, *COLUMNS, "ms a pair")
    rows = [" | ".join(names), " | ".join("---" for _ in names)]
    for body, line in sorted(lines.items(), key=lambda each: -each[1].get("mean", 0.0)):
        cells = (body, line["step"], line["pairs"], line[USED], *(line.get(name, "") for name in COLUMNS))
        rows.append(" | ".join(map(str, (*cells, line["ms a pair"]))))
    return "\n".join(f"| {row} |" for row in rows)


if __name__ == "__main__":
    main()
