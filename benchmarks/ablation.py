"""What each rule that imitates a model gains: the same questions with the rule and without it, on sets of two kinds.

python -m benchmarks.ablation [--rules NAME …] [--data FOLDER] [--limit N] [--out FOLDER]
python -m benchmarks.ablation --decide NAME TEXT

Dev data alone. A rule is switched off by leaving out what it adds to a result, by a setting, or by asking its part
without it. The difference is a mean over questions, with its bootstrap interval over questions. A rule pays where the
interval lies above zero on two sets of different kinds. Figures are kept in results/ablation.json by rule; those of a
rule that is no longer there stay, since the page says why it went. --rules measures some and keeps the others.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ablation_rules import MOST, RULES, Pairs
from crag.analysis.intervals import intervals

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"


def lines_of_code(files: Sequence[str]) -> int:
    """Lines that are neither blank nor a comment."""
    lines = [line.strip() for file in files for line in (ROOT / file).read_text(encoding="utf-8").splitlines()]
    return sum(bool(line) and not line.startswith("#") for line in lines)


def row(pairs: Pairs) -> dict[str, Any]:
    """One line of the page."""
    difference = np.array(pairs.on) - np.array(pairs.off)
    (low, high), *_ = intervals(difference.reshape(-1, 1))
    return {
        "set": pairs.set,
        "kind": pairs.kind,
        "measure": pairs.measure,
        "questions": len(difference),
        "with": float(np.mean(pairs.on)),
        "without": float(np.mean(pairs.off)),
        "difference": float(difference.mean()),
        "low": low,
        "high": high,
    }


HEAD = """# Rules that imitate a model, with each and without it

Made by `python -m benchmarks.ablation` on dev data. *Gain*: the mean over questions of what the rule changes, in
points, with a 95 % interval by bootstrap over questions. *Lines*: of the files that only the rule needs, without
blank ones. A rule stays where its interval lies above zero on two sets of different kinds, or where it is the simplest
part that gives what the product promises. What was decided stands below its table. A rule that went was measured
before it did.
"""
TABLE = """\
| set | kind | measure | questions | without | with | gain |
| --- | --- | --- | ---: | ---: | ---: | ---: |"""


def report(results: dict[str, Any]) -> str:
    """The page: a table and a decision for each rule."""
    page = [HEAD]
    for rule in results.values():
        page.append(f"## {rule['title']} ({rule['lines']} lines)\n")
        page.append(TABLE)
        for each in rule["rows"]:
            gain = f"{100 * each['difference']:+.1f} ({100 * each['low']:+.1f} to {100 * each['high']:+.1f})"
            cells = [each["set"], each["kind"], each["measure"], f"{each['questions']:,}"]
            page.append(f"| {' | '.join(cells)} | {each['without']:.3f} | {each['with']:.3f} | {gain} |")
        page.append(f"\n{rule.get('decision') or 'Not decided yet.'}\n")
    return "\n".join(page)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    data = Path(os.environ.get("CRAG_SHARED", ROOT.parent / "shared")) / "data"
    parser.add_argument("--data", type=Path, default=data, help="the shared data folder")
    parser.add_argument("--rules", nargs="*", choices=list(RULES), default=list(RULES))
    parser.add_argument("--limit", type=int, default=MOST, help="questions of one set")
    parser.add_argument(
        "--decide", nargs=2, metavar=("NAME", "TEXT"), help="what was decided about a rule; measures none"
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="where ablation.json and ablation.md are")
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"Skipped: no data in {options.data}. Give --data or set CRAG_SHARED.", file=sys.stderr)
        return 2
    file = options.out / "ablation.json"
    results: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    if options.decide:
        results[options.decide[0]]["decision"] = options.decide[1]
        file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    for name in () if options.decide else options.rules:
        rule, known = RULES[name], results.get(name, {})
        rows = [row(pairs) for pairs in rule.measure(options.data, options.limit)]
        found = {"title": rule.title, "lines": lines_of_code(rule.files), "rows": rows}
        results[name] = found | {"decision": known.get("decision", "")}
        file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    page = report(results)
    print(page)
    (options.out / "ablation.md").write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
