"""Chunks: whole sentences and rows of one page, exact offsets, boxes on their words, stable ids."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.core.config import AppConfig
from crag.core.ingesting import Cut, Page, ParsedDocument
from crag.core.tables import Table
from crag.core.types import LineBox, Rect
from crag.ingest.child import page_message
from crag.ingest.chunking import Sizes, chunk_document, cut_page
from crag.ingest.reader import read_document, read_page
from crag.ingest.sections import ComposedPage
from crag.text.sentences import sentences
from tests.support.work import seconds

ID = "a" * 64
SIZES = Sizes(text=300, table=200, least=80)


def _document(*pages: Page) -> ParsedDocument:
    return ParsedDocument(title="Harbours", pages=pages)


def _page(
    text: str, number: int = 1, tables: tuple[Table, ...] = (), headings: tuple[tuple[int, str], ...] = ()
) -> Page:
    return Page(number=number, text=text, width=612, height=792, tables=tables, headings=headings)


PROSE = " ".join(f"Harbour number {n} is {n} metres deep and holds {2 * n} boats." for n in range(40))


def test_chunks_are_whole_sentences_of_one_page() -> None:
    document = _document(_page(PROSE), _page(PROSE, 2))
    chunks = chunk_document(document, ID, "h.pdf", sizes=SIZES)
    assert {chunk.page for chunk in chunks} == {1, 2}
    edges = {edge for span in sentences(PROSE) for edge in span}
    for ordinal, chunk in enumerate(chunks):
        assert chunk.ordinal == ordinal
        assert chunk.text == document.pages[chunk.page - 1].text[chunk.start : chunk.end]
        assert {chunk.start, chunk.end} <= edges
        assert len(chunk.text) <= 1.3 * SIZES.text
        assert chunk.context == "Harbours"


def test_a_chunk_of_chinese_is_short_enough_for_the_embedding_model_to_read_whole() -> None:
    chinese = "路德的著作广为流传，早在一五一九年就传到了法国和意大利。" * 40
    mixed = "The term 路德 is Chinese. " * 60
    short, long = (chunk_document(_document(_page(text)), ID, "h.pdf") for text in (chinese, mixed))
    assert 200 < max(len(each.text) for each in short) <= 300
    assert max(len(each.text) for each in long) > 500


@pytest.mark.parametrize("lead", ["The skipper must hold:", "The skipper must hold"])
def test_what_leads_to_a_list_is_kept_with_it(lead: str) -> None:
    before = " ".join(f"Boat {n} lies in harbour {n} today." for n in range(8))
    items = "\n".join(f"• A licence for boats of kind number {n}" for n in range(5))
    text = f"{before}\nLicences\n{lead}\n{items}"
    heading = text.index("Licences")
    sizes = Sizes(text=len(before) + 40, table=200, least=600)
    first, second, *_ = chunk_document(
        _document(_page(text, headings=((heading, "Licences"),))), ID, "h.pdf", sizes=sizes
    )
    assert first.text == before
    assert second.text.startswith(f"Licences\n{lead}\n• A licence for boats of kind number 0")
    # Nothing but what leads on is no chunk without an end.
    leads = "\n".join(f"Part {n} of the rules of harbours and their boats:" for n in range(30))
    assert len(chunk_document(_document(_page(leads)), ID, "h.pdf", sizes=SIZES)) > 3


def test_a_table_is_cut_between_rows_and_keeps_its_header() -> None:
    rows = [f"Row {n}: 2019 {n},000; 2018 {n},500" for n in range(30)]
    table = "2019; 2018\n" + "\n".join(rows)
    text = "Boats sold.\n" + table + "\nThat is all there is to say."
    start = text.index("2019; 2018")
    span = Table(start=start, end=start + len(table), heads=("Year ended May 31, 2019 | 2018",))
    chunks = chunk_document(_document(_page(text, tables=(span,))), ID, "h.pdf", sizes=SIZES)
    tables = [chunk for chunk in chunks if chunk.kind == "table"]
    assert len(tables) > 3
    for chunk in tables[1:-1]:
        assert set(chunk.text.split("\n")) <= set(rows)
        assert chunk.context == "Harbours › Year ended May 31, 2019 | 2018"
    for row in rows:
        assert any(row in chunk.text for chunk in chunks)


def test_a_line_cut_by_a_chunk_is_cut_in_its_box() -> None:
    text = "x" * 100 + ". " + "Y" * 98
    rect = Rect(page=1, left=0, top=0, right=200, bottom=10)
    page = Page(number=1, text=text, width=612, height=792, lines=(LineBox(start=0, end=200, rect=rect),))
    first, second = chunk_document(_document(page), ID, "h.pdf", sizes=Sizes(text=101, table=101, least=10))
    assert (first.lines[0].rect.left, first.lines[0].rect.right) == (0, 101)
    assert (second.lines[0].rect.left, second.lines[0].rect.right) == (102, 200)
    assert (second.lines[0].start, second.lines[0].end) == (0, 98)


@given(st.text(alphabet=st.sampled_from("ab. \nX:;1"), max_size=600), st.integers(0, 600), st.integers(0, 600))
def test_nothing_but_white_space_is_left_out(text: str, one: int, two: int) -> None:
    start, end = sorted((min(one, len(text)), min(two, len(text))))
    tables = (Table(start=start, end=end, heads=("h",)),) if end > start else ()
    chunks = chunk_document(_document(_page(text, tables=tables)), ID, "h.pdf", sizes=SIZES)
    covered = [False] * len(text)
    for chunk in chunks:
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.text.strip()
        for at in range(chunk.start, chunk.end):
            assert not covered[at]
            covered[at] = True
    assert all(covered[at] or character.isspace() for at, character in enumerate(text))


def _wide(columns: int) -> Page:
    """A table of one row."""
    row = "Sales: " + "; ".join(f"Column {n} {n},000" for n in range(columns))
    header = " | ".join(f"Column {n}" for n in range(columns))
    text = f"{row[:200]}\n{row}"
    return _page(text, tables=(Table(start=0, end=len(text), heads=(header,)),))


def _crowded(units: int) -> Page:
    """As many tables, headings and lines as chunks."""
    part = f"Harbour\n{PROSE[:300]}\nBoats: 2019 77; 2018 42\n"
    at = [n * len(part) for n in range(units)]
    rect = Rect(page=1, left=0, top=0, right=9, bottom=9)
    end = len(part)
    return Page(
        number=1,
        text=part * units,
        width=612,
        height=792,
        by_heading=True,
        headings=tuple((start, "Harbour") for start in at),
        tables=tuple(Table(start=start + end - 24, end=start + end - 1, heads=("Year",)) for start in at),
        lines=tuple(LineBox(start=start, end=start + 7, rect=rect) for start in at),
    )


@pytest.mark.parametrize(
    "page",
    [
        _wide,
        _crowded,
        lambda n: _page("Total " + "value " * 4 * n, tables=(Table(start=0, end=24 * n, heads=("Value",)),)),
        lambda n: _page("x\n" + "word\n" * 4 * n, tables=(Table(start=0, end=20 * n, heads=("Value",)),)),
        lambda n: _page("x\n" + "Row: 1\n" * 4 * n, tables=(Table(start=0, end=28 * n, heads=("Value",)),)),
        lambda n: _page("x\n" + "word " * 8 * n, tables=(Table(start=0, end=40 * n, heads=("Value",)),)),
    ],
    ids=["one row", "headings, tables, lines", "one cell", "sections", "rows", "a long section"],
)
def test_cutting_takes_time_by_the_length_of_a_page(page: Callable[[int], Page]) -> None:
    def took(size: int) -> float:
        given = _document(page(size))
        return min(seconds(chunk_document, given, ID, "h.md") for _ in range(2))

    assert took(8_000) < 10 * (took(2_000) + 0.01)


def test_pages_are_cut_in_the_child_process_of_the_reader() -> None:
    parsed = read_document(
        f"# Harbours\n\n{PROSE}\n\n| Port | Boats |\n|--|--|\n| Hull | 77 |\n".encode(), "h.md", AppConfig()
    )
    assert [page.cuts for page in parsed.pages] == [cut_page(page) for page in parsed.pages]
    one = Cut(start=0, end=9)
    (chunk,) = chunk_document(_document(replace(parsed.pages[0], cuts=(one,))), ID, "h.md")
    assert (chunk.start, chunk.end, chunk.kind) == (0, 9, "text")


def test_cuts_that_make_no_sense_are_refused() -> None:
    raw = {
        **page_message(ComposedPage(1, 0.0, 0.0, text="Harbours of the north."))["page"],
        "cuts": [[0, 8, False, []]],
    }
    assert read_page(raw, 1)[0].cuts == (Cut(start=0, end=8),)
    for cuts in ([[0, 99, False, []]], [[4, 8, False, []], [0, 3, False, []]], [[3, 3, False, []]]):
        with pytest.raises(ValueError):
            read_page({**raw, "cuts": cuts}, 1)


# Sentences: the edges that abbreviations, numbers, lists and line breaks make doubtful, and what always holds


def _split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Net sales were $3.5 million in 2019. They fell.", ["Net sales were $3.5 million in 2019.", "They fell."]),
        ("The U.S. Congress met Mr. J. Smith. He spoke.", ["The U.S. Congress met Mr. J. Smith.", "He spoke."]),
        ("They live in the U.S. The flat is big.", ["They live in the U.S.", "The flat is big."]),
        ("See No. 5 and Fig. 2. No. We won't.", ["See No. 5 and Fig. 2.", "No.", "We won't."]),
        ("At 5 p.m. on Jan. 3 it rained.", ["At 5 p.m. on Jan. 3 it rained."]),
        ('"Really?" she asked. "Yes!" (He nodded.)', ['"Really?" she asked.', '"Yes!"', "(He nodded.)"]),
        ("1. Flour\n2. Sugar, i.e. Sucrose\n• Salt", ["1. Flour", "2. Sugar, i.e. Sucrose", "• Salt"]),
        ("a line that\nis wrapped. And ends", ["a line that\nis wrapped.", "And ends"]),
        ("你好。再见！", ["你好。", "再见！"]),
        ("Wait... what? Yes", ["Wait... what?", "Yes"]),
        ('He "lost control. It ran off." He left.', ['He "lost control. It ran off."', "He left."]),
        ('"We won. We are glad," he said. They left.', ['"We won. We are glad," he said.', "They left."]),
        ('A 5" pipe. The next is "red". Done.', ['A 5" pipe.', 'The next is "red".', "Done."]),
        ('She said "no. He left. It rained.', ['She said "no.', "He left.", "It rained."]),
        ("It fell 4.5 percent at Durant, Okla. on May 3.", ["It fell 4.5 percent at Durant, Okla. on May 3."]),
        ("On May 3,\n2008 it rained.", ["On May 3,\n2008 it rained."]),
        ("Signed by Mr.\nSmith.", ["Signed by Mr.\nSmith."]),
        ("All of the following,\n- salt\n- oil", ["All of the following,", "- salt", "- oil"]),
        (
            "Cain v. State, 859 S.W.2d 715, 717 (Mo. App. E.D. 1993). As a result, it is.",
            ["Cain v. State, 859 S.W.2d 715, 717 (Mo. App. E.D. 1993).", "As a result, it is."],
        ),
        ("Case No. : 16-0556. Case No. ED108783 ended.", ["Case No. : 16-0556.", "Case No. ED108783 ended."]),
        ("Did he go? No. NASA did.", ["Did he go?", "No. NASA did."]),
        ("Sent to W. Va. S.D.; filed. It ended.", ["Sent to W. Va. S.D.; filed.", "It ended."]),
        ("He was ill. Markets rose.", ["He was ill.", "Markets rose."]),
        ("It lies in Va. The river is long.", ["It lies in Va.", "The river is long."]),
        ("It was extended until\nMay 4, and is\nOver.", ["It was extended until\nMay 4, and is\nOver."]),
    ],
)
def test_edges(text: str, expected: list[str]) -> None:
    assert _split(text) == expected


@given(st.text(alphabet=st.sampled_from("aB1.?! \n\"'()-•é。IncUS"), max_size=80))
def test_every_character_is_in_exactly_one_sentence(text: str) -> None:
    spans = sentences(text)
    assert all(a < b for a, b in spans)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    assert all(text[a:b] == text[a:b].strip() for a, b in spans)
    covered = "".join(text[a:b] for a, b in spans)
    assert "".join(covered.split()) == "".join(text.split())
