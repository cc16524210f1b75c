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
import io
import json
import os
import random
import re
import sys
import tokenize
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import faithfulness_figures as figures
from crag.analysis.intervals import intervals
from crag.core.types import FigureCheck
from crag.generation.figures import check_figures

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
MOST = 600
"""Questions of one set."""
SEED = 34

Checks = Sequence[FigureCheck]


@dataclass(frozen=True, slots=True)
class Pairs:
    """A set's questions under one measure, 0..1 each, with the rule and without it."""

    set: str
    kind: str
    measure: str
    on: Sequence[float]
    off: Sequence[float]


@dataclass(frozen=True, slots=True)
class Rule:
    """What it is, the files that only it needs, and what measures it."""

    title: str
    files: tuple[str, ...]
    measure: Callable[[Path, int], Iterator[Pairs]]


# Figures of a sentence, true and altered


def totals(data: Path) -> Iterator[figures.Case]:
    """Questions about a table of Wikipedia whose answer is a number, made a statement with it."""
    asked = re.compile(r"(?:what|which) (is|was|were|are) (the .{8,200}?)\?$", re.IGNORECASE)
    for row in figures.read_rows(data, "wikitablequestions"):
        match = asked.match(row["question"])
        if match and len(row["answers"]) == 1 and re.fullmatch(r"[\d,.]+", row["answers"][0]):
            sentence = f"{match[2][0].upper()}{match[2][1:]} {match[1]} {row['answers'][0]}."
            yield figures.Case(
                "WikiTableQuestions, stated", row["id"], sentence, figures.join_passages(row["passages"])
            )


def figure_checks(data: Path, limit: int) -> Iterator[tuple[str, str, list[Checks], list[tuple[str, Checks]]]]:
    """Of each set its name and kind, the checks of its true sentences, and those of altered figures with what was."""
    for kind, source in (("prose", figures.fetaqa), ("tables", totals), ("statements", figures.stated)):
        cases = [case for case in source(data) if case.text and figures.half_of(case.id) == "dev"]
        random.Random(SEED).shuffle(cases)
        cases = cases[:limit]
        names = [name for case in cases for name in figures.NAME.findall(case.sentence)] or ["Zebulon"]
        dice, altered = random.Random(SEED), list[tuple[str, Checks]]()
        for case in cases:
            for rule in figures.RULES:
                made = figures.altered(case, rule, names, dice)
                if made is not None:
                    sentence, start, end = made
                    checks = check_figures(sentence, {"cited": case.text})
                    altered.append((rule, [each for each in checks if each.start < end and start < each.end]))
        yield cases[0].set, kind, [check_figures(case.sentence, {"cited": case.text}) for case in cases], altered


def names(data: Path, limit: int) -> Iterator[Pairs]:
    """Without it, numbers and dates alone are looked for in what is cited."""
    for name, kind, true, altered in figure_checks(data, limit):
        yield _pairs(name, kind, "true sentences that pass", [(_clear(each), _clear(each, "name")) for each in true])
        flagged = [(not _clear(each), not _clear(each, "name")) for rule, each in altered if rule == "name"]
        if flagged:
            yield _pairs(name, kind, "altered names that are flagged", flagged)


def _clear(checks: Checks, ignored: str = "") -> bool:
    return not any(each.state == "missing" and each.kind != ignored for each in checks)


def _pairs(name: str, kind: str, measure: str, found: Sequence[tuple[float, float]]) -> Pairs:
    on, off = zip(*((float(one), float(other)) for one, other in found), strict=True)
    return Pairs(name, kind, measure, on, off)


RULES = {
    "names": Rule("Names looked for as figures are", ("crag/text/names.py",), names),
}


def lines_of_code(files: Sequence[str]) -> int:
    """Lines that hold code: no blank line, no comment, no docstring."""
    lines: set[tuple[str, int]] = set()
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for file in files:
        before = tokenize.NEWLINE
        for token in tokenize.generate_tokens(io.StringIO((ROOT / file).read_text(encoding="utf-8")).readline):
            alone = token.type == tokenize.STRING and before in {*skipped, tokenize.ENCODING}
            if token.type not in skipped and not alone:
                lines.update((file, number) for number in range(token.start[0], token.end[0] + 1))
            before = token.type
    return len(lines)


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
points, with a 95 % interval by bootstrap over questions. *Lines*: of code, in the files that only the rule needs. A
rule stays where its interval lies above zero on two sets of different kinds, or where it is the simplest part that
gives what the product promises. What was decided stands below its table. A rule that went was measured before it did.
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
