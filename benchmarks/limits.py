"""What the limits cost a run: questions admitted, one reservation, and all the bookkeeping of a run of twelve calls.

python -m benchmarks.limits [--repetitions 3] [--runs 100] [--dry]

In SQLite and, where it is installed, in PostgreSQL, which waits for its disk here as it does in earnest. Every
repetition begins with an empty store; its figure is a median, and the page gives the median of these with the lowest
and the highest.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from crag.admin.quotas import Quotas
from crag.admin.store import open_store
from crag.admin.usage_store import Want
from crag.core.config import AppConfig
from crag.core.types import Call
from crag.storage.database import Database
from crag.storage.places import DataFolder, StorageUse
from crag.storage.postgres import Server
from tests.support.postgres_server import postgres_server

RESULT = Path(__file__).resolve().parent / "results" / "limits.md"
CALLS = 12
_ASKED = 20
"""Questions are timed so many at a time: one alone is too short for the clock."""
_CALL = Call(step="evaluate", provider="openai", model="gpt-5-mini", seconds=1.0, input_tokens=900, output_tokens=60)
WHAT = {
    "question": "a question admitted, one of twenty",
    "reservation": "one reservation",
    "run": f"a run's bookkeeping: admitted, {CALLS} calls taken and paid, released",
}
Times = dict[str, list[float]]


def measured(store: Database, runs: int) -> dict[str, float]:
    """Medians in milliseconds, of so many of each."""
    quotas = Quotas(store, lambda: CONFIG, StorageUse(DataFolder(Path(tempfile.gettempdir()) / "no libraries")))
    quotas.ask("warm")  # the tables are made, the limits read
    want = {"calls": Want(least=1, most=1, own=1e9, all=1e9)}

    def run() -> None:
        admission = quotas.run("one")
        with admission.daily_budget as budget:
            admission.admit()
            for _ in range(CALLS):
                budget.take()
                budget.paid(_CALL)

    return {
        "question": median(lambda: [quotas.ask("one") for _ in range(_ASKED)], max(3, runs // 10)) / _ASKED,
        "reservation": median(lambda: quotas.usage.reserve("one", "day", want), runs),
        "run": median(run, runs),
    }


CONFIG = AppConfig.of(
    library_questions_minute=1_000_000,
    all_questions_minute=1_000_000,
    library_calls_day=1_000_000,
    all_calls_day=1_000_000,
)


def median(work: Callable[[], object], times: int) -> float:
    """Milliseconds."""
    took = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


@contextlib.contextmanager
def stores() -> Iterator[dict[str, Callable[[Path], contextlib.AbstractContextManager[Database]]]]:
    """How an empty store of each kind is opened, by its name."""
    found: dict[str, Callable[[Path], contextlib.AbstractContextManager[Database]]] = {
        "SQLite": lambda folder: closing(open_store(folder))
    }
    if not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")) and not shutil.which("initdb"):
        yield found
        return
    with postgres_server(fsync="on", full_page_writes="on", autovacuum="on") as server:

        @contextlib.contextmanager
        def emptied(folder: Path) -> Iterator[Database]:
            with server.emptied() as url, closing(Server(url)) as opened, closing(open_store(folder, opened)) as store:
                yield store

        yield {**found, "PostgreSQL": emptied}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--runs", type=int, default=100, help="of each kind in a repetition")
    parser.add_argument("--dry", action="store_true", help="only print")
    chosen = parser.parse_args()
    figures: dict[str, list[dict[str, float]]] = {}
    with stores() as known:
        for _ in range(chosen.repetitions):
            for name, opened in known.items():
                with tempfile.TemporaryDirectory(prefix="crag-limits-") as folder, opened(Path(folder)) as store:
                    figures.setdefault(name, []).append(measured(store, chosen.runs))
    page = told(figures, chosen.repetitions, chosen.runs)
    print(page)
    if not chosen.dry:
        RESULT.write_text(page, encoding="utf-8")


def told(figures: dict[str, list[dict[str, float]]], repetitions: int, runs: int) -> str:
    """The page."""
    rows = [
        "# What the limits cost a run",
        "",
        f"`python -m benchmarks.limits`: {os.cpu_count()} cores, Python {platform.python_version()}, load of the "
        f"machine at the end {os.getloadavg()[0]:.1f}; {repetitions} repetitions of {runs}, the median of their "
        "medians and, in brackets, the lowest and the highest.",
        "",
        f"| ms | {' | '.join(figures)} |",
        f"|---|{'---:|' * len(figures)}",
    ]
    for name, said in WHAT.items():
        cells = [_cell([each[name] for each in found]) for found in figures.values()]
        rows.append(f"| {said} | {' | '.join(cells)} |")
    return "\n".join([*rows, ""])


def _cell(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


if __name__ == "__main__":
    main()
