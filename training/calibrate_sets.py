"""Fits the layer that says how likely all retrieved texts together answer, and adds it to head.json.

    python -m training.calibrate_sets [--data FOLDER] [--cache FOLDER] [--keep FILE] [--out FOLDER]

Run it last, after training.calibrate_short. training.set_questions has the questions, of documents that no weight was
fitted on. Each is searched for as `balanced` does; the chunks with the text that answers are then taken out of what was
found, and the next ones move up. The first of what was found count alone, too. Figures are cross-validated by document,
beside the best chunk's score on the same rows. FinanceBench is reported and never fitted. --keep FILE holds what was
read, so that fitting again takes seconds: delete it when the model or the search changes. --out FOLDER writes sets.md
there. It needs no torch.
"""

from __future__ import annotations

import json
import random
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from corpora.answer_questions import filing_questions
from corpora.libraries import indexed, library_of
from corpora.places import parser_of
from corpora.published_sets import read_published
from corpora.rows import read_rows
from crag.analysis.questions.matching import content_stems, holds
from crag.core.config import AppConfig, Keys
from crag.core.filters import filter_of
from crag.core.protocols import SearchQuery
from crag.core.strategies import strategy
from crag.core.types import GradedText, Passage, RetrievedChunk, SetReadings
from crag.engine import Engine
from crag.evaluation.heads import SET_FEATURES, Layer, set_features
from crag.evaluation.local import LocalEvaluator
from crag.generation.arithmetic import looks_up, reach_cells
from training.calibrate_answers import FOLDS, cross_validated, fit
from training.calibrate_short import write_layer
from training.set_figures import FitRow, How, page
from training.set_questions import SetQuestion, libraries, overlaps

PENALTY = 3.0
SPARE = 12
"""Chunks that may move up where others are taken out."""
FEW = (1, 2, 4)
"""How many of the first chunks are read alone, too: a person's first library has no more."""


def main() -> None:
    parser = parser_of(__doc__, "crag-sets-cache")
    parser.add_argument("--keep", type=Path, help="keeps what was read; delete it when the model or the search changes")
    parser.add_argument("--out", type=Path, help="where to write sets.md")
    given = parser.parse_args()
    rows = list(read(given.data, given.cache, given.keep))
    fitted_on = [row for row in rows if row.kind != "filings"]
    values = np.array([set_features(SetReadings(**row.readings)) for row in fitted_on])
    right = np.array([float(row.sufficient) for row in fitted_on])
    folds = np.array([zlib.crc32(row.group.encode()) // 6 % FOLDS for row in fitted_on])
    chance = cross_validated(values, right, folds, PENALTY)
    weights, bias = fit(values, right, PENALTY)
    rounded = [round(float(weight), 6) for weight in weights]
    layer = Layer(tuple(rounded), round(bias, 6))
    dev = [row for row in rows if row.kind == "filings"]
    scores = [*map(float, chance), *(layer.chance(set_features(SetReadings(**row.readings))) for row in dev)]
    rows = [*fitted_on, *dev]
    whole = [place for place, row in enumerate(rows) if row.how != "few"]
    weighed = dict(zip(SET_FEATURES, rounded, strict=True))
    said = page([rows[place] for place in whole], np.array(scores)[whole], weighed, layer.bias)
    print(said)
    if given.out:
        (given.out / "sets.md").write_text(said, encoding="utf-8")
    write_layer("sets", {"features": list(SET_FEATURES), "weights": rounded, "bias": layer.bias})


def read(data: Path, cache: Path, keep: Path | None) -> Iterator[FitRow]:
    """The rows of all questions. What `keep` holds is not asked again."""
    known: dict[str, list[FitRow]] = {}
    if keep and keep.is_file():
        for line in read_rows(keep):
            known[line["id"]] = [FitRow(**row) for row in line["rows"]]
    engine = Engine(AppConfig(), Keys())
    asked = [
        (library_of(engine, files, cache), question) for files, questions in libraries(data) for question in questions
    ]
    filings = indexed(engine, sorted((data / "financebench/pdfs").glob("*.pdf")), cache)
    asked += [(filings, question) for question in filing_sets(engine, filings, data)]
    random.Random(44).shuffle(asked)
    evaluator = LocalEvaluator()
    for place, (library, question) in enumerate(asked, start=1):
        if question.id not in known:
            known[question.id] = list(rows_of(engine, evaluator, library, question))
            if keep:
                with keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"id": question.id, "rows": list(map(asdict, known[question.id]))}) + "\n")
        yield from known[question.id]
        if place % 100 == 0:
            print(f"  {place} of {len(asked)}", file=sys.stderr)
    engine.close()


def filing_sets(engine: Engine, library: Path, data: Path) -> Iterator[SetQuestion]:
    """The questions of FinanceBench with the pages that answer, and near misses about its companies."""
    known = {f"filings-{each.id}": each for each in read_published(data / "financebench/questions.jsonl").questions}
    for asked in filing_questions(engine, library, data):
        own = SetQuestion(asked.id, "filings", asked.id, asked.question, asked.answers, miss=asked.miss)
        yield own if asked.miss else replace(own, pages=asked.pages, source=known[asked.id].sources[0])


def rows_of(engine: Engine, evaluator: LocalEvaluator, library: Path, asked: SetQuestion) -> Iterator[FitRow]:
    """One retrieval as it is, and one without what answers; of a near miss the first alone."""
    settings = strategy("balanced").settings
    k, reach = settings.k, settings.lookup_reach if looks_up(asked.question) else 0
    query = SearchQuery(asked.question, max(k, reach) + SPARE, where=filter_of(asked.where))
    found = engine.library(library).find(query)

    def near(of: Sequence[RetrievedChunk]) -> list[RetrievedChunk]:
        return reach_cells(asked.question, of[: max(k, reach)], k) if reach else list(of[:k])

    passages = [Passage(id=each.chunk.id, text=each.chunk.graded_text()) for each in found]
    grades = {grade.passage_id: grade.score or 0.0 for grade in evaluator.grade(asked.question, passages)}

    def row(how: How, chunks: Sequence[RetrievedChunk], sufficient: bool) -> Iterator[FitRow]:
        texts = [GradedText(text=each.chunk.graded_text(), score=grades[each.chunk.id]) for each in chunks]
        readings = evaluator.read_set(asked.question, texts)
        if readings is not None:  # one of the best is not English: such a set has no score
            about = asked.kind, asked.group, how, asked.miss, sufficient, asdict(readings)
            yield FitRow(f"{asked.id}/{how}{len(chunks)}", *about)

    def several(how: How, chunks: Sequence[RetrievedChunk]) -> Iterator[FitRow]:
        """What was found, and the first of it alone, as a library of few chunks has it."""
        for size in (len(chunks), *(each for each in FEW if each < len(chunks))):
            some = [(evidence[each.chunk.id], says[each.chunk.id]) for each in chunks[:size]]
            answered = asked.sufficient(some) if how == "with" else False
            if answered is not None:
                yield from row(how if size == len(chunks) else "few", chunks[:size], answered)

    if not found:
        return
    evidence = {each.chunk.id: overlaps(each.chunk, asked) for each in found}
    says = {each.chunk.id: holds(each.chunk.text, asked.answers) for each in found}
    yield from several("miss" if asked.miss else "with", near(found))
    if asked.miss:
        return
    left = [each for each in found if not asked.takes(evidence[each.chunk.id], says[each.chunk.id])]
    if not left or len(left) == len(found):
        return
    rest, wanted = near(left), content_stems(asked.question)
    elsewhere = asked.kind != "filings" and any(  # the same fact may stand in another chunk too
        says[each.chunk.id] and 2 * len(wanted & content_stems(each.chunk.graded_text())) >= len(wanted)
        for each in rest
    )
    if not elsewhere:
        yield from several("without", rest)


if __name__ == "__main__":
    main()
