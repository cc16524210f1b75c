"""Kinds of documents that people reported trouble with in other products: is each read, and answered, rightly?

    python -m benchmarks.reports [--only TEXT]

Each file of `../shared/data/reports`, and those beside the tests that were made another way, is added to a library of
its own and asked by the default strategy and local models. An answer is *right* where it holds the right value, *said*
where there is none, or the document's warnings say why it is not right, *wrong* else. Prints a table and writes
results/reports.md.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path
from typing import Any, Literal

from benchmarks.pages import parse, publish
from corpora.places import DATA, ROOT
from corpora.rows import read_rows
from crag.core.config import AppConfig
from crag.core.ingesting import DocumentFailed
from crag.engine import Engine

LIST = ROOT / "benchmarks" / "data" / "reports.jsonl"
FOLDERS = (
    DATA / "reports",
    ROOT / "tests" / "data" / "reports",
)
Outcome = Literal["right", "said", "wrong"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--only", default="", metavar="TEXT", help="the cases whose kind or file holds this text")
    options = parse(parser)
    cases = read_rows(LIST)
    asked = [case for case in cases if options.only in case["kind"] + case["file"]]
    files = dict.fromkeys(case["file"] for case in asked)
    rows = [row for name in files for row in ask_file(name, [case for case in asked if case["file"] == name])]
    publish("reports", format_page(rows), folder=options.folder)


def ask_file(name: str, cases: list[dict[str, str]]) -> list[tuple[dict[str, str], Outcome, str]]:
    """Each case of a file with its outcome, and the answer or the reason for none."""
    path = next(folder / name for folder in FOLDERS if (folder / name).exists())
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(AppConfig.of(data=Path(folder)))
        failed = [each for each in engine.add(name, path.read_bytes()) if isinstance(each, DocumentFailed)]
        warned = any(document.warnings for document in engine.library().documents.all())
        found = []
        for case in cases:
            answer = None if failed else engine.trace(case["question"]).answer
            text = failed[0].message if failed else answer.text if answer else ""
            found.append((case, judge(case, answer, text, warned or bool(failed)), " ".join(text.split())))
        engine.close()
    return found


def judge(case: dict[str, str], answer: Any, text: str, warned: bool) -> Outcome:
    """What an answer is to the one who asked. "250" is not said by "2502"."""
    said = re.search(rf"(?<![\w.,]){re.escape(case['right'])}(?!\w|[.,]\d)", text)
    if answer is not None and said:
        return "right"
    return "said" if warned or answer is None or not answer.citations else "wrong"


def format_page(rows: list[tuple[dict[str, str], Outcome, str]]) -> str:
    """The table of kinds, and what came of each question."""
    kinds = dict.fromkeys(case["kind"] for case, _, _ in rows)
    whole = {kind: {outcome for case, outcome, _ in rows if case["kind"] == kind} for kind in kinds}
    right = sum(outcomes == {"right"} for outcomes in whole.values())
    wrong = sum("wrong" in outcomes for outcomes in whole.values())
    lines = [
        "# Reports",
        "",
        "Made by `python -m benchmarks.reports`: small files of kinds that people reported trouble with, asked alone.",
        f"Of {len(kinds)} kinds {right} are right, {len(kinds) - right - wrong} said, {wrong} wrong.",
        "",
        "| kind | file | question | outcome | answer |",
        "|---|---|---|---|---|",
    ]
    for case, outcome, text in rows:
        said = text.replace("|", "/")[:120].replace("<", "&lt;")
        lines.append(f"| {case['kind']} | {case['file']} | {case['question']} | {outcome} | {said} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
