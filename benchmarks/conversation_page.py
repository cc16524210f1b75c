"""What Ask's own work is in a long conversation: its script from start to end, at 1, 10, 200 and 1,000 turns.

python -m benchmarks.conversation_page [--reruns 40]

The library holds the sample, a finished run of one of its questions, and a conversation of each size, of copies of that
run with questions of their own. The last turn is open with its evidence. Timed in one process, by
the clock: a rerun as any touch of the page causes; the same once all turns are shown; and the opening of another turn,
whose record is read. No browser, and no engine at work: the script, its session and its database alone.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from streamlit.testing.v1 import AppTest

from benchmarks.pages import machine, ms, p95, parse, publish, table
from corpora.places import ROOT
from crag.core.config import AppConfig
from crag.core.trace import Trace
from crag.engine import Engine
from tests.support.tab_states import state_in
from ui.app.tab import RunsState

SIZES, RERUNS, WARM, OPENED, GOAL = (1, 10, 200, 1000), 40, 3, 10, 0.150


def prepare(folder: Path) -> list[list[str]]:
    """A library of the sample and its runs; the ids of those of each conversation."""
    engine = Engine(AppConfig.of(data=folder))
    sample = engine.sample()
    for _ in engine.add_files([(sample.pdf.name, sample.pdf.read_bytes)]):
        pass
    start, *rest = list(engine.ask(sample.questions[0].question))
    assert start.kind == "run_started"
    library, made = engine.library(), [[f"run-{size}-{number:04}" for number in range(size)] for size in SIZES]
    for ids in made:
        talk = library.conversations.create(f"{len(ids)} turns")
        for id in ids:
            events = [replace(start, run_id=id, question=f"{start.question} ({id})", conversation=talk), *rest]
            library.runs.save(Trace.from_events(events), events)
    engine.close()
    return made


def timed(app: AppTest) -> float:
    """One run of the script, in seconds; what it draws is without faults."""
    began = time.perf_counter()
    app.run()
    took = time.perf_counter() - began
    if app.exception or app.error:
        raise SystemExit([*app.exception, *app.error][0].value)
    return took


def opened(ids: list[str]) -> AppTest:
    """The page with the conversation of these runs, warm."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    state_in(app, RunsState).selected = ids[-1]
    for _ in range(WARM):
        timed(app)
    return app


def measure(ids: list[str], reruns: int) -> dict[str, float]:
    """Seconds: median and 95th percentile of a rerun, median with all turns shown, median of opening a turn."""
    app, turns = opened(ids), len(ids)
    plain = [timed(app) for _ in range(reruns)]
    others = []
    for run in ids[:-1][:OPENED]:
        state_in(app, RunsState).selected, app.query_params["run"] = run, run
        others.append(timed(app))
    state_in(app, RunsState).selected, app.query_params["run"] = ids[-1], ids[-1]
    state_in(app, RunsState).more = turns
    shown = [timed(app) for _ in range(1 + reruns)][1:]
    return {
        "turns": turns,
        "median": statistics.median(plain),
        "p95": p95(plain),
        "all_shown": statistics.median(shown),
        "opening": statistics.median(others) if others else 0.0,
    }


def report(rows: list[dict[str, float]], reruns: int) -> str:
    lines = [
        "# Ask in a long conversation",
        "",
        f"`python -m benchmarks.conversation_page`: {reruns} reruns a row in one process, {machine()}. "
        f"Load of the machine at the end {os.getloadavg()[0]:.1f}. "
        f"Goal: {ms(GOAL)} at 200 turns.",
        "",
        table(
            ["turns", "a rerun, median", "p95", "with all turns shown", "another turn opened"],
            [
                [f"{row['turns']:,}", *(ms(row[name]) for name in ("median", "p95", "all_shown", "opening"))]
                for row in rows
            ],
        ),
    ]
    return "\n".join([*lines, "", NOTES])


NOTES = """\
The build before, by the same code on the same machine: 1,144 ms a rerun at 200 turns, 1,727 ms to open another turn. It
drew every turn in an element of its own, and of all but the latest 24 it read the whole record again for each rerun.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--reruns", type=int, default=RERUNS)
    options = parse(parser)
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"CRAG_DATA": folder, "CRAG_WORKSPACES": "one"}
        rows = [measure(ids, options.reruns) for ids in prepare(Path(folder))]
        from ui.app.program import program

        program().close()
    text = report(rows, options.reruns)
    publish("conversation_page", text, rows, folder=options.folder)


if __name__ == "__main__":
    main()
