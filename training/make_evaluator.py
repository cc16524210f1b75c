"""From data to the shipped evaluator: training in legs, export, calibration.

    python -m training.make_evaluator [--work FOLDER] [--begin base|shipped] [--steps N] [--minutes M] [--data FOLDER]

Called again with the same --work it goes on where training stopped, were it in the middle of an epoch; with --minutes
it stops after so many. When all steps are done the model is exported and calibrated. On a CPU a step has about 3,000
tokens, on a GPU ten times as many and a higher rate.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from corpora.places import ROOT, parser_of

ON_CPU = "--tokens 3072 --rate 1e-4 --check 1000"
ON_GPU = "--tokens 32768 --rate 3e-4 --check 1000"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "crag-evaluator")
    parser.add_argument("--begin", default="shipped", help="base: the published encoder; shipped; or a file")
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument("--minutes", type=float, default=0.0)
    given = parser.parse_args()
    data, state = ["--data", str(given.data)], given.work / "state.pt"
    leg = ["--minutes", str(given.minutes), *data]
    if state.exists():
        run("train_evaluator", "--resume", str(given.work), *leg)
    else:
        plan = (ON_GPU if torch.cuda.is_available() else ON_CPU).split()
        plan += ["--begin", given.begin, "--steps", str(given.steps), "--seed", str(given.seed), "--note", "fourth"]
        run("train_evaluator", "--out", str(given.work), *plan, *leg)
    kept = torch.load(state, "cpu", weights_only=True)
    if kept["step"] < kept["planned"]["steps"]:
        print(f"{kept['step']} of {kept['planned']['steps']} steps are done; the same command goes on.")
        return
    run("export_evaluator", str(given.work / "model.pt"), *data)
    run("calibrate_evaluator", *data)
    run("calibrate_short", *data)
    run("calibrate_sets", *data)
    run("calibrate_candidates", *data)
    run("calibrate_answers", *data)


def run(module: str, *arguments: str) -> None:
    """One step, in a process of its own; the first that fails ends all."""
    ended = subprocess.run([sys.executable, "-m", f"training.{module}", *arguments], cwd=ROOT, check=False)
    if ended.returncode:
        sys.exit(f"training.{module} failed.")


if __name__ == "__main__":
    main()
