"""A day under load: the app as its own processes, driven by many real WebSocket clients of this machine.

python -m benchmarks.soak [--part reruns mixed …] [--sessions 10 25 50] [--minutes 60]

Each part is a module `benchmarks.soak_<part>`: `GOAL` says what is asked of it, `options(parser)` adds its options,
`measure(options)` returns figures that JSON can hold, and `describe(figures)` gives lines of Markdown. The figures
of a part lie in `results/soak_<part>.json`; the page `results/soak.md` is made of all that are there.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import time
from pathlib import Path
from types import ModuleType

from benchmarks.pages import RESULTS, load, machine


def parts() -> dict[str, ModuleType]:
    """Every part by its name."""
    names = sorted(path.stem.removeprefix("soak_") for path in Path(__file__).parent.glob("soak_*.py"))
    found = {name: importlib.import_module(f"benchmarks.soak_{name}") for name in names}
    return {name: module for name, module in found.items() if hasattr(module, "GOAL")}


def page(known: dict[str, ModuleType]) -> str:
    """All parts that were measured, each with its goal, on one page."""
    lines = ["# A day under load", ""]
    for name, module in known.items():
        stored = RESULTS / f"soak_{name}.json"
        if stored.exists():
            found = json.loads(stored.read_text(encoding="utf-8"))
            lines += [f"## {name.capitalize()}", "", f"`{found['command']}`: {found['machine']}", ""]
            lines += [f"Goal: {module.GOAL}.", "", *module.describe(found["figures"]), ""]
    return "\n".join(lines)


def main() -> None:
    known = parts()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--part", nargs="+", choices=list(known), default=["reruns"])
    parser.add_argument("--dry", action="store_true", help="only print")
    for module in known.values():
        module.options(parser)
    chosen = parser.parse_args()
    for name in chosen.part:
        began = time.perf_counter()
        figures = asyncio.run(known[name].measure(chosen))
        made = f"{machine()}, shared; took {(time.perf_counter() - began) / 60:.0f} min, load at the end {load():.1f}."
        print("\n".join(known[name].describe(figures)))
        if not chosen.dry:
            stored = {"command": f"python -m benchmarks.soak --part {name}", "machine": made, "figures": figures}
            (RESULTS / f"soak_{name}.json").write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    if not chosen.dry:
        (RESULTS / "soak.md").write_text(page(known), encoding="utf-8")


if __name__ == "__main__":
    main()
