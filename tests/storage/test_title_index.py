"""Which documents a question names: the words of titles and first pages, read once each, as documents come and go."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, create_engine, delete, insert, update

from crag.core.tables import Cell, Row, Table
from crag.core.types import Chunk
from crag.retrieval.ranking import card_words, forms
from crag.retrieval.statement_lines import line_items
from crag.storage.tables import documents
from crag.storage.title_index import Postings, TitleIndex
from crag.testing.fakes import chunk_of

WORDS_USED = ["foot", "Locker", "2022", "8K", "FY19", "2023Q2", "GeneralMills", "a", "é", "µm"]
WORDS = st.lists(st.sampled_from(WORDS_USED))
TEXTS = st.lists(st.tuples(WORDS.map(" ".join), WORDS.map(" ".join)), max_size=5)
"""The title and the first page of each document."""


def said(text: str) -> set[str]:
    """What one text is found by, word by word."""
    words = card_words(text)
    return {
        *words,
        *(form for word in words for form in forms(word)),
        *(first + second for first, second in pairwise(words) if first.isalpha() and second.isalpha()),
    }


ALL = {term for first in WORDS_USED for second in WORDS_USED for term in said(f"{first} {second}")}


def found(postings: Postings, documents: int) -> list[set[str]]:
    return [{word for word in ALL if number in postings[word].tolist()} for number in range(documents)]


@given(TEXTS)
def test_every_document_is_found_by_its_words_alone(texts: list[tuple[str, str]]) -> None:
    rows = [(number, "", title, page) for number, (title, page) in enumerate(texts)]
    titles = TitleIndex().changed(np.arange(len(texts)), rows)
    assert found(titles.titled, len(texts)) == [said(title) for title, _ in texts]
    assert found(titles.paged, len(texts)) == [said(title) | said(page) for title, page in texts]


def stored(connection: Connection, names: list[str]) -> None:
    rows = [
        {"id": name, "name": f"{name}.pdf", "title": f"On {name}", "card": f"about {name} and all"} for name in names
    ]
    others = {"record": "{}", "model": "m", "added_at": "2026-11-22", "confidence": 1.0}
    connection.execute(insert(documents), [row | others for row in rows])


def test_documents_come_and_go_and_no_card_is_read_twice() -> None:
    engine = create_engine("sqlite://")
    names = ["alder", "birch", "cedar", "dogwood", "elm", "fir", "gorse", "hazel"]
    with engine.begin() as connection:
        documents.create(connection)
        titles = TitleIndex.read(connection)
        assert titles.scores("alder").tolist() == []
        for count, name in enumerate(names, start=1):
            stored(connection, [name])
            if count % 3 == 0:
                connection.execute(delete(documents).where(documents.c.id == names[count - 2]))
            titles = TitleIndex.read(connection, titles)
            afresh = TitleIndex.read(connection)
            assert np.array_equal(titles.numbers, afresh.numbers)
            for asked in names:
                assert np.array_equal(titles.scores(f"What of {asked}?"), afresh.scores(f"What of {asked}?"))
            assert titles.scores(name)[-1] == titles.scores(name).max() > 0
        connection.execute(delete(documents).where(documents.c.id.in_(names[3:])))
        titles = TitleIndex.read(connection, titles)
        for held in (titles.titled, titles.paged):
            assert set((held.pairs & 0xFFFFFFFF).tolist()) == set(titles.numbers.tolist()), "no word of a deleted one"
        connection.execute(update(documents).values(card="juniper"))
        assert not TitleIndex.read(connection, titles).scores("juniper").any(), "nothing changed: nothing is read"


def test_a_name_tells_as_much_among_many_documents_as_among_few() -> None:
    def best(count: int) -> float:
        names = [(number, f"{'abcdefghij'[number % 10]}{number}.pdf", "", "") for number in range(1, count + 1)]
        return float(TitleIndex().changed(np.arange(1, count + 1), names).scores("What does b11 say?").max())

    assert best(25) == pytest.approx(best(2_500), rel=0.1)
    assert best(12) < best(25), "among fewer it tells less"


# The lines of a statement that a question of figures is after


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("What is 3M's quick ratio for FY2022?", "receivable"),
        ("Did PP&E grow in 2021?", "property"),
        ("What was spent on R & D?", "research"),
        ("Compare the EFFECTIVE TAX RATES of both years.", "provision"),
        ("What is the three year average of capex as a % of revenue?", "purchases"),
    ],
)
def test_a_figure_is_sought_by_the_lines_it_is_made_of(question: str, says: str) -> None:
    assert says in line_items(question).split()


def test_what_the_question_says_itself_is_not_said_again() -> None:
    found = line_items("Is the quick ratio above one, given cash and cash equivalents? And the quick ratio?").split()
    assert "cash" not in found and len(set(found)) == len(found)


# What is embedded of a table: its rows without their amounts


def table_of(lines: Sequence[tuple[str, Sequence[str]]]) -> tuple[str, Table]:
    """Rows of a label and values, as a reader writes them: each value behind the name of its column."""
    rows, text = list[Row](), ""
    for label, values in lines:
        start = len(text)
        text += label
        end, cells = len(text), list[Cell]()
        for number, value in enumerate(values):
            text += f"{';' if number else ':'} 201{number} "
            cells.append(Cell(number, len(text), len(text) + len(value)))
            text += value
        rows.append(Row(start, len(text), end, tuple(cells)))
        text += "\n"
    return text[:-1], Table(start=0, end=len(text) - 1, header=("2010", "2011"), rows=tuple(rows))


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([("Cash", ("$5,794", "$4,225")), ("Other, net", ("(99)", "—"))], "Cash: 2010; 2011\nOther, net: 2010; 2011 —"),
        ([("Growth", ("12.5%", "(3)%"))], "Growth: 2010; 2011"),
        (
            [("Room 163", ("80", "twin")), ("Room 164", ("95", "king"))],
            "Room 163: 2010; 2011 twin\nRoom 164: 2010; 2011 king",
        ),
    ],
)
def test_amounts_of_cells_go_and_the_numbers_of_labels_stay(lines: list[tuple[str, Sequence[str]]], words: str) -> None:
    text, table = table_of(lines)
    made = replace(chunk("table", "T"), text=text, tables=(table,))
    assert made.indexed_text == f"T\n{words}"
    assert made.graded_text() == f"T\n{words}"
    spans = [(row.start, row.end) for row in table.rows]
    assert [made.graded_text()[start:end] for start, end in made.graded_spans(spans)] == words.split("\n")


def test_a_span_of_an_amount_alone_is_empty() -> None:
    text, table = table_of([("Cash", ("5,794", "4,225"))])
    made = replace(chunk("table", "T"), text=text, tables=(table,))
    [first, _] = table.rows[0].cells
    [(start, end)] = made.graded_spans([(first.start, first.end)])
    assert start == end


def test_the_graded_text_is_cut_before_an_amount_that_goes_on() -> None:
    text, table = table_of([("Cash", ("5,794", "4,225"))])
    made = replace(chunk("table", ""), text=text, tables=(table,))
    assert made.graded_text(len("Cash: 2010 5,7")) == "Cash: 2010 5,7"


def chunk(kind: Literal["text", "table"], context: str) -> Chunk:
    return replace(chunk_of("Sales: 12; 13"), title="T", context=context, kind=kind)


def test_a_table_is_embedded_by_context_and_labels_and_prose_by_heading_and_text() -> None:
    assert chunk("table", "T › Income").indexed_text == "T › Income\nSales: 12; 13"
    assert chunk("text", "T › Income").indexed_text == "Income\nSales: 12; 13"
    assert chunk("text", "T").indexed_text == "Sales: 12; 13"
    assert chunk("text", "").indexed_text == "Sales: 12; 13"
