"""Part `start` of benchmarks.overhead: how long a fresh process takes to its first result, without a language model.

Three programs, each begun anew every time: a script that imports the engine, `crag --help`, and `crag ask` on a
library of one report, the sample's, from the start of the process to its end, which comes right after the answer. Each
question is another one, so that no grade is remembered. The programs take turns. Files are in the system's cache, and
compiled, after one start that is not counted. Processor time is that of all threads of the process.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from benchmarks.pages import load, made_by, p95, table
from corpora.places import ROOT
from crag.core.config import AppConfig
from crag.engine import Engine

PROGRAMS = {
    "from crag import Engine": (["-c", "from crag import Engine"], 0.5),
    "crag --help": (["-m", "crag", "--help"], 0.5),
    "crag ask": (["-m", "crag", "ask"], 1.8),
}
"""What Python is given, and the seconds at the median that it may take."""


def _timed(arguments: list[str], data: Path) -> tuple[float, float]:
    """Seconds and processor seconds of one process."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CRAG_", "PYTHON"))}
    environment["CRAG_DATA"] = str(data)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *arguments], env=environment, cwd=ROOT, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(starts: int) -> str:
    """The page of this part."""
    before = load()
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        with Engine(AppConfig.of(data=Path(folder))) as engine:
            engine.add(engine.sample().pdf)
            asked = engine.sample().questions[0].question
        for number in range(-1, starts):
            question = f"{asked} ({number})"
            for name, (arguments, _) in PROGRAMS.items():
                run = _timed([*arguments, *([question] if name == "crag ask" else [])], Path(folder))
                found[name] += [run] if number >= 0 else []
    rows = []
    for name, (_, goal) in PROGRAMS.items():
        seconds, worked = zip(*found[name], strict=True)
        middle = statistics.median(seconds)
        figures = (middle, p95(seconds), statistics.median(worked), goal)
        rows.append([f"`{name}`", *(f"{each:.2f} s" for each in figures), "met" if middle <= goal else "missed"])
    lines = [
        "# From a cold start to the first result",
        f"{made_by('overhead --part start', before)}: {starts} starts of each, in turns.",
        table(["program", "median", "p95", "processor time", "goal", ""], rows),
        "`crag ask` answers from a library of one report of 72 pages, without a language model. Each question is new.",
    ]
    return "\n\n".join(lines)
