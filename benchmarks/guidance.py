"""Where there is no answer, does the help lead to one? Over questions that nothing in a library answers.

python -m benchmarks.guidance [--data FOLDER] [--cache FOLDER] [--limit N] [--out FOLDER]

Two libraries: the sample's report, and the FinanceBench filings (dev), which `benchmarks.financebench` adds. Asked are
questions of other subjects (Natural Questions, dev), those of the other library, and FinanceBench's own with the
company's name replaced by one that does not exist. Of each run without an answer: whether it suggests a question,
what the help took, and, asking each suggestion anew, whether its action is CORRECT and its answer cites the page that
it was made from. Prints a page and writes it to results/guidance.md and guidance.json; a part is only printed unless
--out says where to write.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.evaluator_graders import evaluator_version
from benchmarks.evaluator_library import spread
from benchmarks.financebench import indexed, parser_of
from benchmarks.thresholds_cases import unseen
from crag.core import events as ev
from crag.core.config import AppConfig, Keys
from crag.core.events import Suggestion
from crag.core.protocols import RunRequest
from crag.core.trace import Trace
from crag.core.types import Action
from crag.engine import Engine

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
STRANGERS = 60
"""So many questions of other subjects are asked of each library."""
INVENTED = "Varnholt Brothers"
GOAL = 0.9
BUDGET = 0.05
"""Seconds of the processor that the help may take: the clock of a machine that others use says little."""


@dataclass(frozen=True, slots=True)
class Helped:
    """A run without an answer: what the help took, in seconds by the clock and of the processors, and of each
    suggestion whether it kept its promise.
    """

    kind: str
    question: str
    seconds: float
    processor: float
    suggestions: tuple[tuple[str, str, bool, bool], ...]
    """Each one's question, what it was made of, whether it became CORRECT, and whether its page was cited too."""


def main() -> int:
    options = arguments()
    folder = options.data / "financebench"
    if not (folder / "questions.jsonl").is_file() or not (folder / "pdfs").is_dir():
        print(f"Skipped: no FinanceBench in {options.data}. Give --data or set CRAG_SHARED.", file=sys.stderr)
        return 2
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as place:
        engine = Engine(AppConfig.of(data=Path(place)), Keys())
        sample = engine.sample()
        filings = indexed(engine, sorted((folder / "pdfs").glob("*.pdf")), options.cache)
        shutil.copytree(filings, Path(place) / "filings")
        for _ in engine.add_files([(sample.pdf.name, sample.pdf.read_bytes)], Path(place) / "sample"):
            pass
        strangers = [
            ("another subject", row["question"]) for row in spread(list(unseen(options.data, "nq")), STRANGERS)
        ]
        own = [json.loads(line) for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
        report = [json.loads(line)["question"] for line in sample.question_set.read_text(encoding="utf-8").splitlines()]
        asked = {
            "sample": [*strangers, *(("the other library's", row["question"]) for row in own)],
            "filings": [*strangers, *(("the other library's", each) for each in report), *invented(own)],
        }
        libraries = {}
        for name, questions in asked.items():
            library = Path(place) / name
            libraries[name] = {
                "chunks": engine.library(library).size[1],
                **figures(name, list(helped(engine, library, spread(questions, options.limit))), len(questions)),
            }
        engine.close()
    results = {
        "version": evaluator_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f} when it began",
        "libraries": libraries,
    }
    write(results, options.out or (None if options.limit else RESULTS))
    return 0


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__, "crag-financebench-cache")
    parser.add_argument("--limit", type=int, default=0, help="so many questions of each library; 0: all")
    parser.add_argument("--out", type=Path, help="where to write guidance.json and guidance.md")
    return parser.parse_args()


def invented(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """FinanceBench's questions, asked of a company that does not exist, where they name theirs."""
    for row in rows:
        question, count = re.subn(re.escape(row["company"].split()[0]), INVENTED, row["question"])
        if count:
            yield "a company that does not exist", question


def helped(engine: Engine, library: Path, questions: Sequence[tuple[str, str]]) -> Iterator[Helped]:
    """The runs that end without an answer, each with its suggestions tried."""
    tried: dict[str, Trace] = {}
    for at, (kind, question) in enumerate(questions, start=1):
        guided, answered, ended = None, (0.0, 0.0), (0.0, 0.0)
        for event in engine.ask(RunRequest(question, workspace=library)):
            if isinstance(event, ev.Answered):
                answered = (event.at, time.process_time())
            elif isinstance(event, ev.GuidanceOffered):
                guided, ended = event, (event.at, time.process_time())
        if guided is not None:
            for each in guided.guidance.suggestions:
                if each.question not in tried:
                    tried[each.question] = Trace.from_events(engine.ask(RunRequest(each.question, workspace=library)))
            kept = tuple(_kept(each, tried[each.question]) for each in guided.guidance.suggestions)
            yield Helped(kind, question, ended[0] - answered[0], ended[1] - answered[1], kept)
        if at % 10 == 0:
            print(f"  asked {at}/{len(questions)}", file=sys.stderr)


def _kept(suggestion: Suggestion, trace: Trace) -> tuple[str, str, bool, bool]:
    correct = trace.action is Action.CORRECT and trace.answer is not None and not trace.answer.abstained
    citations = trace.answer.citations if trace.answer else ()
    place = (suggestion.source, suggestion.where)
    return (
        suggestion.question,
        suggestion.made_of,
        correct,
        correct and any((each.source, each.where) == place for each in citations),
    )


def figures(name: str, rows: Sequence[Helped], asked: int) -> dict[str, Any]:
    """The counts of one library. A suggestion that many runs make counts once: else one of them decides the figure."""
    each = {suggestion for row in rows for suggestion in row.suggestions}
    seconds, processor = [row.seconds for row in rows], [row.processor for row in rows]
    made = sorted({made for _, made, _, _ in each})
    return {
        "name": name,
        "asked": asked,
        "without_answer": len(rows),
        "with_suggestion": sum(1 for row in rows if row.suggestions),
        "suggestions": len(each),
        "correct": sum(1 for _, _, correct, _ in each if correct),
        "cited": sum(1 for _, _, _, cited in each if cited),
        "made_of": {
            kind: [sum(1 for one in each if one[1] == kind and one[3]), sum(1 for one in each if one[1] == kind)]
            for kind in made
        },
        "median": statistics.median(seconds) if seconds else 0.0,
        "p95": statistics.quantiles(seconds, n=20)[-1] if len(seconds) > 1 else 0.0,
        "processor": statistics.median(processor) if processor else 0.0,
    }


def page(results: Mapping[str, Any]) -> str:
    """The committed page."""
    lines = [
        "# Help where there is no answer",
        "",
        f"`python -m benchmarks.guidance`: {results['machine']}; evaluator {results['version']};",
        "strategy `balanced`, no language model, web search off. Dev data: nothing is chosen on test sets.",
        "",
        "| library | chunks | asked | no answer | of these with a suggestion | different suggestions |"
        " CORRECT when asked | CORRECT and its page cited | help, processor, median | by the clock | p95 |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, row in results["libraries"].items():
        lines.append(
            f"| {name} | {row['chunks']:,} | {row['asked']} | {row['without_answer']} |"
            f" {_share(row['with_suggestion'], row['without_answer'])} | {row['suggestions']} |"
            f" {_share(row['correct'], row['suggestions'])} | {_share(row['cited'], row['suggestions'])} |"
            f" {row['processor'] * 1000:.0f} ms | {row['median'] * 1000:.0f} ms | {row['p95'] * 1000:.0f} ms |"
        )
    cited = sum(row["cited"] for row in results["libraries"].values())
    total = sum(row["suggestions"] for row in results["libraries"].values())
    slow = max(row["processor"] for row in results["libraries"].values())
    lines += [
        "",
        f"Goals: of the suggestions, {GOAL:.2f} lead to CORRECT and an answer that cites their page"
        f" ({'met' if total and cited / total >= GOAL else 'missed'}: {_share(cited, total)}); the help takes at most"
        f" {BUDGET * 1000:.0f} ms of the processor at the median ({'met' if slow <= BUDGET else 'missed'}).",
        "",
        "Kept promises by what a question is made of:",
        "",
    ]
    for name, row in results["libraries"].items():
        told = "; ".join(f"{kind} {_share(*counts)}" for kind, counts in row["made_of"].items())
        lines.append(f"- {name}: {told}.")
    return "\n".join([*lines, ""])


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2f} ({part} of {whole})" if whole else "–"


def write(results: Mapping[str, Any], folder: Path | None) -> None:
    print(page(results))
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "guidance.md").write_text(page(results), encoding="utf-8")
    (folder / "guidance.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
