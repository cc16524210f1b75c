"""How often the evidence kept holds the answer, strategy by strategy, on the paper's own knowledge for PopQA.

python -m benchmarks.popqa [--data FOLDER] [--limit N] [--strategies NAME …] [--settings NAME …] [--change NAME=VALUE …]

Every question runs through the product's graph with the product's parts: the shipped evaluator, the keyword rewriter,
the extractive writer. Three settings of the same questions: `given` (a question's internal passages are what was
retrieved, as in the paper), `searched` (all questions' internal passages in one library, retrieved by the product's
own search), `retrieved` (those questions whose raw retrieved passages there are, titles and all). The web is always
the question's own web passages. Grades are kept in the system's temporary folder. Prints a page and writes it to
results/popqa.md and popqa.json; a part of the whole is only printed unless --out says where to write.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.evaluator_graders import evaluator_version
from benchmarks.evaluator_library import spread
from benchmarks.popqa_cases import Case, OwnPages, load_cases, retrieved_chunks
from benchmarks.popqa_report import figures, report
from crag.composition import Asked, Local, composed
from crag.core import events as ev
from crag.core.config import AppConfig
from crag.core.fakes import FixedRetriever
from crag.core.keys import Keys
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import INDEXED_AS, Document
from crag.correct.rewriting import KeywordRewriter
from crag.evaluator.cached import CachedEvaluator
from crag.evaluator.local import LocalEvaluator
from crag.generate.extractive import ExtractiveGenerator
from crag.graph import run_graph
from crag.library.library import Library
from crag.measure.metrics import Row, measured
from crag.models.minilm import MiniLM
from crag.strategies import STRATEGIES

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
CONDITIONS = ("given", "searched", "retrieved")
EVERY = 50
"""Progress is told after so many questions."""

Rows = dict[str, dict[str, list[Row]]]
"""By condition, then by strategy, one row a question."""


def main() -> int:
    options = arguments()
    if not (options.data / "popqa" / "knowledge.jsonl").is_file():
        print(f"No PopQA knowledge in {options.data}: give --data or set CRAG_SHARED. Skipped.", file=sys.stderr)
        return 2
    cases = load_cases(options.data)
    wanted = strategies(options.strategies, options.change)
    chosen = [case for case in cases if options.part in ("", case.part)]
    sets = {
        "given": spread(chosen, options.limit),
        "searched": spread(chosen, options.limit),
        "retrieved": spread(with_retrieved(chosen, options.data), options.limit),
    }
    with opened(cases, options.cache) as library:
        found: Rows = {
            name: asked(name, sets[name], wanted, Bench(library, own=name != "searched"))
            for name in options.conditions
        }
    results = figures(found, {name: sets[name] for name in found}, evaluator_version())
    whole = not (options.limit or options.part or options.change or options.strategies != list(STRATEGIES))
    write(results, options.out or (RESULTS if whole and tuple(options.conditions) == CONDITIONS else None))
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    data = Path(os.environ.get("CRAG_SHARED", ROOT.parent / "shared")) / "data"
    cache = Path(tempfile.gettempdir()) / "crag-popqa-cache"
    parser.add_argument("--data", type=Path, default=data, help="the shared data folder")
    parser.add_argument("--cache", type=Path, default=cache, help="where the library and its grades are kept")
    parser.add_argument("--limit", type=int, default=0, help="so many questions of each condition; 0: all")
    parser.add_argument("--part", choices=("", "dev", "held-out"), default="", help="one half of the questions")
    parser.add_argument("--strategies", nargs="+", choices=list(STRATEGIES), default=list(STRATEGIES))
    parser.add_argument("--conditions", nargs="+", choices=CONDITIONS, default=list(CONDITIONS))
    parser.add_argument("--change", action="append", default=[], help="balanced with these too: NAME=VALUE,NAME=VALUE")
    parser.add_argument("--out", type=Path, help="where to write popqa.json and popqa.md")
    return parser.parse_args()


def strategies(names: Sequence[str], changes: Sequence[str]) -> dict[str, Settings]:
    """The settings by name; a change is `balanced` with other values, named by them."""
    found = {name: STRATEGIES[name].settings for name in names}
    for change in changes:
        values = dict(pair.split("=", 1) for pair in change.split(","))
        plain = {name: value.split("+") if name.endswith("_on") else value for name, value in values.items()}
        found[f"balanced {change}"] = STRATEGIES["balanced"].settings.changed(**plain)
    return found


def with_retrieved(cases: Sequence[Case], data: Path) -> list[Case]:
    """The cases whose retrieved passages there are, with these as their chunks."""
    found = retrieved_chunks(data)
    return [replace(case, chunks=found[case.question.id]) for case in cases if case.question.id in found]


# ---- the library ---------------------------------------------------------------------------------------------------


def opened(cases: Sequence[Case], cache: Path) -> Library:
    """All internal passages in one library, made once; its folder is named after all that is in it."""
    embedder = MiniLM()
    texts = [chunk.text for case in cases for chunk in case.chunks]
    made_of = json.dumps([embedder.id, INDEXED_AS, evaluator_version(), texts])
    folder = cache / hashlib.sha256(made_of.encode()).hexdigest()[:24]
    library = Library.open(folder, embedder)
    there = {document.id for document in library.documents()}
    for place, case in enumerate(cases):
        document = document_of(case, embedder.id)
        if document.id not in there:
            vectors = embedder.embed([chunk.indexed_text for chunk in case.chunks])
            library.add(document, b"", case.chunks, vectors)
            told("added", place, len(cases))
    return library


def document_of(case: Case, model: str) -> Document:
    """A question's internal passages as one document. It has no title: the paper's knowledge gives none."""
    name = f"{case.question.id}.txt"
    return Document(
        id=f"popqa-{case.question.id}",
        name=name,
        title="",
        size=0,
        pages=1,
        chunks=len(case.chunks),
        added_at="2026-01-01T00:00:00+00:00",
        model=model,
    )


# ---- the runs ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bench:
    """What every run works with. `own`: a question's own chunks are what is retrieved; else the library searches."""

    library: Library
    own: bool

    def run(self, case: Case, strategy: str, settings: Settings, local: Local) -> Trace:
        """One question through the graph, with the parts that the engine would compose, and nothing stored of it."""
        asked = Asked(
            settings=settings,
            config=AppConfig(),
            keys=Keys.from_mapping({}),
            allowed=None,
            cancel=threading.Event(),
            began=time.perf_counter(),
        )
        parts, _ = composed(asked, self.library, replace(local, folder=OwnPages(case)))
        if self.own:
            parts = replace(parts, retriever=FixedRetriever(chunks=case.chunks))
        start = ev.RunStarted(
            run_id=f"{strategy}-{case.question.id}",
            question=case.question.question,
            strategy=strategy,
            settings=settings.model_dump(mode="json"),
            workspace="popqa",
            started_at="2026-01-01T00:00:00+00:00",
        )
        return Trace.from_events([start, *run_graph(case.question.question, parts), ev.RunFinished(at=parts.now())])


def asked(condition: str, cases: Sequence[Case], wanted: Mapping[str, Settings], bench: Bench) -> dict[str, list[Row]]:
    """Every question under every strategy, question by question. Ends the program where a run fails."""
    evaluator = CachedEvaluator(LocalEvaluator(), bench.library)
    local = Local(
        evaluator=evaluator, rewriter=KeywordRewriter(), generator=ExtractiveGenerator(evaluator), folder=None
    )
    found: dict[str, list[Row]] = {name: [] for name in wanted}
    for place, case in enumerate(cases):
        for name, settings in wanted.items():
            row = measured(bench.run(case, name, settings, local), case.question)
            if row.problem or row.failed_grades:
                raise SystemExit(f"Question {case.question.id} under {name}: {row.problem or 'a grade failed'}")
            found[name].append(row)
        told(condition, place, len(cases))
    return found


def told(what: str, place: int, total: int) -> None:
    if (place + 1) % EVERY == 0 or place + 1 == total:
        print(f"  {what}: {place + 1}/{total}", file=sys.stderr)


def write(results: Mapping[str, object], folder: Path | None) -> None:
    """Prints the page; writes it and the figures where there is a folder for them."""
    page = report(results)
    print(page)
    if folder is None:
        print("A part of the whole: nothing was written. --out FOLDER writes it.", file=sys.stderr)
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "popqa.json").write_text(json.dumps(results, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    (folder / "popqa.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
