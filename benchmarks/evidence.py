"""Does the evidence hold the page that answers? Filings and reports, `balanced` beside plain RAG and `paper`.

python -m benchmarks.evidence [--half choose] [--each N] [--limit N] [--also VARIANT …] [--cache FOLDER] [--out FOLDER]

The documents of a kind and half are added once to a library in --cache (or $CRAG_BENCH_CACHE). Every question (see
benchmarks.evidence_questions) is asked once under each strategy, and once under `balanced` with every chunk refined
whatever the action. These runs are kept in --cache, by the evaluator's files and the settings, so that a run that was
stopped goes on there; delete them when the code of a run changes. Other settings of `balanced` are decided on the kept
runs by the functions that Tune uses, in seconds. Prints a page; --out FOLDER writes evidence.md and evidence.json.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.evidence_questions import EACH, company_names, made_questions, part_of, published_questions
from benchmarks.evidence_report import AskedQuestion, report, summarise
from benchmarks.financebench import parser_of
from benchmarks.popqa import variant
from corpora.answer_questions import Part
from corpora.judging import evaluator_version
from corpora.libraries import indexed
from crag.analysis.metrics.metrics import name_of
from crag.analysis.questions.sets import Question
from crag.core.config import AppConfig, Keys
from crag.core.protocols import RunRequest
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from crag.core.types import INDEXED_AS, Action, OutputMode
from crag.engine import Engine
from crag.evaluation.local import LocalEvaluator
from crag.ingest.chunking import CHUNKING_ID

COMPARED = ("plain-rag", "paper", "balanced")
KINDS = ("filings", "reports")
PARTS: tuple[Part, ...] = ("choose", "report")
EVERY = 25
"""Progress is printed after so many questions."""


def main() -> int:
    options = arguments()
    if not (options.data / "mmlongbench" / "pdfs").is_dir():
        print(f"Skipped: no data in {options.data}. Give --data or set CRAG_SHARED.", file=sys.stderr)
        return 2
    engine = Engine(AppConfig(), Keys(), evaluator=LocalEvaluator())
    try:
        halves = (options.half,) if options.half else PARTS
        asked = [each for part in halves for kind in KINDS for each in collected(engine, kind, part, options)]
    finally:
        engine.close()
    results = summarise(asked, evaluator_version(), {name: variant(name) for name in options.also})
    page = report(results)
    print(page)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "evidence.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        (options.out / "evidence.md").write_text(page, encoding="utf-8")
    return 0


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__, "crag-evidence-cache")
    parser.add_argument("--half", choices=PARTS, help="only the questions of this half; without it, of both")
    parser.add_argument("--each", type=int, default=EACH, help="questions of one kind made from one document")
    parser.add_argument("--limit", type=int, default=0, help="so many questions of each library; 0: all")
    parser.add_argument("--also", action="append", default=[], help='a variant to decide: "balanced strip_words=500"')
    parser.add_argument("--out", type=Path, help="where to write evidence.md and evidence.json")
    return parser.parse_args()


def open_settings() -> Settings:
    """`balanced` with every chunk refined whatever the action, so that any other settings can be decided afterwards."""
    return STRATEGIES["balanced"].settings.changed(internal_on=tuple(Action), refine_on=tuple(Action))


def collected(engine: Engine, kind: str, part: Part, options: argparse.Namespace) -> list[AskedQuestion]:
    """The questions of one library, which has the documents of one kind and half, with their runs."""
    files = sorted((options.data / "financebench/pdfs").glob("*.pdf"))
    if kind == "reports":
        folders = (options.data / "mmlongbench/pdfs", options.data / "public_domain")
        files = [file for folder in folders for file in sorted(folder.glob("*.pdf"))]
    library = indexed(engine, [file for file in files if part_of(file.name) == part], options.cache)
    questions = list(questions_of(engine, kind, library, options))
    if options.limit:
        questions = random.Random(len(kind)).sample(questions, min(options.limit, len(questions)))
    settings = {name: STRATEGIES[name].settings for name in COMPARED} | {"open": open_settings()}
    kept = {name: KeptRuns(options.cache, library.name, each, engine.embedder.id) for name, each in settings.items()}
    with tempfile.TemporaryDirectory() as place:
        own = Path(place) / "library"
        if any(question.id not in runs.known for _, question in questions for runs in kept.values()):
            engine.close()  # what is copied is whole
            shutil.copytree(library, own)
        for at, (_, question) in enumerate(questions, start=1):
            for name, runs in kept.items():
                if question.id not in runs.known:
                    runs.add(question.id, ask(engine, own, question, name, runs.settings))
            if at % EVERY == 0:
                print(f"  {kind}, {part}: {at} of {len(questions)}", file=sys.stderr)
        engine.close()
    return [
        AskedQuestion(
            group,
            part,
            question,
            {name: runs.known[question.id] for name, runs in kept.items()},
        )
        for group, question in questions
    ]


def questions_of(
    engine: Engine, kind: str, library: Path, options: argparse.Namespace
) -> Iterator[tuple[str, Question]]:
    """Each question with the name of its group."""
    documents = engine.library(library).documents
    own = {name_of(document.name) for document in documents.all()}
    for group, question in published_questions(options.data):
        if name_of(question.sources[0]) in own:
            yield group, question
    chunks = (chunk for document in documents.all() for chunk in documents.chunks(document.id))
    for question in made_questions(chunks, company_names(options.data), options.each):
        yield f"{question.labels[0]}s of {kind}", question


def ask(engine: Engine, library: Path, question: Question, name: str, settings: Settings) -> Trace:
    """One run without what this benchmark reads nothing of. Ends the program where it fails."""
    wanted: OutputMode = "evidence" if name == "open" else "answer"
    request = RunRequest(question.question, workspace=library, settings=settings, wanted=wanted)
    trace = Trace.from_events(engine.ask(request))
    if not (trace.answer or trace.handed_over):
        raise SystemExit(f"{question.id}: {trace.failure or 'no answer'}")
    rounds = tuple(
        replace(
            each,
            chunks=tuple(
                replace(found, chunk=replace(found.chunk, lines=(), tables=()), injections=()) for found in each.chunks
            ),
        )
        for each in trace.rounds
    )
    return replace(trace, rounds=rounds, steps=(), checks=(), guidance=None)


class KeptRuns:
    """Runs under some settings, kept in a file that is named after all that makes them what they are."""

    def __init__(self, cache: Path, library: str, settings: Settings, embedder: str) -> None:
        changed = settings.model_dump(mode="json", exclude_defaults=True)
        made_of = json.dumps([library, embedder, INDEXED_AS, CHUNKING_ID, evaluator_version(), changed])
        self.settings = settings
        self._file = cache / f"runs-{hashlib.sha256(made_of.encode()).hexdigest()[:24]}.jsonl.gz"
        self.known: dict[str, Trace] = {}
        if self._file.is_file():
            with gzip.open(self._file, "rt", encoding="utf-8") as lines:
                self.known = {id: Trace.from_json(text) for id, text in map(json.loads, lines)}

    def add(self, id: str, trace: Trace) -> None:
        with gzip.open(self._file, "at", encoding="utf-8") as lines:
            lines.write(json.dumps([id, trace.to_json()]) + "\n")
        self.known[id] = trace


if __name__ == "__main__":
    sys.exit(main())
