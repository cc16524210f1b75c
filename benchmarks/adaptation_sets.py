"""The labelled examples of the adaptation benchmark: the shipped score of each pair or retrieval, kept on disk."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

from benchmarks.evaluator_graders import Cosine, evaluator_version
from benchmarks.evaluator_row import Row
from benchmarks.evaluator_sets import Sources, clapnq, lines, titled
from benchmarks.financebench import indexed
from benchmarks.thresholds_cases import unseen
from crag.analysis.adaptation import Example
from crag.analysis.questions.sets import read_set
from crag.core.config import AppConfig, Keys
from crag.core.protocols import SearchQuery
from crag.core.settings import Settings
from crag.core.types import GradedText, Passage, SetReadings
from crag.engine import Engine
from crag.evaluation.adaptation import log_odds
from crag.evaluation.heads import load_set_layer, set_features
from crag.evaluation.local import LocalEvaluator
from crag.index.lexical import Lexical, add
from crag.models.runtime import embedder_of
from training.calibrate_sets import filing_sets, rows_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSet:
    """Labelled examples of one kind. `use` as the data's README says; `of` "chunk" or "set"."""

    title: str
    use: str
    of: str
    about: str
    read: Callable[[Path, Path], Iterator[Example]]

    @property
    def name(self) -> str:
        """As the command line names it."""
        return self.title.lower().replace(" ", "-")

    def examples(self, data: Path, cache: Path) -> list[Example]:
        """What the evaluator reads, once for each version of it."""
        kept = cache / "adaptation" / evaluator_version() / f"{self.title}.jsonl"
        if not kept.is_file():
            kept.parent.mkdir(parents=True, exist_ok=True)
            content = "".join(json.dumps(asdict(each)) + "\n" for each in self.read(data, cache))
            kept.write_text(content, encoding="utf-8")
        return [Example(**{**row, "values": tuple(row["values"])}) for row in lines(kept)]


def read_rows(rows: Sequence[Row]) -> Iterator[Example]:
    """Pairs of question and text; those of a question stand together."""
    evaluator = LocalEvaluator()
    for question, own in groupby(rows, key=lambda row: row.question):
        pairs = list(own)
        passages = [Passage(id=str(place), text=row.text) for place, row in enumerate(pairs)]
        for row, grade in zip(pairs, evaluator.grade(question, passages), strict=True):
            if grade.score is not None:
                yield Example(odds=log_odds(grade.score), values=(), label=bool(row.label), group=row.group)


def read_retrieval(readings: SetReadings, label: bool, group: str) -> Example:
    """A retrieval with the shipped score of its readings."""
    layer = load_set_layer()
    assert layer is not None
    return Example(odds=log_odds(layer.score(readings)), values=set_features(readings), label=label, group=group)


def filing_chunks(data: Path, cache: Path) -> Iterator[Example]:
    """The search's chunks for each question; of a gold page or not. Grouped by the filing that is asked about."""
    engine = Engine(AppConfig(), Keys())
    library = engine.library(indexed(engine, sorted((data / "financebench/pdfs").glob("*.pdf")), cache))
    path = data / "financebench/questions.jsonl"
    rows = []
    for asked in read_set(path.name, path.read_bytes()).questions:
        for found in library.find(SearchQuery(asked.question, Settings().k)):
            chunk = found.chunk
            gold = chunk.source in asked.sources and chunk.page in asked.pages
            rows.append(Row(asked.sources[0], asked.question, chunk.graded_text(), int(gold)))
    engine.close()
    yield from read_rows(rows)


def filing_retrievals(data: Path, cache: Path) -> Iterator[Example]:
    """Retrievals with the gold page, without it, and for near misses; as training.calibrate_sets reports them."""
    engine, evaluator = Engine(AppConfig(), Keys()), LocalEvaluator()
    library = indexed(engine, sorted((data / "financebench/pdfs").glob("*.pdf")), cache)
    for asked in filing_sets(engine, library, data):
        for row in rows_of(engine, evaluator, library, asked):
            readings = {**row.readings, **{name: tuple(row.readings[name]) for name in ("absent", "years")}}
            yield read_retrieval(SetReadings(**readings), row.sufficient, row.group)
    engine.close()


def trivia(data: Path, cache: Path) -> Iterator[Example]:
    """Five retrieved passages a question."""
    rows = [
        Row(str(number), row["question"], titled(passage), int(bool(passage["answer_in_text"])))
        for number, row in enumerate(unseen(data, "triviaqa"))
        for passage in row["passages"]
    ]
    yield from read_rows(rows)


def clapnq_pairs(data: Path, cache: Path) -> Iterator[Example]:
    """One passage a question."""
    yield from read_rows(clapnq(Sources(data, Cosine(embedder_of(AppConfig())))).rows)


def nomiracl_retrievals(data: Path, cache: Path) -> Iterator[Example]:
    """Ten passages a question, judged by people; BM25 is that of a library of all passages."""
    parts = ("relevant", "non_relevant")
    asked = [row for part in parts for row in lines(data / f"nomiracl/nomiracl_en_{part}.jsonl")]
    evaluator = LocalEvaluator()
    texts = list(dict.fromkeys(titled(passage) for row in asked for passage in row["passages"]))
    with tempfile.TemporaryDirectory() as place:
        lexical = Lexical.make(Path(place) / "words")
        writer = lexical.writer()
        for number, text in enumerate(texts):
            add(writer, number, number, "", text)
        writer.commit()
        searcher = lexical.searcher()
        for row in asked:
            numbers, scores = searcher.best(row["question"].split(), len(texts), None)
            bm25 = dict(zip(map(int, numbers), map(float, scores), strict=True))
            passages = [Passage(id=str(place), text=titled(each)) for place, each in enumerate(row["passages"])]
            grades = list(evaluator.grade(row["question"], passages))
            graded = [
                GradedText(text=each.text, score=grade.score or 0.0, keywords=bm25.get(texts.index(each.text), 0.0))
                for each, grade in zip(passages, grades, strict=True)
            ]
            readings = evaluator.read_set(row["question"], graded)
            if readings:
                yield read_retrieval(readings, bool(row["any_relevant"]), row["query_id"])


SETS = (
    LabelSet(
        title="FinanceBench chunks", use="dev", of="chunk", about="a chunk of a gold page, or not", read=filing_chunks
    ),
    LabelSet(
        title="FinanceBench retrievals",
        use="dev",
        of="set",
        about="with its gold page, without it, and near misses about the same companies",
        read=filing_retrievals,
    ),
    LabelSet(
        title="TriviaQA passages", use="dev", of="chunk", about="a passage that holds an accepted answer", read=trivia
    ),
    LabelSet(title="ClapNQ passages", use="test", of="chunk", about="does the passage answer", read=clapnq_pairs),
    LabelSet(
        title="NoMIRACL retrievals",
        use="test",
        of="set",
        about="is any of the ten passages relevant, as people judged",
        read=nomiracl_retrievals,
    ),
)
