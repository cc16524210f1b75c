"""Is the cell found that a question asks for, and none where the filing has none? By rule, without a language model.

python -m benchmarks.lookups [--data FOLDER] [--filings N] [--each N] [--cache FOLDER] [--out FOLDER]

The filings are added once to a library in --cache (or $CRAG_BENCH_CACHE). A question asks for a row of a table in a
column, in words of its own: another common term for the line item, the segment where its table is of one. A near miss
asks for a period or a line item that the filing does not have. Each is looked up among the ten chunks that a run of
`balanced` is given, and among all chunks of the filing, where most cells compete; and asked of `balanced` as a whole,
among all filings. Every company belongs to one half (see corpora.answer_questions): "choose" may choose rules, "report"
is only reported. Prints a page; --out writes it.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.pages import parse, publish, table
from corpora.answer_questions import company_names, part_of
from corpora.judging import evaluator_version
from corpora.libraries import indexed
from corpora.places import is_missing, parser_of
from crag.core.config import AppConfig, Keys
from crag.core.protocols import RunRequest
from crag.core.strategies import strategy
from crag.core.tables import SEPARATOR, Cell, Row, Table
from crag.core.trace import Trace
from crag.core.types import Chunk
from crag.engine import Engine
from crag.generation.arithmetic import reach_cells
from crag.generation.cells import look_up
from crag.text.numerals import numbers_in
from crag.text.words import count_words

EACH = 20
"""Cells asked for in one filing, and half as many near misses."""
FOUND, REACH = 10, 40
"""Chunks that a search gives, and those among which the best cell may take the last place, as in `balanced`."""
SEED = 352

Kind = Literal["cell", "segment", "other term", "other period", "other item"]
KINDS: tuple[Kind, ...] = ("cell", "segment", "other term", "other period", "other item")
MISSES = frozenset({"other period", "other item"})
Outcome = Literal["right", "wrong", "several", "none"]
Said = Literal["right", "right, low confidence", "wrong", "wrong, low confidence", "refused"]
SAID: tuple[Said, ...] = ("right", "right, low confidence", "wrong", "wrong, low confidence", "refused")

_YEAR = re.compile(r"(?<!\d)20[0-2]\d(?!\d)")
_AMOUNTS = re.compile(r"\d[\d,.]*")
_VAGUE = re.compile(
    r"(?:it|this|these|those|that|they|we|our|such|both|other|others|total|subtotal|note|see|table|item|part|page"
    r"|section|exhibit|and|or|of|less|add|plus|adjustments?|all|basic|diluted|current|deferred|balance|beginning|end"
    r"|high|low|net|gross)\b[\s:]*$",
    re.IGNORECASE,
)
_HEADING = re.compile(r"asset|liabilit|equity|revenue|expense|income|cash|activit|year|data", re.IGNORECASE)
"""Words of a section that is a part of a statement, not of the company."""
_MOVES = re.compile(r"change|adjustment|reconcil", re.IGNORECASE)
_WORDS = re.compile(r"[A-Za-z][A-Za-z&’',/ -]*")
_TERMS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"(?:purchases?|additions?) (?:of|to) property,? plant,? and equipment", ("capital expenditures", "capex")),
    (r"capital expenditures", ("purchases of property, plant and equipment", "capex")),
    (r"(?:costs? of (?:goods sold|sales|products sold))", ("cost of sales", "cost of goods sold", "COGS")),
    (r"selling, general,? and administrative(?: expenses?)?", ("SG&A", "SG&A expenses")),
    (r"research and development(?: expenses?| costs?)?", ("R&D", "R&D expenses")),
    (r"net cash provided by operating activities", ("operating cash flow", "cash flow from operations")),
    (r"depreciation and amortization", ("D&A", "depreciation & amortization")),
    (r"(?:merchandise )?inventories", ("inventory",)),
    (r"accounts receivable,? net", ("trade receivables", "accounts receivable")),
    (r"accounts payable", ("trade payables",)),
    (r"income before income taxes", ("pretax income", "earnings before taxes")),
    (r"operating income", ("operating profit", "income from operations")),
)
"""Line items, each with other terms for it. They are the benchmark's own, not those of the product."""
ABSENT_ITEMS = (
    *("Crude oil inventories", "Aircraft fuel expense", "Casino revenues", "Policyholder benefits", "Drilling costs"),
    *("Passenger revenue", "Loan loss provision", "Tuition revenue", "Coal sales", "Subscription box revenue"),
    *("Vaccine sales", "Theme park revenue", "Interest on student loans", "Shipbuilding backlog", "Timber sales"),
)


@dataclass(frozen=True, slots=True)
class LookupQuestion:
    """A question of one filing with the values that answer it; none for a near miss."""

    kind: Kind
    source: str
    text: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """A cell that can be asked for: its label, column, value and what its table is of."""

    label: str
    year: str
    column: str
    value: str
    section: str
    title: str


def main() -> int:
    options = arguments()
    if is_missing(options.data, "financebench/pdfs"):
        return 2
    files = sorted((options.data / "financebench/pdfs").glob("*.pdf"))[: options.filings or None]
    engine = Engine(AppConfig(), Keys())
    try:
        library = engine.library(indexed(engine, files, options.cache))
        documents = {each.name: library.documents.chunks(each.id) for each in library.documents.all()}
        asked = list(made_questions(documents, company_names(options.data), options.each))
        rows = []
        for question in asked:
            near = reach_cells(question.text, library.search(question.text, REACH), FOUND)
            found = [each.chunk for each in near]
            said = answered(engine, library.folder, question)
            rows.append((question, looked_up(question, found), looked_up(question, documents[question.source]), said))
    finally:
        engine.close()
    publish("lookups", report(rows), folder=options.folder)
    return 0


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__, "crag-evidence-cache")
    parser.add_argument(
        "--filings", type=int, default=0, help="how many are asked about, in the order of their names; 0: all"
    )
    parser.add_argument("--each", type=int, default=EACH, help="cells asked for in one filing")
    parser.add_argument("--out", type=Path, help="where to write lookups.md")
    return parse(parser)


def made_questions(
    documents: Mapping[str, Sequence[Chunk]], names: Mapping[str, str], each: int
) -> Iterator[LookupQuestion]:
    """The questions of every filing, the same ones every time."""
    for source, chunks in sorted(documents.items()):
        dice = random.Random(f"{SEED} {source}")
        name = names.get(source, chunks[0].title)
        company = _YEAR.sub("", name).strip()
        places = list(dict.fromkeys(_places(chunks)))
        values: dict[tuple[str, str], set[str]] = {}
        for place in places:
            values.setdefault((place.label.casefold(), place.year), set()).add(_amount(place.value))
        alone = [place for place in places if len(values[place.label.casefold(), place.year]) == 1]
        of_parts = [place for place in places if place.section and place not in alone]
        others = [
            (place, terms)
            for place in alone
            if (terms := _other_terms(place.label)) and len(_values(places, place, terms)) == 1
        ]
        for place in dice.sample(alone, min(each, len(alone))):
            yield LookupQuestion("cell", source, _ask(place.label, company, place.year, dice), (place.value,))
        for place in dice.sample(of_parts, min(each // 4, len(of_parts))):
            same = [other.value for other in of_parts if _same_but_value(other, place)]
            text = _ask(f"{place.label} of {place.section}", company, place.year, dice)
            yield LookupQuestion("segment", source, text, tuple(dict.fromkeys(same)))
        for place, terms in dice.sample(others, min(each // 4, len(others))):
            text = _ask(dice.choice(terms), company, place.year, dice)
            yield LookupQuestion("other term", source, text, (place.value,))
        years = sorted({int(place.year) for place in places})
        if not years:
            continue
        for place in dice.sample(alone, min(each // 4, len(alone))):
            year = str(dice.choice((years[0] - 4, years[-1] + 6)))
            yield LookupQuestion("other period", source, _ask(place.label, company, year, dice), ())
        text = " ".join(chunk.text for chunk in chunks).casefold()
        absent = [item for item in ABSENT_ITEMS if item.split()[0].casefold() not in text]
        for item in dice.sample(absent, min(each // 4, len(absent))):
            yield LookupQuestion("other item", source, _ask(item, company, str(years[-1]), dice), ())


def _places(chunks: Iterable[Chunk]) -> Iterator[_Place]:
    for chunk in chunks:
        for each in chunk.tables:
            for row in each.rows:
                label = " ".join(chunk.text[row.start : row.label].split()).strip(" :.")
                if _VAGUE.match(label) or not _WORDS.fullmatch(label) or not 2 <= count_words(label) <= 8:
                    continue
                for cell in row.cells:
                    place = _place(chunk, each, row, cell, label)
                    if place:
                        yield place


def _place(chunk: Chunk, table: Table, row: Row, cell: Cell, label: str) -> _Place | None:
    column, value = table.name(cell), chunk.text[cell.start : cell.end].strip()
    years = _YEAR.findall(column)
    amounts = numbers_in(value)
    if len(years) != 1 or len(amounts) != 1 or not re.fullmatch(r"[($\s]*[\d,.]+[)\s]*", value):
        return None
    if count_words(column) > 8 or re.search(r"change|increase|%|quarter|three|six|nine|vs", column, re.IGNORECASE):
        return None
    if not re.search(r"thousand|million|billion", table.unit, re.IGNORECASE) or _YEAR.fullmatch(value):
        return None
    if _MOVES.search(f"{row.section} {table.title}"):
        return None  # what an item changed by has the item's own name
    section = row.section.rpartition(SEPARATOR)[2].strip(" :")
    if not _WORDS.fullmatch(section) or _HEADING.search(section) or count_words(section) > 4:
        section = ""
    return _Place(label, years[0], column, value, section, table.title)


def _values(places: Iterable[_Place], place: _Place, terms: Sequence[str]) -> set[str]:
    """The values of the year of all rows that begin with the item, or that have one of its other terms."""
    names = [place.label.casefold(), *map(str.casefold, terms)]
    return {
        _amount(each.value)
        for each in places
        if each.year == place.year and any(name in each.label.casefold() for name in names)
    }


def _same_but_value(one: _Place, other: _Place) -> bool:
    return (one.label, one.year, one.section) == (other.label, other.year, other.section)


def _amount(value: str) -> str:
    return re.sub(r"[^\d.]", "", value)


def _other_terms(label: str) -> tuple[str, ...]:
    return next((terms for form, terms in _TERMS if re.fullmatch(form, label, re.IGNORECASE)), ())


def _ask(item: str, company: str, year: str, dice: random.Random) -> str:
    low = item if item[1:2].isupper() else item[:1].lower() + item[1:]
    possessive = f"{company}'" if company.endswith("s") else f"{company}'s"
    return dice.choice(
        (
            f"What was {possessive} {low} in fiscal {year}?",
            f"What were {company} {low} in {year}?",
            f"How much was the {low} of {company} for fiscal year {year}?",
            f"What is the FY{year} {low} for {company}?",
        )
    )


def looked_up(question: LookupQuestion, chunks: Sequence[Chunk]) -> tuple[Outcome, str]:
    """How a look-up among these chunks ended, and the cell that it gave."""
    found = look_up(question.text, {str(at): chunk for at, chunk in enumerate(chunks)})
    if found is None or found.cell is None:
        return ("several" if found and found.outcome == "several" else "none"), found.outcome if found else "no look-up"
    cell = found.cell
    right = _amount(cell.text) in {_amount(value) for value in question.values}
    right = right and _company(cell.chunk.source) == _company(question.source)
    return ("right" if right else "wrong"), f"{cell.row} | {cell.column} | {cell.text}"


def answered(engine: Engine, library: Path, question: LookupQuestion) -> tuple[Said, str]:
    """What a whole run says: right where its short answer, or else its first row, gives a value that is asked for."""
    settings = strategy("balanced").settings.changed(verify=False)
    answer = Trace.from_events(engine.ask(RunRequest(question.text, workspace=library, settings=settings))).answer
    assert answer is not None, question.text
    if answer.abstained:
        return "refused", ""
    said = answer.short.text if answer.short else answer.text.partition("\n")[0]
    right = {_amount(value) for value in question.values} & set(map(_amount, _AMOUNTS.findall(said)))
    sure: Said = "right" if right else "wrong"
    return (f"{sure}, low confidence" if answer.low_confidence else sure), said  # type: ignore[return-value]


def _company(source: str) -> str:
    """Filings of several years have the same figures: the company counts, by which files are named."""
    return source.partition("_")[0].casefold()


Rows = Sequence[tuple[LookupQuestion, tuple[Outcome, str], tuple[Outcome, str], tuple[Said, str]]]


def report(rows: Rows) -> str:
    """The page of all questions."""
    lines = [
        "# Look-ups",
        "",
        f"By `python -m benchmarks.lookups`, {len(rows)} questions of "
        f"{len({row[0].source for row in rows})} filings, embedding and evaluator {evaluator_version()}.",
        "Rules were chosen on the half `choose`; the half `report` has other companies.",
        "",
    ]
    head = ("asked for, half", "questions", "answered", "right of those answered", "several, not chosen", "none")
    for title, place in ((f"Among the {FOUND} chunks that a run is given", 1), ("Among all chunks of the filing", 2)):
        cells = [_line(name, Counter(row[place][0] for row in own), len(own)) for name, own in _groups(rows)]  # type: ignore[misc]
        lines += [f"## {title}", "", table(head, cells), ""]
    ends = [(name, own, Counter(row[3][0] for row in own)) for name, own in _groups(rows)]
    cells = [[name, len(own), *(f"{counts[each] / len(own):.2f}" for each in SAID)] for name, own, counts in ends]
    lines += ["## What a run of `balanced` answers, among all filings", ""]
    lines += [table(("asked for, half", "questions", *SAID), cells), "", "Of a near miss every answer is wrong."]
    return "\n".join(lines)


def _groups(rows: Rows) -> Iterator[tuple[str, Rows]]:
    for kind in (*KINDS, "all cells", "all near misses"):
        for part in ("choose", "report"):
            own = [row for row in rows if part_of(row[0].source) == part and _belongs(row[0].kind, kind)]
            if own:
                yield f"{kind}, {part}", own


def _belongs(kind: Kind, group: str) -> bool:
    if group == "all cells":
        return kind not in MISSES
    return kind in MISSES if group == "all near misses" else kind == group


def _line(name: str, counts: Mapping[str, int], total: int) -> list[object]:
    answered = counts.get("right", 0) + counts.get("wrong", 0)
    right = f"{counts.get('right', 0) / answered:.2f}" if answered else "–"
    several, none = counts.get("several", 0) / total, counts.get("none", 0) / total
    return [name, total, f"{answered / total:.2f}", right, f"{several:.2f}", f"{none:.2f}"]


if __name__ == "__main__":
    sys.exit(main())
