"""Rows that an answer quotes are drawn as a table: columns named, the answering cell marked, sentences as before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Answer, Chunk
from crag.export.html import answer
from crag.generation.extractive import ExtractiveGenerator
from crag.testing.contracts import strip_of
from crag.testing.fakes import table_chunk_of
from tests.support.inspector import Inspector
from tests.support.whole_run import events


@pytest.fixture(autouse=True)
def data():
    """In place of the app's data folder and engine: drawing needs none."""


SALES = table_chunk_of(
    ["", "2021", "2020"], ["Net sales", "$192,052", "$163,220"], ["Membership <fees>", "3,877", "3,541"]
)


def drawn(question: str, *texts: str, chunk: Chunk = SALES) -> str:
    """The answer that strips of the table's chunk give, as it is drawn."""
    strips = [strip_of(chunk, text, 0.9) for text in texts]
    *_, whole = ExtractiveGenerator().answer(question, strips, {chunk.id: chunk}, Settings())
    assert isinstance(whole, Answer)
    trace = Trace.from_events(events())
    found = replace(trace.rounds[0].chunks[0], chunk=chunk)
    rounds = (replace(trace.rounds[0], chunks=(found,)), *trace.rounds[1:])
    return str(answer.answer(replace(trace, answer=whole, text=whole.text, checks=(), rounds=rounds)))


def row_of(number: int, chunk: Chunk = SALES) -> str:
    row = chunk.tables[0].rows[number]
    return chunk.text[row.start : row.end]


def test_a_looked_up_row_is_a_table_with_its_cell_marked() -> None:
    said = drawn("What were the net sales in 2020?", row_of(0))
    assert '<th scope="col">2021</th><th scope="col">2020</th>' in said
    assert '<th scope="row">Net sales</th><td>$192,052</td><td class="answering">$163,220</td>' in said
    assert "Net sales: 2021" not in Inspector(said).said and said.count('data-pick="cite:1"') == 2
    assert not Inspector(said).open


def test_a_label_is_escaped() -> None:
    said = drawn("What are the membership fees?", row_of(1))
    assert "Membership &lt;fees&gt;" in said and "<fees>" not in said


def test_rows_of_one_table_that_are_quoted_together_are_one_table() -> None:
    said = drawn("Which sales and fees were there?", f"{row_of(0)}\n{row_of(1)}")
    assert said.count("<table>") == 1 and said.count('<th scope="row">') == 2


def test_a_single_row_of_many_columns_is_a_list_of_its_cells() -> None:
    years = [str(year) for year in range(2016, 2022)]
    chunk = table_chunk_of(["", *years], ["Net sales", *(f"$19{year}" for year in years)])
    said = drawn("What were the net sales in 2020?", row_of(0, chunk), chunk=chunk)
    assert "<caption>Net sales</caption>" in said and "<thead>" not in said
    assert '<th scope="row">2019</th><td>$192019</td>' in said
    assert '<th scope="row">2020</th><td class="answering">$192020</td>' in said
    assert not Inspector(said).open


def test_a_row_wider_than_a_screen_stays_a_sentence() -> None:
    wide = table_chunk_of(["", *map(str, range(2001, 2013))], ["Net sales", *(f"{each},000" for each in range(12))])
    assert "<table>" not in drawn("What were the net sales in 2003?", row_of(0, wide), chunk=wide)
