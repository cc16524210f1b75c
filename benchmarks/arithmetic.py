"""Is what a question wants worked out computed right, and nothing where a cell is missing? Without a language model.

python -m benchmarks.arithmetic [--data FOLDER] [--cache FOLDER] [--searched N] [--halves NAME …] [--out FOLDER]

The questions are those about tables of annual reports whose answer people worked out (the statements of
corpora.answer_questions, all of them: no weight decides here), and those about whole filings that define a measure. A
near miss asks for periods or for an item that the document does not have. The cells are looked up among all chunks of
the question's document; for --searched documents besides among those that the search finds. Every document belongs to
one half: "choose" may choose rules, "report" is only reported. Prints a page; --out writes it.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchmarks.evidence_questions import part_of
from benchmarks.financebench import parser_of
from benchmarks.lookups import ABSENT_ITEMS
from corpora.answer_questions import Statement, half, statement_files, statements
from corpora.judging import evaluator_version
from corpora.libraries import library_of
from crag.core.config import AppConfig, Keys
from crag.core.filters import filter_of
from crag.core.protocols import SearchQuery
from crag.core.types import Chunk
from crag.engine import Engine
from crag.generation.arithmetic import Worked, reach_cells, work_out
from crag.generation.formulas import formula_of
from crag.ingest import reader
from crag.ingest.child import read_messages
from crag.ingest.chunking import chunk_document
from crag.ingest.files import content_id

FOUND, REACH = 10, 40
"""Chunks that a search gives, and how far down the tables are looked for."""
TOLERANCE = 0.01
HALVES = ("choose", "report")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_SIGNLESS = frozenset({"difference"})
_RATIOS = frozenset({"share", "ratio"})

Outcome = Literal["right", "wrong", "none", "no formula"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of one document; `answer` None for a near miss."""

    group: str
    part: str
    source: str
    text: str
    answer: float | None


def main() -> int:
    options = arguments()
    found = statements(options.data, 10**6, fitted_on=True)
    rows: list[tuple[Asked, Outcome, str]] = []
    chunks = dict(statement_chunks(found))
    questions = [each for each in statement_questions(found) if each.part in options.halves]
    for asked in questions:
        rows.append((asked, *worked(asked, chunks[asked.source])))
    for asked, own in filing_questions(options.data, options.halves):
        rows.append((asked, *worked(asked, own)))
    searched = list(through_search(found[: options.searched], questions, options.cache)) if options.searched else []
    if options.show:
        for asked, outcome, said in rows:
            if outcome == "wrong" and asked.part == "choose":
                print(f"{asked.group}\t{asked.text}\t{asked.answer}\t{said}", file=sys.stderr)
    page = report(rows, searched, options.searched)
    print(page)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "arithmetic.md").write_text(page, encoding="utf-8")
    return 0


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__, "crag-answers-cache")
    parser.add_argument("--searched", type=int, default=40, help="documents whose questions are also searched for")
    parser.add_argument("--halves", nargs="+", choices=HALVES, default=list(HALVES))
    parser.add_argument("--out", type=Path, help="where to write arithmetic.md")
    parser.add_argument("--show", action="store_true", help="print what is wrong in the half choose")
    return parser.parse_args()


# Documents


def statement_chunks(found: Sequence[Statement]) -> Iterator[tuple[str, list[Chunk]]]:
    for name, body in statement_files(found, whole=True):
        yield name, chunks_of(name, body)


def chunks_of(name: str, body: bytes) -> list[Chunk]:
    """The chunks of a file, read in this process: hundreds of small files would each start one."""
    reader.run_child = _read_here  # type: ignore[attr-defined,assignment]
    return chunk_document(reader.read_document(body, name, AppConfig()), content_id(body), name)


def _read_here(
    job: Mapping[str, Any], data: bytes, name: str, config: AppConfig, cancel: object = None
) -> Iterator[tuple[dict[str, Any], bytes]]:
    for message in read_messages(data, {**job, "max_pages": config.limits.max_pages, "seconds": 3600}):
        yield json.loads(json.dumps(message)), b""


# Questions


def statement_questions(found: Sequence[Statement]) -> Iterator[Asked]:
    for place, each in enumerate(found):
        part, dice = half(each.passages[0]), random.Random(place)
        asked = [row for row in each.rows if row["answer_type"] == "arithmetic"]
        for row in asked:
            yield Asked("statements", part, each.name, row["question"], number_of(row["answers"][0]))
            if shifted := _other_years(row["question"], each.text):
                yield Asked("other period", part, each.name, shifted, None)
        years = sorted(set(_YEAR.findall(each.passages[0])))
        absent = [item for item in ABSENT_ITEMS if item.split()[0].casefold() not in each.text.casefold()]
        if asked and len(years) > 1 and absent:
            item = dice.choice(absent).casefold()
            wanted = f"What was the percentage change in {item} from {years[-2]} to {years[-1]}?"
            yield Asked("other item", part, each.name, wanted, None)


def _other_years(question: str, text: str) -> str:
    """The question about years that the text does not name, in the same order; empty where it names none."""
    years = {int(year) for year in _YEAR.findall(question)}
    for by in range(6, 30):
        if years and not any(str(year - by) in text for year in years):
            for year in sorted(years):
                question = question.replace(str(year), str(year - by))
            return question
    return ""


def filing_questions(data: Path, halves: Sequence[str]) -> Iterator[tuple[Asked, list[Chunk]]]:
    """The questions about one filing that have a number for an answer, and a formula."""
    lines = (data / "financebench/questions.jsonl").read_text("utf-8").splitlines()
    read: dict[str, list[Chunk]] = {}
    for row in map(json.loads, lines):
        name = f"{row['doc_name']}.pdf"
        part = part_of(name)
        if row["question_type"] != "metrics-generated" or part not in halves or formula_of(row["question"]) is None:
            continue
        if name not in read:
            read[name] = chunks_of(name, (data / "financebench/pdfs" / name).read_bytes())
        yield Asked("filings", part, name, row["question"], number_of(row["answer"])), read[name]
        if shifted := _other_years(row["question"], " ".join(chunk.text for chunk in read[name])):
            yield Asked("other period of a filing", part, name, shifted, None), read[name]


def number_of(text: str) -> float:
    return float(re.sub(r"[^\d.\-]", "", text))


# Figures


def worked(asked: Asked, chunks: Sequence[Chunk]) -> tuple[Outcome, str]:
    """How a question ended, and what it came to."""
    formula = formula_of(asked.text)
    if formula is None:
        return "no formula", ""
    made = work_out(asked.text, {str(at): chunk for at, chunk in enumerate(chunks)})
    if made is None:
        return "none", ""
    return ("right" if is_right(made, asked.answer, percent=formula.percent) else "wrong"), made.result


def is_right(made: Worked, answer: float | None, *, percent: bool) -> bool:
    """Within 1 %, or what two decimals tell; a share is one as a percentage or as a number."""
    if answer is None:
        return False
    value = made.value * (100 if percent else 1)
    values = [value]
    if made.kind in _RATIOS:
        values += [value * 100, value / 100]
    if made.kind in _SIGNLESS:
        values.append(-value)
    return any(abs(each - answer) <= max(TOLERANCE * abs(answer), 0.005 + 1e-9) for each in values)


def through_search(
    found: Sequence[Statement], questions: Sequence[Asked], cache: Path
) -> Iterator[tuple[Asked, Outcome, str]]:
    """The same questions with their cells looked up among the chunks that a search of their document brings."""
    engine = Engine(AppConfig(), Keys())
    try:
        library = engine.library(library_of(engine, statement_files(found, whole=True), cache))
        names = {each.name for each in library.documents.all()}
        for asked in questions:
            if asked.source in names:
                hits = library.find(SearchQuery(asked.text, REACH, where=filter_of({"name": asked.source})))
                yield asked, *worked(asked, [each.chunk for each in reach_cells(asked.text, hits, FOUND)])
    finally:
        engine.close()


def report(
    rows: Sequence[tuple[Asked, Outcome, str]], searched: Sequence[tuple[Asked, Outcome, str]], documents: int
) -> str:
    """The page of all questions."""
    lines = [
        "# Arithmetic",
        "",
        f"By `python -m benchmarks.arithmetic`, {len(rows)} questions of {len({row[0].source for row in rows})} "
        f"documents, embedding and evaluator {evaluator_version()}.",
        "Rules were chosen on the half `choose`; the half `report` has other documents, its filings other companies.",
        "",
    ]
    parts = (
        ("Among all chunks of the document", rows),
        (f"Among what the search finds, {documents} documents", searched),
    )
    for title, own in parts:
        if own:
            lines += [
                f"## {title}",
                "",
                "| asked, half | questions | with a formula | worked out | of those with a formula | right of those |",
                "|---|---|---|---|---|---|",
            ]
            for group in dict.fromkeys(row[0].group for row in own):
                for part in HALVES:
                    counts = Counter(row[1] for row in own if (row[0].group, row[0].part) == (group, part))
                    lines += [_line(f"{group}, {part}", counts)] if counts else []
            lines.append("")
    return "\n".join([*lines, "Of a near miss (other period, other item) every result is wrong."]) + "\n"


def _line(name: str, counts: Counter[Outcome]) -> str:
    total = sum(counts.values())
    parsed = total - counts.get("no formula", 0)
    done = counts.get("right", 0) + counts.get("wrong", 0)
    right = f"{counts.get('right', 0) / done:.2f}" if done else "–"
    share = f"{done / parsed:.2f}" if parsed else "–"
    return f"| {name} | {total} | {parsed} | {done} | {share} | {right} |"


if __name__ == "__main__":
    sys.exit(main())
