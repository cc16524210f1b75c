"""How often the evidence kept holds the answer, strategy by strategy, on the paper's own knowledge for PopQA.

python -m benchmarks.popqa [--data FOLDER] [--limit N] [--strategies NAME …] [--conditions NAME …]

Every question runs through the product's graph with the product's parts: the shipped evaluator, the keyword rewriter,
the extractive writer. Three conditions: `given` (a question's internal passages are what was retrieved, as in the
paper), `searched` (all questions' internal passages in one library, under the product's own search), `retrieved`
(raw retrieved passages, for the questions that have them). The web finds a question's own web passages.
Grades are kept in the system's temporary folder, so that a second run takes minutes. Prints a page and writes it to
results/popqa.md and popqa.json; a part of the whole is only printed unless --out says where to write.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.evaluator_library import spread
from benchmarks.pages import parse, publish
from benchmarks.popqa_cases import Case, OwnPages, load_cases, own_holds, with_retrieved
from benchmarks.popqa_figures import Figures, Found, condition_figures
from benchmarks.popqa_report import report
from corpora.judging import evaluator_version
from corpora.places import is_missing, parser_of
from crag.analysis.metrics.metrics import measure_run
from crag.core import events as ev
from crag.core.config import AppConfig, Keys
from crag.core.protocols import Generator, RetrievalEvaluator, RunRequest
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from crag.core.types import INDEXED_AS, Document
from crag.evaluation.grading import GradingService
from crag.evaluation.local import LocalEvaluator
from crag.generation.extractive import ExtractiveGenerator
from crag.models.runtime import E5
from crag.pipeline.build import Local, build_pipeline
from crag.pipeline.context import EventEmitter
from crag.pipeline.graph import run_graph
from crag.retrieval.rewriting import KeywordRewriter
from crag.runtime.usage import UsageTracker
from crag.storage.library import Library
from crag.testing.fakes import FixedRetriever

CONDITIONS = ("given", "searched", "retrieved")
EVERY = 50
"""Progress is told after so many questions."""

Rows = dict[str, list[Found]]
"""By strategy or variant, one a question."""


def main() -> int:
    options = arguments()
    if is_missing(options.data, "popqa/knowledge.jsonl"):
        return 2
    cases = load_cases(options.data)
    raw = with_retrieved(cases, options.data)
    evaluator = LocalEvaluator()
    with opened(cases, options.cache) as library:
        found = {
            name: condition(
                name,
                spread(raw if name == "retrieved" else cases, options.limit),
                options.strategies,
                Bench(library, evaluator, own=name != "searched"),
            )
            for name in options.conditions
        }
    results = {"version": evaluator_version(), "limit": options.limit, "conditions": found}
    publish("popqa", report(results), results, folder=options.folder)
    return 0


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__, "crag-popqa-cache")
    parser.add_argument("--limit", type=int, default=0, help="so many questions of each condition; 0: all")
    parser.add_argument("--strategies", nargs="+", choices=list(STRATEGIES), default=list(STRATEGIES))
    parser.add_argument("--conditions", nargs="+", choices=CONDITIONS, default=list(CONDITIONS))
    parser.add_argument("--out", type=Path, help="where to write popqa.json and popqa.md")
    return parse(parser)


def condition(name: str, cases: Sequence[Case], strategies: Sequence[str], bench: Bench) -> Figures:
    """One condition's figures: every strategy on all questions."""
    return {"parts": condition_figures(asked(name, cases, strategies, bench), cases)}


# ---- the library ---------------------------------------------------------------------------------------------------


def opened(cases: Sequence[Case], cache: Path) -> Library:
    """All internal passages in one library, made once; its folder is named after all that is in it."""
    embedder = E5()
    texts = [chunk.text for case in cases for chunk in case.chunks]
    made_of = json.dumps([embedder.id, INDEXED_AS, evaluator_version(), texts])
    folder = cache / hashlib.sha256(made_of.encode()).hexdigest()[:24]
    library = Library(folder, embedder)
    there = {document.id for document in library.documents.all()}
    for place, case in enumerate(cases):
        document = document_of(case, embedder.id)
        if document.id not in there:
            vectors = embedder.embed([chunk.indexed_text for chunk in case.chunks])
            library.documents.add(document, b"", case.chunks, vectors)
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
    """What every run works with. `own`: a question's own chunks are what is retrieved; else the library searches.

    Grades are remembered in the library, whoever asks for them.
    """

    library: Library
    evaluator: RetrievalEvaluator
    own: bool

    def run(self, case: Case, strategy: str, settings: Settings, writer: Generator | None = None) -> Trace:
        """One question through the graph, with the parts that the engine would compose, and nothing stored of it.

        `writer` writes the answer in place of the extractive one.
        """
        evaluator = GradingService(self.evaluator, self.library.cache)
        generator = writer or ExtractiveGenerator(evaluator)
        web = OwnPages(case)
        local = Local(evaluator=evaluator, rewriter=KeywordRewriter(), generator=generator, folder=web)
        request = RunRequest(
            case.question.question,
            settings=settings,
            config=AppConfig(),
            keys=Keys(),
            retriever=FixedRetriever(chunks=case.chunks) if self.own else None,
        )
        emitter = EventEmitter()
        meter = UsageTracker(listener=lambda call: emitter.enqueue(ev.Called(call=call, at=emitter.now())))
        parts, _ = build_pipeline(request, self.library, local, meter, emitter, given_web=web.name)
        start = ev.RunStarted(
            run_id=f"{strategy}-{case.question.id}",
            question=case.question.question,
            strategy=strategy,
            settings=settings.model_dump(mode="json"),
            workspace="popqa",
            started_at="2026-01-01T00:00:00+00:00",
        )
        return Trace.from_events([start, *run_graph(case.question.question, parts), ev.RunFinished(at=parts.now())])


def asked(condition: str, cases: Sequence[Case], names: Sequence[str], bench: Bench) -> Rows:
    """Every question under every strategy or variant, question by question. Ends the program where a run fails."""
    settings = {name: STRATEGIES[name].settings for name in names}
    found: Rows = {name: [] for name in names}
    for place, case in enumerate(cases):
        for name in names:
            trace = bench.run(case, name, settings[name])
            row = measure_run(trace, case.question)
            if row.problem or row.failed_grades:
                raise SystemExit(f"Question {case.question.id} under {name}: {row.problem or 'a grade failed'}")
            found[name].append(Found(row, own_holds(trace, case)))
        told(condition, place, len(cases))
    return found


def told(what: str, place: int, total: int) -> None:
    if (place + 1) % EVERY == 0 or place + 1 == total:
        print(f"  {what}: {place + 1}/{total}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
