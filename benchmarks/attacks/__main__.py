"""Measures every attack on this tree and on an earlier commit: `python -m benchmarks.attacks --before REV`.

Each attack runs in a process of its own, which imports the `crag` and `ui` of the tree under test; the code of the
attacks is this tree's for both. Writes results/attacks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.attacks.figure import Figure

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
RESULTS = ROOT / "benchmarks" / "results" / "attacks.md"
MODULES = sorted(each.stem for each in HERE.glob("*.py") if not each.stem.startswith("_") and each.stem != "figure")
LONGEST = 300
"""Seconds after which an attack is given up, and said to have taken longer."""


def figures(tree: Path, chosen: list[str]) -> dict[str, Figure]:
    """What each attack comes to on a tree, by module and name; one that ended without a figure says only how."""
    found: dict[str, Figure] = {}
    for module in MODULES:
        for name in run(tree, module).stdout.split():
            if chosen and name not in chosen and module not in chosen:
                continue
            try:
                done = run(tree, module, name)
                figure = Figure(**json.loads(done.stdout.strip().splitlines()[-1]))
            except subprocess.TimeoutExpired:
                figure = Figure(finding=0, what="", value=f"not over after {LONGEST} s")
            except (IndexError, ValueError):
                figure = Figure(finding=0, what="", value=f"died: {done.stderr.strip()[-120:]}")
            print(f"{tree.name}: {figure}", file=sys.stderr, flush=True)
            found[f"{module}.{name}"] = figure
    return found


def run(tree: Path, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One attack in a process that imports the tree's product."""
    code = (
        "import sys, runpy; "
        f"sys.path[:0] = [{str(tree)!r}]; "
        f"import benchmarks, tests; benchmarks.__path__ = [{str(HERE.parent)!r}]; "
        f"tests.__path__ = [{str(ROOT / 'tests')!r}]; "
        f"sys.argv = ['attack', *{list(arguments)!r}]; "
        f"runpy.run_module('benchmarks.attacks.{module}', run_name='__main__')"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CRAG_")}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=tree, env=environment, capture_output=True, text=True, timeout=LONGEST
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", default="060963e", help="the commit to compare with")
    parser.add_argument("--only", nargs="*", default=[], help="modules or attacks by name")
    chosen = parser.parse_args()
    after = figures(ROOT, chosen.only)
    with tempfile.TemporaryDirectory() as folder:
        old = Path(folder) / "before"
        subprocess.run(["git", "worktree", "add", "--detach", str(old), chosen.before], cwd=ROOT, check=True)
        try:
            before = figures(old, chosen.only)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(old)], cwd=ROOT, check=True)
    rows = []
    for name in {**before, **after}:
        was, now = (found.get(name, Figure(finding=0, what="", value="–")) for found in (before, after))
        told = now if now.what else was
        rows.append((told.finding, f"| {told.finding or '–'} | {told.what or name} | {was.value} | {now.value} |"))
    table = "\n".join(row for _, row in sorted(rows, key=lambda row: row[0]))
    RESULTS.write_text(
        "# Attacks, before and after\n\n"
        f"`python -m benchmarks.attacks --before {chosen.before}`: each attack in a process of its own, one after the "
        "other. Findings are numbered as in [security.md](../../docs/security.md).\n\n"
        f"| finding | attack | before | after |\n|---|---|---|---|\n{table}\n",
        encoding="utf-8",
    )
    print(RESULTS.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
