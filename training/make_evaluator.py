"""From data to the shipped evaluator: four training runs in a row, export, calibration. About 2.5 hours, two cores.

    python -m training.make_evaluator [--work FOLDER] [--data FOLDER]

The first two runs were stopped when the next mix of data was ready, and of the last an earlier step was best on data
marked dev, so their learning rates are planned for more steps than they took; the same is done here. Finished runs
are kept in --work and not done again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNS = (
    ("plain", "--plain --steps 6500 --stop 700 --check 700 --seed 7"),
    ("full", "--steps 4600 --stop 500 --check 500 --seed 8"),
    ("longer", "--steps 3200 --check 800 --seed 21"),
    ("last", "--steps 6000 --stop 4000 --check 2000 --seed 21 --rate 1e-4"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared = Path(os.environ.get("CRAG_SHARED", ROOT.parent / "shared")) / "data"
    parser.add_argument("--data", type=Path, default=shared)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "crag-evaluator")
    given = parser.parse_args()
    data, before = ["--data", str(given.data)], None
    for name, options in RUNS:
        made = given.work / name / "model.pt"
        if not (given.work / name / "done").exists():
            resume = ["--resume", str(before)] if before else []
            run("train_evaluator", "--out", str(made.parent), "--note", name, *options.split(), *resume, *data)
            (given.work / name / "done").touch()
        before = made
    run("export_evaluator", str(before), *data)
    run("calibrate_evaluator", *data)


def run(module: str, *arguments: str) -> None:
    """One step, in a process of its own; the first that fails ends all."""
    ended = subprocess.run([sys.executable, "-m", f"training.{module}", *arguments], cwd=ROOT, check=False)
    if ended.returncode:
        sys.exit(f"training.{module} failed.")


if __name__ == "__main__":
    main()
