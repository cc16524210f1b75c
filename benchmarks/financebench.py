"""FinanceBench with all its PDFs in one library, from question to answer: plain RAG beside `balanced`.

python -m benchmarks.financebench [--data FOLDER] [--strategies NAME …] [--limit N] [--cache FOLDER]

The PDFs are added by the engine once, to a library in --cache (or $CRAG_BENCH_CACHE, else the system's temporary
folder): minutes at the first run, nothing at a second. Every strategy then asks a copy of its own, so that no grade is
remembered from another strategy or an earlier run, and the strategies take turns at every question. What is measured is
what the Evaluate page measures. Prints a page and writes it to results/financebench.md and financebench.json; a part of
the whole is only printed unless --out says where to write.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.evaluator_library import spread
from benchmarks.financebench_report import COMPARED, report, strategy_figures
from benchmarks.pages import load, machine, parse, publish
from corpora.judging import evaluator_version
from corpora.libraries import indexed
from corpora.places import is_missing, parser_of
from corpora.published_sets import read_published
from crag.analysis.metrics.metrics import ResultRow, measure_run
from crag.analysis.metrics.results import compare_results
from crag.analysis.questions.sets import Question
from crag.core.config import AppConfig, Keys
from crag.core.protocols import RunRequest
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from crag.engine import Engine
from crag.evaluation.local import LocalEvaluator
from crag.ingest.chunking import CHUNKING_ID
from crag.messages.evaluations import difference_sentence

DEFAULT = ("plain-rag", "balanced")
EVERY = 5
"""Progress is told after so many questions."""

Rows = dict[str, list[ResultRow]]


def main() -> int:
    options = arguments()
    folder = options.data / "financebench"
    if is_missing(folder, "questions.jsonl", "pdfs"):
        return 2
    before = load()
    engine = Engine(AppConfig(), Keys(), evaluator=LocalEvaluator())
    try:
        library = indexed(engine, sorted((folder / "pdfs").glob("*.pdf")), options.cache)
        size = engine.library(library).size
        questions = spread(read_published(folder / "questions.jsonl").questions, options.limit)
        rows = asked(engine, library, questions, options.strategies)
    finally:
        engine.close()
    results = {
        "version": evaluator_version(),
        "chunking": CHUNKING_ID,
        "machine": f"{machine()}, load {before} when it began",
        "questions": len(questions),
        "documents": size[0],
        "chunks": size[1],
        "strategies": {name: strategy_figures(each) for name, each in rows.items()},
        "differences": differences(rows),
    }
    publish("financebench", report(results), results, folder=options.folder)
    return 0


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__, "crag-financebench-cache")
    parser.add_argument("--strategies", nargs="+", choices=list(STRATEGIES), default=list(DEFAULT))
    parser.add_argument("--limit", type=int, default=0, help="so many questions; 0: all")
    parser.add_argument("--out", type=Path, help="where to write financebench.json and financebench.md")
    return parse(parser)


def asked(engine: Engine, library: Path, questions: Sequence[Question], names: Sequence[str]) -> Rows:
    """Every question under every strategy in turn, each in its own copy of the library."""
    found: Rows = {name: [] for name in names}
    engine.close()  # what is copied is whole
    with tempfile.TemporaryDirectory() as place:
        folders = {name: Path(place) / name for name in names}
        for folder in folders.values():
            shutil.copytree(library, folder)
            engine.library(folder).search("Is the index loaded?", 1)
        list(engine.grade("Is the model loaded?", ["It is loaded now."]))
        for at, question in enumerate(questions, start=1):
            for name in names:
                found[name].append(answered(engine, question, name, folders[name]))
            if at % EVERY == 0 or at == len(questions):
                print(f"  asked {at}/{len(questions)}", file=sys.stderr)
        engine.close()
    return found


def answered(engine: Engine, question: Question, name: str, folder: Path) -> ResultRow:
    """One measured run. Citations are checked under every strategy: faithfulness is otherwise unknown. Its seconds are
    without that.

    Ends the program where a run fails: a mean over the others would mislead.
    """
    settings = STRATEGIES[name].settings.changed(verify=True)
    trace = Trace.from_events(engine.ask(RunRequest(question.question, name, folder, settings=settings)))
    row = measure_run(trace, question)
    if row.problem or row.failed_grades:
        raise SystemExit(f"{question.id} under {name}: {row.problem or 'a grade failed'}")
    checking = sum(step.seconds or 0.0 for step in trace.steps if step.step == "verify")
    return replace(row, seconds=(row.seconds or 0.0) - checking)


def differences(rows: Mapping[str, Sequence[ResultRow]]) -> dict[str, Any]:
    """`balanced` less plain RAG in sentences, of all measures both know but seconds."""
    if not {"balanced", "plain-rag"} <= set(rows):
        return {}
    found = compare_results(rows["plain-rag"], rows["balanced"])
    return {name: difference_sentence(found[name]) for name in COMPARED if found[name].value is not None}


if __name__ == "__main__":
    sys.exit(main())
