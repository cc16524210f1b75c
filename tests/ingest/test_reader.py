"""The reader: what a good file gives, and the one clear error that each kind of bad file gives."""

import threading
import time
from collections.abc import Callable
from functools import partial

import pytest

from crag.core.config import AppConfig
from crag.core.errors import (
    CancelledError,
    DamagedError,
    DocumentError,
    EmptyError,
    EncryptedError,
    LimitError,
    UnknownMediaError,
)
from crag.core.ingesting import ParsedDocument
from crag.ingest.reader import read_document
from crag.ingest.words import order_letters
from tests.support.tiny_pdf import bomb, line, locked, no_pages, pdf, recursive_form, scanned

CONFIG = AppConfig()


def _prose(page: int = 1) -> bytes:
    text = ["The harbour was dredged in 1931 and again in 1954.", "Its depth is 12.5 metres at low water."]
    return b"".join(line(72, 700 - 14 * i, f"{words} Page {page}.") for i, words in enumerate(text))


def test_text_lines_and_progress() -> None:
    seen: list[tuple[int, int]] = []
    parsed = read_document(pdf([_prose(1), _prose(2)]), "harbour.pdf", CONFIG, on_page=lambda *at: seen.append(at))
    assert seen == [(1, 2), (2, 2)]
    assert [page.number for page in parsed.pages] == [1, 2]
    assert parsed.warnings == ()
    page = parsed.pages[0]
    assert "dredged in 1931 and again in 1954. Page 1. Its depth is 12.5 metres" in page.text
    first = page.lines[0]
    assert page.text[first.start : first.end].startswith("The harbour")
    # The baseline is 92 points below the top; the box lies around it.
    assert first.rect.left == pytest.approx(72, abs=2)
    assert first.rect.top < 92 < first.rect.bottom


@pytest.mark.parametrize(("turn", "width", "height"), [(0, 612, 792), (90, 792, 612), (180, 612, 792), (270, 792, 612)])
def test_boxes_are_where_a_turned_page_shows_them(turn: int, width: int, height: int) -> None:
    content = line(100, 600, "Turned words stay found")
    page = read_document(pdf([content], page_entries=b"/Rotate %d" % turn), "t.pdf", CONFIG).pages[0]
    assert (page.width, page.height) == (width, height)
    assert page.text == "Turned words stay found"
    rect = page.lines[0].rect
    x, y = {0: (100, 192), 90: (600, 100), 180: (512, 600), 270: (192, 512)}[turn]
    assert rect.left - 12 <= x <= rect.right + 12
    assert rect.top - 12 <= y <= rect.bottom + 12
    assert 0 <= rect.left < rect.right <= width
    assert 0 <= rect.top < rect.bottom <= height


def test_crop_box_moves_the_origin_and_hides_what_lies_outside() -> None:
    content = line(100, 600, "Inside the crop") + line(10, 20, "Outside")
    page = read_document(pdf([content], page_entries=b"/CropBox [50 300 400 700]"), "c.pdf", CONFIG).pages[0]
    assert page.text == "Inside the crop"
    assert (page.width, page.height) == (350, 400)
    assert page.lines[0].rect.left == pytest.approx(50, abs=2)
    assert page.lines[0].rect.top < 100 < page.lines[0].rect.bottom


def test_two_columns_are_read_one_after_the_other() -> None:
    left = "left column line number {} goes on about boats"
    right = "right column line number {} goes on about trains"
    content = b"".join(
        line(60, 700 - 14 * i, left.format(i), 9) + line(320, 700 - 14 * i, right.format(i), 9) for i in range(14)
    )
    text = read_document(pdf([content]), "two.pdf", CONFIG).pages[0].text
    assert text.index("left column line number 13") < text.index("right column line number 0")


def test_columns_are_found_whose_left_edge_is_not_where_the_search_looks_first() -> None:
    left, right = "the first column goes on about boats and tides", "the second one goes on about trains and rails"
    content = line(330, 714, "Indented where the second column begins", 9)
    content += b"".join(
        line(60, 700 - 14 * i, f"{left} {i}", 9) + line(326, 700 - 14 * i, f"{right} {i}", 9) for i in range(14)
    )
    text = read_document(pdf([content]), "two.pdf", CONFIG).pages[0].text
    assert text.index(f"{left} 13") < text.index(f"{right} 0")


def test_two_pages_on_one_sheet_are_read_one_after_the_other() -> None:
    content = b""
    for number in range(14):  # lists of short lines, numbered left of where their lines begin, far apart
        content += line(60, 700 - 21 * number, f"boats and tides of list {number}", 9)
        content += b"" if number % 4 else line(400, 712 - 23 * number, f"{number + 20}.", 9)
        content += line(420, 712 - 23 * number, f"trains and rails {number}", 9)
    content += line(60, 380, "a line that is longer than all the others of its list", 9)
    content += line(420, 380, "and one that is as long and stands on the other page", 9)
    text = read_document(pdf([content]), "a.pdf", AppConfig()).pages[0].text
    assert text.index("tides of list 13") < text.index("20. trains and rails 0") < text.index("trains and rails 13")


def test_letters_of_a_line_that_rises_are_no_raised_marks() -> None:
    slanted = b"BT /F1 12 Tf 0.996 0.087 -0.087 0.996 60 500 Tm (Mining of minerals and metal) Tj ET"
    assert read_document(pdf([slanted]), "a.pdf", AppConfig()).pages[0].text == "Mining of minerals and metal"


def test_the_two_letters_of_a_joined_shape_stand_as_they_are_written() -> None:
    written = "\u0627\u0644\u0623\u0645"  # alef, lam, alef with hamza, meem; the middle ones are one shape
    places = [40.0, 30.0, 30.0, 20.0]
    turned = [written[0], written[2], written[1], written[3]]
    assert order_letters([*zip(turned, places, strict=True)]) == written
    assert order_letters([*zip(written, places, strict=True)]) == written


def test_columns_over_a_table_are_read_one_after_the_other() -> None:
    left, right = "the first column goes on about boats and tides", "the second one goes on about trains and rails"
    content = b"".join(
        line(60, 740 - 14 * i, f"{left} {i}", 9) + line(320, 740 - 14 * i, f"{right} {i}", 9) for i in range(8)
    )
    for i in range(24):
        content += line(60, 580 - 14 * i, "Net sales of boats", 9)
        content += b"".join(line(x, 580 - 14 * i, f"{x + i},000", 9) for x in (240, 300, 360, 420, 480))
    text = read_document(pdf([content]), "table.pdf", CONFIG).pages[0].text
    assert text.index(f"{left} 7") < text.index(f"{right} 0") < text.index("Net sales of boats")


def test_lines_drawn_with_dashes_are_no_table() -> None:
    rule = " ".join("-" * 18)
    lines = ["IN THE COURT OF THE HARBOUR", f"{rule} x", "MICHAEL KNOWLES", "Petitioner", f"{rule} x"]
    content = b"".join(line(72, 700 - 14 * i, str(i)) + line(100, 700 - 14 * i, words) for i, words in enumerate(lines))
    page = read_document(pdf([content]), "court.pdf", CONFIG).pages[0]
    assert not page.tables and "MICHAEL KNOWLES" in page.text


def test_headers_and_footers_shared_by_pages_are_left_out() -> None:
    pages = [
        line(72, 760, "Annual Report 2019")
        + line(72, 600, f"Chapter text {word} that stands alone here.")
        + line(300, 20, f"Page {n}")
        for n, word in enumerate(["one", "two", "three", "four", "five"], 1)
    ]
    parsed = read_document(pdf(pages), "r.pdf", CONFIG)
    for page in parsed.pages:
        assert "Chapter text" in page.text
        assert "Annual Report" not in page.text
        assert "Page" not in page.text


def test_headings_and_title() -> None:
    content = line(72, 740, "The Depth of Harbours", 24, "F2") + _prose() + line(72, 640, "2. Tides", 11, "F2")
    content += line(72, 620, "High water comes twice a day in most places.")
    parsed = read_document(pdf([content]), "harbours-1954.pdf", CONFIG)
    assert "The Depth of Harbours" in parsed.title
    assert "1954" in parsed.title
    page = parsed.pages[0]
    assert [heading for _, heading in page.headings] == ["The Depth of Harbours", "2. Tides"]
    assert all(page.text.startswith(heading, at) for at, heading in page.headings)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("depth-of-harbours.pdf", "The Depth of Harbours"),
        ("the_depth_of-harbours.pdf", "The Depth of Harbours"),
        ("harbours-report.pdf", "harbours report – The Depth of Harbours"),
    ],
)
def test_a_file_name_joins_the_title_only_where_it_says_more(name: str, title: str) -> None:
    content = line(72, 740, "The Depth of Harbours", 24, "F2") + _prose()
    assert read_document(pdf([content]), name, CONFIG).title == title


def test_words_that_say_nothing_are_no_title() -> None:
    content = line(72, 740, "In the", 24, "F2") + line(72, 700, "Court of Tides", 20, "F2") + _prose()
    assert read_document(pdf([content]), "23-10171.pdf", CONFIG).title == "Court of Tides"


def test_scanned_pages_are_named() -> None:
    texts: list[str | None] = [
        "Words enough to be a page of text, and some more of them.",
        None,
        None,
        "Again words.",
        None,
    ]
    parsed = read_document(scanned(texts), "s.pdf", AppConfig.of(recognise_pages=0))
    assert parsed.warnings == ("Pages 2-3, 5 are images without text.",)
    assert [page.number for page in parsed.pages if page.scanned] == [2, 3, 5]


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (b"", EmptyError, "empty"),
        (b"PK\x03\x04 a zip", UnknownMediaError, "a ZIP archive, which is not read here.*add that file: PDF, Word"),
        (b" " * 1100 + pdf([_prose()]), UnknownMediaError, "nothing that can be read"),
        (b"%PDF-1.7\nnothing more", DamagedError, "damaged"),
        (pdf([_prose()])[:300], DocumentError, "damaged"),
        (no_pages(), EmptyError, "no pages"),
        (pdf([b""]), EmptyError, "its page is blank"),
        (pdf([b""] * 2), EmptyError, "all of its 2 pages are blank"),
        (scanned([None, None]), EmptyError, "pages 1-2 are images"),
        (locked("secret", b"sesame"), EncryptedError, "password"),
        (pdf([_prose()] * 4), LimitError, "4 pages"),
    ],
)
def test_bad_files(data: bytes, error: type[DocumentError], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        read_document(data, "../../etc/<b>bad</b>.pdf", AppConfig.of(max_pages=3))
    assert caught.value.remedy
    assert "/" not in caught.value.message
    assert "<" not in caught.value.message


def test_junk_before_the_header_is_forgiven() -> None:
    assert "1931" in read_document(b"junk\n" * 20 + pdf([_prose()]), "j.pdf", CONFIG).pages[0].text


def test_too_large_a_file_is_refused_unread() -> None:
    with pytest.raises(LimitError, match="at most 1 MB"):
        read_document(b"%PDF-" + bytes(1_100_000), "big.pdf", AppConfig.of(max_file_mb=1))


@pytest.mark.parametrize(
    "made", [recursive_form, pytest.param(partial(bomb, 600), marks=pytest.mark.slow)], ids=["recursive form", "bomb"]
)
def test_hostile_files_end_in_a_result_or_a_clear_error(made: Callable[[], bytes]) -> None:
    data = made()
    small = AppConfig.of(read_memory_mb=256, read_seconds=2)
    try:
        outcome: ParsedDocument | DocumentError = read_document(data, "x.pdf", small)
    except DocumentError as error:
        outcome = error
        assert isinstance(error, DamagedError | LimitError | EmptyError)
    assert outcome
    assert "1931" in read_document(pdf([_prose()]), "after.pdf", small).pages[0].text


def test_cancel_stops_the_reader_at_once() -> None:
    cancel = threading.Event()
    data = pdf([_prose(n) for n in range(400)], deflate=True)
    threads = threading.active_count()
    with pytest.raises(CancelledError):
        read_document(
            data, "long.pdf", CONFIG, cancel=cancel, on_page=lambda page, _: cancel.set() if page == 3 else None
        )
    deadline = time.monotonic() + 60
    while threading.active_count() > threads and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == threads
