"""Right answers, or none: what the default strategy answers without a language model, judged by accepted answers.

python -m benchmarks.answers [--data FOLDER] [--kinds NAME …] [--limit N] [--cache FOLDER] [--keep FILE] [--out FOLDER]

The documents of each kind (see corpora.answer_questions) are added once to a library in --cache (or $CRAG_BENCH_CACHE).
Every question is asked without a floor under the answer's confidence. What the floor refuses and what is marked is
decided afterwards, by the shipped layer from what was read of the answer, which comes to the same. --keep FILE holds
what was answered: a run that was stopped goes on there, and so does one after the layer was fitted again. Delete it
when other code changes. Prints a page; --out FOLDER writes answers.md there.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.answers_report import AnsweredRow, report, summarise
from benchmarks.pages import parse, publish
from corpora.answer_questions import (
    AnswerQuestion,
    filing_questions,
    prose_files,
    prose_questions,
    report_questions,
    statement_files,
    statement_questions,
    statements,
)
from corpora.judging import NotingEvaluator, evaluator_version, is_right, shown
from corpora.libraries import indexed, library_of
from corpora.places import is_missing, parser_of
from crag.core.config import AppConfig, Keys
from crag.core.protocols import RunRequest
from crag.core.settings import Settings
from crag.core.strategies import strategy
from crag.core.trace import Trace
from crag.core.types import Action
from crag.engine import Engine
from crag.evaluation.heads import ANSWER_FEATURES, load_layer

KINDS = ("prose", "statements", "filings", "reports")
EVERY = 25
"""Progress is printed after so many questions."""


def main() -> int:
    options = arguments()
    if is_missing(options.data, "squad"):
        return 2
    evaluator = NotingEvaluator()
    engine = Engine(AppConfig(), Keys(), evaluator=evaluator)
    try:
        rows = list(answered(engine, evaluator, options))
    finally:
        engine.close()
    settings = strategy("balanced").settings
    results = summarise([decided(row, settings) for row in rows], evaluator_version(), settings)
    publish("answers", report(results), folder=options.folder)
    return 0


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__, "crag-answers-cache")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--limit", type=int, default=0, help="so many questions of each kind; 0: all")
    parser.add_argument("--keep", type=Path, help="a file of what was answered, which a stopped run goes on with")
    parser.add_argument("--out", type=Path, help="where to write answers.md")
    return parse(parser)


def answered(engine: Engine, evaluator: NotingEvaluator, options: argparse.Namespace) -> Iterator[AnsweredRow]:
    """One row a question. What --keep holds is not asked again."""
    known: dict[str, AnsweredRow] = {}
    if options.keep and options.keep.is_file():
        lines = options.keep.read_text(encoding="utf-8").splitlines()
        known = {row.id: row for row in (AnsweredRow(**json.loads(line)) for line in lines)}
    for kind in options.kinds:
        library, questions = prepared(engine, kind, options)
        if options.limit:
            questions = random.Random(len(kind)).sample(questions, min(options.limit, len(questions)))
        for at, question in enumerate(questions, start=1):
            row = known.get(question.id)
            if row is None:
                row = ask(engine, evaluator, library, question)
                if options.keep:
                    with options.keep.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(row)) + "\n")
            yield row
            if at % EVERY == 0:
                print(f"  {kind}: {at} of {len(questions)}", file=sys.stderr)


def prepared(engine: Engine, kind: str, options: argparse.Namespace) -> tuple[Path, Sequence[AnswerQuestion]]:
    """The library of a kind, and its questions."""
    data, cache = options.data, options.cache
    if kind == "prose":
        return library_of(engine, prose_files(data), cache), list(prose_questions(data))
    if kind == "statements":
        found = statements(data)
        return library_of(engine, statement_files(found), cache), list(statement_questions(found))
    if kind == "filings":
        library = indexed(engine, sorted((data / "financebench/pdfs").glob("*.pdf")), cache)
        return library, list(filing_questions(engine, library, data))
    files = sorted((data / "mmlongbench/pdfs").glob("*.pdf")) + sorted((data / "public_domain").glob("*.pdf"))
    return indexed(engine, files, cache), list(report_questions(data))


def ask(engine: Engine, evaluator: NotingEvaluator, library: Path, question: AnswerQuestion) -> AnsweredRow:
    """One run, judged. Ends the program where a run fails: figures of the others would mislead."""
    settings = strategy("balanced").settings.changed(where=question.where, verify=False)
    evaluator.noted = ()
    trace = Trace.from_events(engine.ask(RunRequest(question.question, workspace=library, settings=settings)))
    if trace.answer is None:
        raise SystemExit(f"{question.id}: {trace.failure or 'no answer'}")
    whole = trace.answer
    pages = sorted({each.page for each in whole.citations if each.page})
    return AnsweredRow(
        id=question.id,
        kind=question.kind,
        part=question.part,
        question=question.question,
        accepted=list(question.answers),
        miss=question.miss,
        action=str(trace.action or ""),
        abstained=whole.abstained,
        low=whole.low_confidence,
        weak=bool(whole.unnamed) or whole.lookup in ("no period", "several") or trace.action is Action.INCORRECT,
        right=is_right(whole, question),
        short=shown(whole),
        text=whole.text,
        pages=pages,
        on_page=bool(set(pages) & set(question.pages)) if question.pages else None,
        confidence=whole.confidence,
        facts=dict(zip(ANSWER_FEATURES[evaluator.layer], evaluator.noted, strict=False)),
        seconds=round(trace.seconds, 3),
    )


def decided(row: AnsweredRow, settings: Settings) -> AnsweredRow:
    """The row with the confidence that the shipped layer gives, and marked as of low confidence by it."""
    layer = next((load_layer(*each) for each in ANSWER_FEATURES.items() if each[1] == tuple(row.facts)), None)
    if layer is None or row.abstained:
        return row
    confidence = layer.chance([*row.facts.values()])
    low = row.weak or confidence < settings.confident_answer if settings.confident_answer else row.low
    return replace(row, confidence=confidence, low=low)


if __name__ == "__main__":
    sys.exit(main())
