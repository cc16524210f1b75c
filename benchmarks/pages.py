"""How every command ends: a page with its figures, the same way in all of them."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"


def machine() -> str:
    """What a figure was measured on."""
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def load() -> float:
    """How many processes the machine has had at work in the last minute."""
    return round(os.getloadavg()[0], 1)


def made_by(command: str, before: float) -> str:
    """The command, the machine and its load. `before`: the load when it began."""
    return (
        f"`python -m benchmarks.{command}`, {machine()}; load of the machine {before:.1f} when it began, "
        f"{load():.1f} when it ended"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table whose first column is text and whose others are figures."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def figure(value: float | None, places: int = 3) -> str:
    return "–" if value is None else f"{value:.{places}f}"


def share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def p95(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def parse(parser: argparse.ArgumentParser, *whole: str) -> argparse.Namespace:
    """The options given; `whole`: whether all is measured; `folder`: where the figures go.

    That is where `--out` says, beside the published ones where all is measured, and nowhere where a part is. An option
    given makes it a part, but for paths and what `whole` names.
    """
    options = parser.parse_args()
    given = {
        name
        for name, value in vars(options).items()
        if value != parser.get_default(name) and not isinstance(value, Path)
    }
    options.whole = not given.difference(whole)
    options.folder = vars(options).get("out") or (RESULTS if options.whole else None)
    return options


def publish(name: str, page: str, figures: Any = None, *, folder: Path | None) -> None:
    """Print the page and write it, with its figures as JSON where there are some. `folder`: as `parse` gives it."""
    print(page)
    if folder is None:
        print("A part of the whole: nothing was written.", file=sys.stderr)
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(page.rstrip("\n") + "\n", encoding="utf-8")
    if figures is not None:
        text = json.dumps(figures, indent=1, allow_nan=False)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
