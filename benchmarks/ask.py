"""From a question to the first graded chunk, to the action, to the answer, over a library of 10,000 chunks.

python -m benchmarks.ask [--chunks 10000] [--questions 45]

The library is real text: the FinanceBench PDFs of the shared data folder, read and indexed as any other; without that
folder the sample report again and again with its figures changed, and the results say so. It is built once under
build/ and copied for each pass, so that no grade is remembered. Each question is asked once, after one warm-up
question that is not counted. Times are those of the consumer: from the call to the arrival of the event. Processor
time is the median of what all threads of the process used up to that moment: what a run costs, however busy the
machine is with other work. `action` is the decision acted on, after the corrective loop where there was one; `first
action` the one before it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import resource
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.pages import load, parse, publish
from corpora.places import DATA, ROOT
from corpora.rows import read_rows
from crag.core import events as ev
from crag.core.config import AppConfig
from crag.core.ingesting import DocumentAdded
from crag.core.protocols import RunRequest
from crag.core.trace import Trace
from crag.core.types import INDEXED_AS, Action
from crag.engine import Engine
from crag.ingest.chunking import CHUNKING_ID

GOALS = {"action": 0.5, "answer": 1.0}
MOMENTS = ("retrieved", "first grade", "first action", "action", "first words", "answer", "finished")
Run = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=45)
    parser.add_argument("--strategy", default="balanced")
    options = parse(parser)

    shared = DATA / "financebench"
    source = "FinanceBench PDFs" if shared.is_dir() else "the sample report, its figures changed copy by copy"
    kind = "finance" if shared.is_dir() else "sample"
    pristine = ROOT / "build" / "benchmarks" / f"ask-{kind}-{options.chunks}-{CHUNKING_ID}-{INDEXED_AS}"
    chunks = build(pristine, shared if shared.is_dir() else None, options.chunks)
    asked = questions(shared if shared.is_dir() else None, options.questions)
    if len(asked) < 30:
        raise SystemExit(f"only {len(asked)} questions: a median wants at least 30")

    passes = {
        "documents only": measure(pristine, asked, options.strategy, AppConfig()),
        "with a web folder": measure(
            pristine, asked, options.strategy, AppConfig.of(web="folder", web_folder=Engine().sample().web)
        ),
    }
    results = {
        "library": {"source": source, "chunks": chunks[1], "documents": chunks[0]},
        "questions": len(asked),
        "strategy": options.strategy,
        "machine": {
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "load_before": load(),
        },
        "goals_seconds": GOALS,
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "passes": {name: summary(runs) for name, runs in passes.items()},
    }
    publish("ask", report(results), results, folder=options.folder)


# ---- the library ---------------------------------------------------------------------------------------------------


def build(place: Path, shared: Path | None, wanted: int) -> tuple[int, int]:
    """Makes the library unless it is there; returns its documents and chunks."""
    engine = Engine()
    if not (place / "done").exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        fill_from_pdfs(engine, place, shared, wanted) if shared else fill_from_sample(engine, place, wanted)
        (place / "done").touch()
    size = engine.library(place).size
    engine.close()
    return size


def fill_from_pdfs(engine: Engine, place: Path, shared: Path, wanted: int) -> None:
    """Real reports, in order of name, until there are enough chunks."""
    for file in sorted(shared.rglob("*.pdf")):
        for event in engine.add(file.name, file.read_bytes(), place):
            if isinstance(event, DocumentAdded):
                print(f"{event.name}: {event.document.chunks} chunks", file=sys.stderr)
        if engine.library(place).size[1] >= wanted:
            return
    have = engine.library(place).size[1]
    if have < wanted:
        fill_from_sample(engine, place, wanted)


def fill_from_sample(engine: Engine, place: Path, wanted: int) -> None:
    """Copies of the sample report, each with other figures, embedded like any other text."""
    library, sample = engine.library(place), engine.sample()
    for _ in engine.add(sample.pdf.name, sample.pdf.read_bytes(), place):
        pass
    (document,) = (each for each in library.documents.all() if each.name == sample.pdf.name)
    chunks = library.documents.chunks(document.id)
    chance = random.Random(7)
    copy = 0
    while library.size[1] < wanted:
        copy += 1
        some = chunks[: wanted - library.size[1]]
        changed = [
            replace(
                each,
                id=f"{each.id}-{copy}",
                document_id=f"{copy:064x}",
                text=re.sub(r"\d", lambda _: str(chance.randrange(10)), each.text),
            )
            for each in some
        ]
        vectors = engine.embedder.embed([each.indexed_text for each in changed])
        other = replace(document, id=f"{copy:064x}", name=f"{copy}-{document.name}", chunks=len(changed))
        library.documents.add(other, f"{copy}".encode(), changed, vectors)


def questions(shared: Path | None, wanted: int) -> list[str]:
    """Distinct real questions."""
    found: list[str] = []
    if shared:
        for file in sorted(shared.glob("*.jsonl")):
            found += [row.get("question", "") for row in read_rows(file)]
    else:
        listed = json.loads((ROOT / "samples" / "questions.json").read_text(encoding="utf-8"))
        found = [each["question"] for group in ("shown", "candidates") for each in listed[group]]
        found += [re.sub(r"201\d", str(year), each) for year in (2015, 2016, 2018) for each in found if "201" in each]
    return [each for each in dict.fromkeys(found) if each][:wanted]


# ---- the measurement -----------------------------------------------------------------------------------------------


def measure(pristine: Path, asked: Sequence[str], strategy: str, config: AppConfig) -> list[Run]:
    """One cold run for each question, in a copy of the library."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "library")
        shutil.copytree(pristine, place)
        engine = Engine(config)
        for _ in engine.ask(RunRequest("What does this library hold?", strategy, place)):
            pass
        runs = [timed(engine, question, strategy, place) for question in asked]
        engine.close()
        assert grades_of(place), "the cache was not used at all"
    return runs


def grades_of(place: Path) -> int:
    """How many grades the library remembers now; the copy began with none."""
    file = next(path for path in place.iterdir() if path.suffix in {".sqlite", ".sqlite3", ".db"})
    with sqlite3.connect(file) as connection:
        return int(connection.execute("SELECT count(*) FROM grades").fetchone()[0])


def timed(engine: Engine, question: str, strategy: str, place: Path) -> Run:
    """When each moment of one run arrived, and what each step took."""
    moments: dict[str, float] = {}
    processor: dict[str, float] = {}
    steps: defaultdict[str, float] = defaultdict(float)
    events: list[ev.Event] = []
    began, worked = time.perf_counter(), time.process_time()
    for event in engine.ask(RunRequest(question, strategy, place)):
        now = time.perf_counter() - began
        events.append(event)
        match event:
            case ev.Retrieved():
                moments.setdefault("retrieved", now)
            case ev.Graded():
                # A second search may bring the same chunk again, and then its grade is rightly remembered.
                assert event.round or not event.grade.cached, "a cold run found a remembered grade"
                moments.setdefault("first grade", now)
            case ev.ActionTaken():
                moments.setdefault("first action", now)
                moments["action"] = now  # the last decision is the one acted on, after the corrective loop
            case ev.Token():
                moments.setdefault("first words", now)
            case ev.Answered():
                moments["answer"] = now
            case ev.RunFinished():
                moments["finished"] = now
            case ev.StepFinished():
                steps[event.step] += event.seconds
            case ev.Failed():
                raise SystemExit(f"{question}: {event.cause}")
            case _:
                pass
        processor |= {name: time.process_time() - worked for name in moments.keys() - processor.keys()}
        if isinstance(event, ev.ActionTaken):
            processor["action"] = time.process_time() - worked
    trace = Trace.from_events(events)
    return {
        "question": question,
        "ended": trace.action,
        "rounds": len(trace.rounds),
        **moments,
        "steps": dict(steps),
        "processor": processor,
    }


def summary(runs: Sequence[Run]) -> dict[str, Any]:
    """Median and 95th percentile of every moment, and the share of each step in all runs' time."""
    total = sum(run["finished"] for run in runs)
    spent: defaultdict[str, float] = defaultdict(float)
    for run in runs:
        for step, seconds in run["steps"].items():
            spent[step] += seconds
    spent["between steps, storing the run"] = total - sum(spent.values())
    return {
        "moments_seconds": {
            name: {
                "median": round(statistics.median(times), 4),
                "p95": round(statistics.quantiles(times, n=20)[-1], 4),
                "processor_median": round(statistics.median(run["processor"][name] for run in runs if name in run), 4),
                "runs": len(times),
            }
            for name in MOMENTS
            if len(times := [run[name] for run in runs if name in run]) >= 2
        },
        "steps": {
            step: {"share": round(seconds / total, 4), "mean_seconds": round(seconds / len(runs), 4)}
            for step, seconds in spent.items()
        },
        "actions": {str(action): sum(run["ended"] is action for run in runs) for action in Action},
        "library_searches_per_question": round(statistics.mean(run["rounds"] for run in runs), 2),
    }


def report(results: dict[str, Any]) -> str:
    library = results["library"]
    lines = [
        "# From question to answer",
        "",
        f"`python -m benchmarks.ask`: {results['questions']} distinct questions, strategy `{results['strategy']}`, "
        f"{library['chunks']:,} chunks of {library['documents']} documents ({library['source']}), "
        f"{results['machine']['cores']} cores, Python {results['machine']['python']}, no grade remembered, "
        f"peak memory {results['peak_memory_mb']} MB.",
        "",
        f"Other work on the machine when it began: load {results['machine']['load_before']}.",
        "",
    ]
    for name, found in results["passes"].items():
        lines += [
            f"## {name.capitalize()}",
            "",
            "| moment | median | p95 | processor time | goal |",
            "|---|---:|---:|---:|---|",
        ]
        for moment, times in found["moments_seconds"].items():
            goal = GOALS.get(moment)
            verdict = (
                "" if goal is None else f"≤ {goal * 1000:.0f} ms: {'met' if times['median'] <= goal else 'missed'}"
            )
            shown = " | ".join(f"{times[each] * 1000:.0f} ms" for each in ("median", "p95", "processor_median"))
            lines.append(f"| {moment} | {shown} | {verdict} |")
        lines += ["", "| step | share of all time | mean a question |", "|---|---:|---:|"]
        for step, part in sorted(found["steps"].items(), key=lambda each: -each[1]["share"]):
            lines.append(f"| {step} | {part['share']:.0%} | {part['mean_seconds'] * 1000:.0f} ms |")
        ended = ", ".join(f"{count} {action}" for action, count in found["actions"].items())
        lines += [
            "",
            f"Actions: {ended}. Searches of the library a question: {found['library_searches_per_question']}.",
            "",
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
