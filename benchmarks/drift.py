"""How often the Monitor's drift test cries wolf, and what it finds, on scores of real questions.

python -m benchmarks.drift --pool FOLDER [--weeks N] [--out FOLDER]

FOLDER is the --pool of `benchmarks.replay_week`: best scores of real questions whose passage is in the library, and of
such whose passage is not. Weeks of runs are drawn from the first; in a drifted week some are drawn from the second,
from its first day on or from its fourth. Every week is looked at after each of its days. Beside the product's test: the
two-sample Kolmogorov–Smirnov test at the same level, looked at once at the end, after each day, and after each day with
its level divided by seven. Prints a page; writes results/drift.md and drift.json unless only a part was asked for.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from math import exp, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crag.analysis.intervals import share
from crag.analysis.monitoring.drift import ALPHA, NEEDED, evidence_of
from crag.core.events import events_from_jsonl
from crag.core.runfacts import figures_of
from crag.core.trace import Trace

RESULTS = Path(__file__).resolve().parent / "results"
SEED, WEEKS = 18, 400
SIZES = (50, 100, 200, 400)
DRIFTS = ((0.1, 0), (0.2, 0), (0.3, 0), (0.5, 0), (0.3, 3), (0.5, 3))
"""The share of runs about what the library does not hold, and the first day on which they come."""

Values = NDArray[np.float64]
Test = Callable[[Values, Values, NDArray[np.int64]], bool]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--pool", type=Path, required=True, help="what benchmarks.replay_week kept")
    parser.add_argument("--weeks", type=int, default=WEEKS, help="drawn for each row; a power takes a quarter of them")
    parser.add_argument("--out", type=Path, help="where to write drift.json and drift.md")
    options = parser.parse_args()
    if not (options.pool / "own-balanced").is_dir():
        print(f"Skipped: no runs in {options.pool}. Make them with benchmarks.replay_week.", file=sys.stderr)
        return 2
    own, foreign = (scores(options.pool / f"{kind}-balanced") for kind in ("own", "foreign"))
    found: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "own": len(own),
        "foreign": len(foreign),
        "weeks": options.weeks,
        "quiet": {str(size): rates(own, foreign, size, 0.0, 0, options.weeks) for size in SIZES},
        "drifted": [
            {"size": size, "share": part, "day": day, **rates(own, foreign, size, part, day, options.weeks // 4)}
            for size in SIZES[1:]
            for part, day in DRIFTS
        ],
    }
    page = report(found)
    print(page)
    out = options.out or (RESULTS if options.weeks >= WEEKS else None)
    if out is not None:
        (out / "drift.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        (out / "drift.md").write_text(page, encoding="utf-8")
    return 0


def scores(folder: Path) -> Values:
    """The best score of each run that was really made."""
    traces = (
        Trace.from_events(events_from_jsonl(each.read_text(encoding="utf-8"))) for each in sorted(folder.iterdir())
    )
    return np.array([best for trace in traces if (best := figures_of(trace).best) is not None])


def rates(own: Values, foreign: Values, size: int, part: float, first: int, weeks: int) -> dict[str, float]:
    """The share of weeks in which each test found drift; four weeks of the same size lie before each."""
    random = np.random.default_rng((SEED, size, int(part * 100), first))
    hits = dict.fromkeys(TESTS, 0)
    for _ in range(weeks):
        before = random.choice(own, 4 * size)
        days = np.sort(random.integers(0, 7, size))
        other = (random.random(size) < part) & (days >= first)
        week = np.where(other, random.choice(foreign, size), random.choice(own, size))
        for name, test in TESTS.items():
            hits[name] += test(before, week, days)
    return {name: hit / weeks for name, hit in hits.items()}


def own_test(before: Values, week: Values, days: NDArray[np.int64]) -> bool:
    """The product's: whether its evidence was ever enough, which is what looking after every run would show."""
    ties = np.random.default_rng(int(1e9 * week[0]) + len(week)).random(len(week))
    known = [("balanced", float(value)) for value in before]
    grown = evidence_of(known, [("balanced", float(value)) for value in week], days.tolist(), ties.tolist())
    return grown >= NEEDED


def smirnov(before: Values, week: Values) -> float:
    """The p-value of the two-sample Kolmogorov–Smirnov test, by its limit distribution."""
    points = np.concatenate([before, week])
    old = np.searchsorted(np.sort(before), points, side="right") / len(before)
    new = np.searchsorted(np.sort(week), points, side="right") / len(week)
    root = sqrt(len(before) * len(week) / (len(before) + len(week)))
    far = (root + 0.12 + 0.11 / root) * float(np.abs(old - new).max())
    return min(1.0, max(0.0, 2 * sum((-1) ** (k - 1) * exp(-2 * k * k * far * far) for k in range(1, 60))))


LEVEL = ALPHA / 3
"""Of one of the three tests that the product looks at together."""


def at_the_end(before: Values, week: Values, days: NDArray[np.int64]) -> bool:
    return smirnov(before, week) < LEVEL


def daily(level: float) -> Test:
    """Looked at after each day on which there are twenty runs."""

    def test(before: Values, week: Values, days: NDArray[np.int64]) -> bool:
        ends = [int((days <= day).sum()) for day in range(7)]
        return any(smirnov(before, week[:end]) < level for end in ends if end >= 20)

    return test


TESTS: dict[str, Test] = {
    "evidence": own_test,
    "smirnov once": at_the_end,
    "smirnov daily": daily(LEVEL),
    "smirnov daily, corrected": daily(LEVEL / 7),
}


def report(found: dict[str, Any]) -> str:
    heads = ["the product's, at any time", "K–S, once", "K–S, daily", "K–S, daily, level / 7"]
    lines = [
        "# The drift test of Monitor",
        "",
        f"Made by `python -m benchmarks.drift` on {found['machine']}: no timing, so a busy machine changes nothing.",
        f"Best scores of {found['own']} real questions whose passage is in the library, and of {found['foreign']} "
        "whose passage is not, asked by `benchmarks.replay_week`.",
        f"Each test at {LEVEL:.1%} a week, a third of the {ALPHA:.0%} that scores, actions and web share. Four weeks "
        "of the same size lie before each.",
        "",
        "## Weeks in which nothing changed, and drift was said all the same",
        "",
        f"{found['weeks']:,} weeks a row; in brackets the 95 % interval.",
        "",
        _row("runs a week", *heads),
        _row(*["---:"] * 5),
    ]
    for size, rates in found["quiet"].items():
        lines.append(_row(size, *(_rate(rates[name], found["weeks"]) for name in TESTS)))
    lines += [
        "",
        "## Weeks that drifted, and were found",
        "",
        f"{found['weeks'] // 4:,} weeks a row. So large a share of the runs asks for what the library does not hold.",
        "",
        _row("runs a week", "share", "from", *heads),
        _row(*["---:"] * 7),
    ]
    for row in found["drifted"]:
        first = "Monday" if row["day"] == 0 else "Thursday"
        lines.append(_row(row["size"], f"{row['share']:.0%}", first, *(f"{row[name]:.0%}" for name in TESTS)))
    return "\n".join([*lines, ""])


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _rate(rate: float, of: int) -> str:
    around = share(round(rate * of), of)
    return f"{rate:.1%} ({around.low or 0.0:.1%}–{around.high or 0.0:.1%})"


if __name__ == "__main__":
    sys.exit(main())
