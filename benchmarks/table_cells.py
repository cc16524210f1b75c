"""Cells of real filings' tables: is each found in one chunk with its row's header, its column's and its unit?

python -m benchmarks.table_cells [--check]

The 300 cells of `data/table_cells.jsonl` were drawn at random from pages of ten filings and read from the drawn pages,
the 59 of `data/table_cells_later.jsonl` later, from five others; `--check` looks for the words of each again, by their
places on the page. Writes results/table_cells.md.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.pages import parse, publish
from corpora.places import DATA, is_missing
from crag.core.config import AppConfig
from crag.core.types import Chunk
from crag.ingest.chunking import chunk_document
from crag.ingest.files import content_id
from crag.ingest.reader import read_document

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
LIST = HERE / "data" / "table_cells.jsonl"
LATER = HERE / "data" / "table_cells_later.jsonl"
"""Drawn from five other filings when the reader had been made by the first list; it has been mended by these since."""
FILINGS = DATA / "financebench" / "pdfs"
_TOKEN = re.compile(r"[^\W_]+|[%$]")
_ASIDE = 320.0
"""Points to either side of a cell within which the header of its group of columns may stand."""
_JOINERS = str.maketrans("", "", "-‐’'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A value as printed, where its word stands (points from the page's top left), and what the page says of it.

    `columns`: its column's headers, the widest first. `under`: the line above that tells it from a row of the same
    name. `unit` as worded on `unit_page`, which is the cell's own page unless given; "" where none is told.
    """

    file: str
    page: int
    value: str
    row: str
    columns: Sequence[str]
    unit: str
    box: Sequence[float]
    under: str = ""
    unit_page: int = 0


class Told(NamedTuple):
    """What the chunk that holds a cell says. `row` to `under`: anywhere in it; `itself`: the cell's own line."""

    found: bool = False
    row: bool = False
    columns: bool = False
    unit: bool = False
    under: bool = False
    itself: bool = False

    @property
    def together(self) -> bool:
        return self.row and self.columns and self.unit


def cells(path: Path) -> list[Cell]:
    return [Cell(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def tokens(text: str) -> str:
    """Its words and signs in lower case between spaces, so that one text can be looked for in another."""
    found = _TOKEN.findall(text.lower().translate(_JOINERS))
    return f" {' '.join(found)} " if found else " "


def told(cell: Cell, chunks: Sequence[Chunk]) -> Told:
    """What is said of a cell by the chunk whose line stands where the cell does."""
    x, y = (cell.box[0] + cell.box[2]) / 2, (cell.box[1] + cell.box[3]) / 2
    for chunk in chunks:
        for line in chunk.lines:
            held = line.rect.left <= x <= line.rect.right and line.rect.top <= y <= line.rect.bottom
            if not held or tokens(cell.value) not in tokens(chunk.text[line.start : line.end]):
                continue
            whole = tokens(f"{chunk.context}\n{chunk.text}")
            before = chunk.text[chunk.text.rfind("\n", 0, line.start) + 1 : line.start]
            name = tokens(re.split(r"[;:] ", before)[-1])
            return Told(
                found=True,
                row=tokens(cell.row) in whole,
                columns=all(tokens(each) in whole for each in cell.columns),
                unit=tokens(cell.unit) in whole,
                under=tokens(cell.under) in whole,
                itself=tokens(cell.row) in tokens(before) and all(tokens(each) in name for each in cell.columns[-1:]),
            )
    return Told()


def measure(listed: Sequence[Cell]) -> list[Told]:
    """By the chunks that this process's `crag` makes of the filings."""
    chunks: dict[tuple[str, int], list[Chunk]] = {}
    for name in sorted({cell.file for cell in listed}):
        data = (FILINGS / name).read_bytes()
        for chunk in chunk_document(read_document(data, name, AppConfig()), content_id(data), name):
            chunks.setdefault((name, chunk.page), []).append(chunk)
    return [told(cell, chunks.get((cell.file, cell.page), [])) for cell in listed]


def unconfirmed(cell: Cell) -> list[str]:
    """What of a cell does not stand where it should, by pdfplumber's words: its row's header left of it and no lower,
    its column's above it, the unit on its page. Each is named; [] where all is confirmed.
    """
    left, top, right, bottom = cell.box
    height, middle = bottom - top, (left + right) / 2
    words = _words(cell.file, cell.page)
    row = "".join(text for text, box in words if box[2] <= left + 1 and top - 7 * height < box[1] < bottom)
    above = [(text, box) for text, box in words if box[3] <= top + 2]
    found = []
    if not _spelt(cell.row, row):
        found.append("row")
    for name in cell.columns:
        near = "".join(text for text, box in above if abs((box[0] + box[2]) / 2 - middle) < _ASIDE)
        stub = "".join(text for text, box in above if box[2] < left)
        if not _spelt(name, near) and not _spelt(name, stub):
            found.append(f"column {name}")
    unit = "".join(text for text, _ in _words(cell.file, cell.unit_page or cell.page))
    if cell.unit and not _spelt(cell.unit, unit):
        found.append("unit")
    return found


def _spelt(words: str, text: str) -> bool:
    """Whether each word occurs: lines of a header stand apart, and letter-spaced words come in pieces."""
    return all(word in text for word in tokens(words).split())


@cache
def _words(name: str, page: int) -> list[tuple[str, tuple[float, float, float, float]]]:
    """A page's words as tokens, without white space, with their places."""
    import pdfplumber  # for the check alone

    with pdfplumber.open(FILINGS / name) as document:
        return [
            (tokens(word["text"]).replace(" ", ""), (word["x0"], word["top"], word["x1"], word["bottom"]))
            for word in document.pages[page - 1].extract_words()
        ]


def report(listed: Sequence[Cell], now: Sequence[Told]) -> str:
    """The page of figures."""
    first = [place for place, cell in enumerate(listed) if cell.file not in _later()]
    later = [place for place, cell in enumerate(listed) if cell.file in _later()]
    lines = [
        "# Cells of tables, with what they are cells of",
        "",
        "`python -m benchmarks.table_cells`: cells drawn at random from pages of FinanceBench's "
        "filings and read from the drawn pages, and what the chunk that holds each says of it.",
    ]
    for places in filter(None, (first, later)):
        lines += ["", f"## {len(places)} cells of {len({listed[place].file for place in places})} filings", ""]
        lines += _figures(listed, now, places)
    lines += ["", "## Not together", ""]
    for cell, one in zip(listed, now, strict=True):
        if not one.together:
            lacks = [name for name in ("found", "row", "columns", "unit") if not getattr(one, name)]
            lines.append(f"- {cell.file.removesuffix('.pdf')}, page {cell.page}, {cell.value}: no {', '.join(lacks)}")
    return "\n".join(lines) + "\n"


def _figures(listed: Sequence[Cell], now: Sequence[Told], places: Sequence[int]) -> list[str]:
    several = [place for place in places if listed[place].under]
    rows: list[tuple[str, Callable[[Told], bool], Sequence[int]]] = [
        ("**together with row, columns and unit**", lambda one: one.together, places),
        ("found at all", lambda one: one.found, places),
        ("with its row's header", lambda one: one.row, places),
        ("with all of its column's headers", lambda one: one.columns, places),
        ("with its unit", lambda one: one.unit, places),
        ("its own line says row and column", lambda one: one.itself, places),
        ("of a row whose name is there twice: with the line above that tells which", lambda one: one.under, several),
    ]
    lines = ["| | of | are |", "|---|---:|---:|"]
    lines += [f"| {label} | {len(those)} | {sum(says(now[place]) for place in those)} |" for label, says, those in rows]
    lines += ["", "| filing | cells | together |", "|---|---:|---:|"]
    for name in sorted({listed[place].file for place in places}):
        own = [place for place in places if listed[place].file == name]
        together = sum(now[place].together for place in own)
        lines.append(f"| {name.removesuffix('.pdf')} | {len(own)} | {together} |")
    return lines


@cache
def _later() -> frozenset[str]:
    return frozenset(cell.file for cell in cells(LATER))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only confirm the list by the words' places")
    options = parse(parser)
    if is_missing(DATA, "financebench/pdfs"):
        return 2
    listed = [*cells(LIST), *cells(LATER)]
    if options.check:
        doubts = [(cell, found) for cell in listed if (found := unconfirmed(cell))]
        for cell, found in doubts:
            print(f"{cell.file}, page {cell.page}, {cell.value} ({cell.row}): {', '.join(found)}")
        print(f"{len(listed) - len(doubts)} of {len(listed)} confirmed")
        return 0
    publish("table_cells", report(listed, measure(listed)), folder=options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
