"""Recognised lines to pages: order, places, directions, confidence. The engine is stood in for but where it says so."""

import io
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from crag.core.config import AppConfig
from crag.core.documents import LOW_RECOGNITION
from crag.core.errors import CancelledError, DamagedError, DocumentError, EmptyError, LimitError
from crag.core.ingesting import Page
from crag.core.types import LineBox, Rect
from crag.ingest import scans
from crag.ingest.child import page_message
from crag.ingest.chunking import chunk_document
from crag.ingest.picture_pages import recognise
from crag.ingest.reader import read_document
from crag.ingest.recognition import Found, Line, words_of
from tests.support.scanned_page import drawn, line_of, needs_recognition, skewed
from tests.support.tiny_pdf import line, pdf, scanned

ROOT = Path(__file__).resolve().parents[2]
SAYS = ["The harbour was dredged in 1931.", "Its depth is 12.5 metres at low water."]


def page_from(lines: Sequence[Line], size: tuple[int, int] = (612, 792), cut: bool = False) -> dict[str, Any]:
    """What a child sends of a page at 72 dots an inch, where an engine finds these lines."""
    picture = Image.new("RGB", size, "white")
    picture.putpixel((0, 0), (0, 0, 0))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    messages: list[dict[str, Any]] = []
    job = {"media": "image", "numbers": [1], "seconds": 10, "max_pages": 5}
    found = Found(tuple(lines), cut)
    (page,) = recognise(buffer.getvalue(), job, messages.append, lambda: lambda picture, seconds: found)
    assert messages == [{"recognised": 1}]
    values: dict[str, Any] = page_message(page)["page"]
    return values


def columns() -> list[Line]:
    """Two columns, told line by line across both, as an engine finds them."""
    left, right = "left column line {} goes on about boats and", "right column line {} goes on about trains and"
    rows = range(10, 24)
    return [
        told
        for row in rows
        for told in (
            line_of(left.format(row), 40, 40 + 14 * row, height=10),
            line_of(right.format(row), 320, 40 + 14 * row, height=10, confidence=0.8),
        )
    ]


def test_columns_are_read_one_after_the_other_and_each_line_keeps_its_confidence() -> None:
    page = page_from(columns())
    text = page["text"]
    assert text.index("left column line 23") < text.index("right column line 10")
    assert page["recognised"] and not page["scanned"] and not page["failed"]
    sure = {text[start : start + 4]: confidence for start, _, *_, confidence, _ in page["lines"]}
    assert sure["left"] == 0.98
    assert sure["righ"] == 0.8


@pytest.mark.parametrize("turn", [0, 1, 2, 3])
def test_a_turned_page_reads_the_same_and_its_lines_lie_where_they_show(turn: int) -> None:
    begins = {0: (100, 100), 1: (100, 700), 2: (500, 700), 3: (500, 100)}[turn]
    below = {0: (100, 120), 1: (120, 700), 2: (500, 680), 3: (480, 100)}[turn]
    page = page_from([line_of(SAYS[0], *begins, turn=turn), line_of(SAYS[1], *below, turn=turn)])
    assert page["text"].split() == " ".join(SAYS).split()
    start, end, left, top, right, bottom, *_ = page["lines"][0]
    assert page["text"][start:end] == SAYS[0]
    x, y = begins
    assert left - 14 <= x <= right + 14
    assert top - 14 <= y <= bottom + 14
    assert (bottom - top > right - left) == bool(turn % 2)


def test_a_page_askew_is_read_level_and_marked_askew() -> None:
    level = [line_of(f"{SAYS[1]} Said {row} times over, and once again.", 60, 90 + 16 * row) for row in range(1, 20)]
    askew = [skewed(each, 2.0, 612, 792) for each in level]
    flat, page = page_from(level), page_from(askew)
    assert page["text"] == flat["text"]
    firsts = [box for box in page["lines"] if box[1] <= page["lines"][0][0] + len(level[0].words[0][0]) + 60]
    assert len(page["lines"]) > len(flat["lines"])  # in pieces, each of which follows the line
    assert firsts[0][3] < firsts[-1][3]  # clockwise: it runs down
    covered = {place for start, end, *_ in page["lines"] for place in range(start, end)}
    assert covered >= {place for start, end, *_ in flat["lines"] for place in range(start, end)}
    assert all(bottom - top < 20 for *_, top, _, bottom, _, _ in page["lines"])


def test_what_there_was_no_time_for_is_said() -> None:
    assert page_from([line_of(SAYS[0], 100, 100)], cut=True)["cut"]


def test_words_stand_where_their_characters_were_read() -> None:
    columns = [*range(3), *range(4, 7), *range(40, 43)]
    words = words_of("one twosix", columns, 50, 25.0)
    assert [word for word, _, _ in words] == ["one", "two", "six"]  # a wide gap parts words though no space was read
    assert words[0][1] == pytest.approx(0.0, abs=0.01) and words[2][2] == pytest.approx(0.86, abs=0.02)
    assert words_of("four", [1, 2], 50, 25.0) == ()  # places that don't fit the text
    assert words_of("", [], 0, 25.0) == ()


def page_of(number: int, text: str, confidence: float | None, *, is_scan: bool = False) -> Page:
    rect = Rect(page=number, left=1, top=1, right=9, bottom=9)
    lines = () if confidence is None else (LineBox(start=0, end=len(text), rect=rect, confidence=confidence),)
    return Page(number=number, text=text, width=612, height=792, lines=lines, scanned=is_scan)


def test_what_was_recognised_and_how_surely_is_told() -> None:
    low = LOW_RECOGNITION - 0.1
    pages = [
        page_of(1, "born", None),
        page_of(2, "read", 0.98),
        page_of(3, "hard", low),
        page_of(4, "", None, is_scan=True),
    ]
    told = scans.notices(pages, None)
    assert told == [
        f"pages 2-3 read by text recognition, with a confidence of {(0.98 + low) / 2:.0%}.",
        f"Low confidence in what text recognition read on page 3 ({low:.0%}).",
        "page 4 is an image in which text recognition found nothing.",
    ]


@pytest.mark.parametrize(
    ("why", "said"),
    [
        ("missing", "pip install -r requirements/scans.txt"),
        ("off", "set “Most scanned pages”"),
        ("limit", "Raise “Most"),
    ],
)
def test_a_scan_that_is_not_read_says_what_to_do(why: Any, said: str) -> None:
    pages = [page_of(1, "", None, is_scan=True)]
    unread = scans.Unrecognised(numbers=(1,), why=why)
    error = scans.empty("a.pdf", pages, unread)
    assert isinstance(error, EmptyError) and said in error.remedy
    assert "page 1 is an image without text." in scans.notices(pages, unread)[0]


def outlines(texts: Sequence[str]) -> bytes:
    """A PDF page on which text is drawn as shapes, and no letter."""
    with Image.open(io.BytesIO(drawn(texts))) as picture:
        dark = np.asarray(picture.convert("L")) < 128
    shapes = []
    for top, row in enumerate(dark):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(np.int8), [0]]))) * 0.48
        height = 700 - top * 0.48
        shapes += [f"{x:.2f} {height:.2f} {end - x:.2f} 0.5 re" for x, end in edges.reshape(-1, 2)]
    return pdf([" ".join([*shapes, "f"]).encode()])


@pytest.mark.slow
@needs_recognition
def test_text_drawn_as_shapes_is_read_by_recognition() -> None:
    (page,) = read_document(outlines(SAYS), "a.pdf", AppConfig()).pages
    assert page.recognised and "harbour was dredged in 1931" in page.text


def test_an_error_of_recognition_leaves_the_pages_that_have_text() -> None:
    error = LimitError("It took too long.")
    pages = [page_of(1, "born", None), page_of(2, "", None, is_scan=True)]
    unread = scans.Unrecognised(numbers=(2,), why="error", error=error)
    assert "It took too long." in scans.notices(pages, unread)[0]
    assert scans.empty("a.pdf", pages[1:], unread) is error


# ---- the real engine -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@needs_recognition
def test_a_real_picture_is_read_placed_and_cited() -> None:
    told: list[tuple[int, int, float]] = []
    data = drawn([*SAYS, "Dredging cost 4,200 pounds."], turn=180)
    parsed = read_document(data, "scan.png", AppConfig(), on_recognising=lambda *at: told.append(at))
    assert parsed.kind == "image"
    (page,) = parsed.pages
    assert (page.width, page.height) == pytest.approx((408, 240), abs=0.1)
    assert page.recognised
    assert {"harbour", "dredged", "12.5", "metres", "4,200"} <= set(page.text.replace(".\n", " ").split())
    assert [(at, pages) for at, pages, _ in told] == [(1, 1)] and told[0][2] > 0
    assert "read by text recognition" in parsed.warnings[0]
    start = page.text.index("12.5")
    chunk = chunk_document(parsed, "id", "scan.png")[0]
    (rect,) = chunk.rects(start, start + 4)
    # Upside down: the second line stands above the first one's place, its end at the left.
    assert 120 < rect.top < 200 and rect.bottom - rect.top < 20
    assert chunk.recognised is not None and LOW_RECOGNITION < chunk.recognised < 1


@pytest.mark.slow
@needs_recognition
def test_recognition_opens_no_socket_and_writes_nothing(tmp_path: Path) -> None:
    code = """
import io, os, sys
def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.bind"):
        raise AssertionError(event)
sys.addaudithook(refuse)
from PIL import Image
from crag.ingest.recognition import recogniser
assert "onnxruntime" not in sys.modules
find = recogniser()
assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"
found = find(Image.open(io.BytesIO(sys.stdin.buffer.read())).convert("RGB"), 60)
print(" ".join(word for line in found.lines for word, _, _ in line.words))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=drawn(SAYS[:1]),
        capture_output=True,
        check=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert "harbour" in done.stdout.decode()
    assert list(tmp_path.iterdir()) == []


@needs_recognition
def test_a_stamp_over_a_scan_does_not_pass_for_its_text() -> None:
    told: list[tuple[int, int, float]] = []
    stamped = scanned(["Filed 09/13/18", None])
    with_text = pdf([line(72, 700, "A page with words of its own.")])
    for data in (stamped, with_text):
        read_document(data, "a.pdf", AppConfig(), on_recognising=lambda *at: told.append(at))
    assert [at[:2] for at in told] == [(1, 1)]  # the page that is a picture, and it alone


@needs_recognition
def test_stop_ends_recognition_at_once() -> None:
    cancel = threading.Event()
    with pytest.raises(CancelledError):
        read_document(drawn(SAYS), "scan.png", AppConfig(), on_recognising=lambda *_: cancel.set(), cancel=cancel)


def noise() -> bytes:
    rows = np.random.default_rng(7).integers(0, 256, (700, 700), np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(rows).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.mark.slow
@needs_recognition
@pytest.mark.parametrize(
    ("data", "error"),
    [
        (noise(), EmptyError),
        (drawn(SAYS)[:-900], DamagedError),
        (drawn([]), EmptyError),
        (b"\x89PNG\r\n\x1a\nnothing of a picture", DamagedError),
    ],
    ids=["noise", "cut off", "blank", "none"],
)
def test_pictures_that_say_nothing_end_in_a_clear_message(data: bytes, error: type[DocumentError]) -> None:
    with pytest.raises(error) as raised:
        read_document(data, "scan.png", AppConfig())
    assert "scan.png" in raised.value.message
