"""Search, adding, opening and memory of a library of up to 1,000,000 chunks, beside other ways to search it.

python -m benchmarks.scale [--sizes 10000 …] [--sides NAME …] [--as-built] [--data FOLDER] [--cache FOLDER] [--out …]

Chunks are real ones with other names, figures and years (scale_chunks.py), vectors as the shipped model's are, and the
questions real. Sides are those of scale_sides.py; a side whose module is not there is passed over, and so is one at
sizes beyond its `most`, unless it is named. Every step of every side runs in a process of its own, one after the
other. What is built stays in --cache (or $CRAG_BENCH_CACHE, else the system's temporary folder) and is used again
while the chunks and the side's code are the same; --as-built does not look at the code. The first run embeds 22,000
real chunks, some minutes. A million chunks take up to 4 GB of disk a side, twice that for a moment.

Prints a page; the whole is written to results/scale.md and scale.json, a part only to --out.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.pages import parse, publish
from benchmarks.scale_chunks import Maker
from benchmarks.scale_likeness import likeness, wording
from benchmarks.scale_plan import planned
from benchmarks.scale_report import report
from benchmarks.scale_sides import SIDES, Side
from benchmarks.scale_sources import Sources, gathered
from corpora.places import ROOT, is_missing, parser_of

SIZES = (10_000, 100_000, 1_000_000)
_WORDED = 20_000
"""Chunks whose words are counted."""


def main() -> int:
    options = arguments()
    if is_missing(options.data, "."):
        return 2
    sources = gathered(options.data, options.cache)
    maker = Maker(sources)
    named = bool(options.sides)
    sides = {name: SIDES[name] for name in options.sides or SIDES if present(name)}
    load = os.getloadavg()
    rows: list[dict[str, Any]] = []
    for size in options.sizes:
        say(f"{size:,} chunks: what is nearest, and what is added")
        planned(sources, maker, size, options.cache).save(options.cache / f"plan-{size}.pickle")
        rows += [
            measured(name, side, size, options.cache, maker.id, options.as_built)
            for name, side in sides.items()
            if named or size <= side.most
        ]
    results = {
        "whole": options.whole,
        "machine": {
            "cores": os.cpu_count(),
            "processor": platform.machine(),
            "python": platform.python_version(),
            "load_before": [round(each, 1) for each in load],
            "load_after": [round(each, 1) for each in os.getloadavg()],
        },
        "questions": len(sources.questions),
        "chunks": about(sources),
        "rows": rows,
    }
    publish("scale", report(results), results, folder=options.folder)
    return int(any("failed" in row for row in rows))


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__, "crag-scale-cache")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), help="chunks")
    parser.add_argument("--sides", nargs="+", choices=list(SIDES), help="the default is all that are there")
    parser.add_argument("--as-built", action="store_true", help="use what older code built")
    parser.add_argument("--out", type=Path, help="where to write scale.json and scale.md")
    return parse(parser)


def present(name: str) -> bool:
    missing = SIDES[name].missing
    if missing:
        say(f"{name} is passed over: there is no {missing}")
    return not missing


def measured(name: str, side: Side, size: int, cache: Path, chunks: str, as_built: bool) -> dict[str, Any]:
    """All figures of one side at one size, or how it failed."""
    place = cache / "built" / f"{name}-{size}"
    row: dict[str, Any] = {"side": name, "label": side.label, "size": size}
    try:
        row["build"] = built(name, side, size, place, cache, chunks, as_built)
        row["disk"] = round(sum(file.stat().st_size for file in place.rglob("*") if file.is_file()) / 2**20, 1)
        row["search"] = step("search", name, size, place, cache)
        with tempfile.TemporaryDirectory(dir=cache) as copy:
            shutil.copytree(place, Path(copy, "index"))
            row["add"] = step("add", name, size, Path(copy, "index"), cache)
    except subprocess.CalledProcessError as error:
        row["failed"] = error.cmd[3]
    return row


def built(name: str, side: Side, size: int, place: Path, cache: Path, chunks: str, as_built: bool) -> dict[str, Any]:
    """How it was built, in this run or an earlier one whose stamp fits."""
    note = place.with_suffix(".json")
    stamp = {"chunks": chunks, "code": side.code()}
    if note.exists():
        said: dict[str, Any] = json.loads(note.read_text(encoding="utf-8"))
        if said["stamp"] == stamp or (as_built and said["stamp"]["chunks"] == chunks):
            return said | {"kept": True}
        note.unlink()
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    said = step("build", name, size, place, cache) | {"stamp": stamp}
    note.write_text(json.dumps(said), encoding="utf-8")
    return said


def step(what: str, name: str, size: int, place: Path, cache: Path) -> dict[str, Any]:
    """One step in a fresh process. Raises CalledProcessError, with the process's own words on stderr."""
    load = round(os.getloadavg()[0], 1)
    say(f"  {name}, {size:,}: {what}, load {load}")
    command = [sys.executable, "-m", "benchmarks.scale_child", what, name, str(size), str(place), str(cache)]
    output = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found | {"load": load}


def about(sources: Sources) -> dict[str, Any]:
    """What the made chunks are made of, and how like real ones they are."""
    return {
        "real": len(sources.texts),
        "documents": len(sources.titles),
        "model": sources.model,
        "nearness": {name: asdict(found) for name, found in likeness(sources).items()},
        "words": wording(sources, _WORDED),
    }


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
