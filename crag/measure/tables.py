"""Tables as bytes: text read whatever its encoding, rows of a CSV file, and rows written without live formulas."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

__all__ = ["column_key", "csv_export", "csv_records", "json_export", "json_lines", "pages_in", "text_of", "texts_in"]

UNDECODED = re.compile("[\udc80-\udcff]+")
"""Bytes that are no UTF-8, as Python keeps them in a text."""
DELIMITERS = ",;\t"
CELL_CHARS = 64 * 1024 * 1024
"""Python's own limit on a cell is 131,072 characters."""
FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
"""How a cell begins that a spreadsheet may run: = + - @ (also full-width), a tab or a line's end."""
PAGES = re.compile(r"(?:pages?|pp?\b\.?|p(?=\d))?\s*(\d{1,6})(?:\.0+)?(?:\s*[-\u2013]\s*(\d{1,6}))?", re.IGNORECASE)
MOST_PAGES = 1_000
"""In one range."""
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


# ---- reading -------------------------------------------------------------------------------------------------------


def text_of(data: bytes) -> str:
    """The text of a file without its mark: UTF-16 (marked or not), UTF-8, or Windows-1252 where bytes are no UTF-8.

    UTF-8 and Windows-1252 may be mixed in one file. A byte that is neither stays as a lone surrogate, for whoever
    reads the rows to name the row.
    """
    encoding = _utf16(data)
    if encoding:
        whole = data[: len(data) // 2 * 2]
        return whole.decode(encoding, "surrogatepass").removeprefix("\ufeff")
    text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")
    return UNDECODED.sub(lambda found: _western(found.group()), text)


def _utf16(data: bytes) -> str | None:
    """The kind of UTF-16 by its mark, or by every other byte being zero at the start."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16-le" if data.startswith(codecs.BOM_UTF16_LE) else "utf-16-be"
    start = data[:200]
    zeros = (start[0::2].count(0), start[1::2].count(0))
    if len(start) < 4 or max(zeros) < len(start) * 0.4 or min(zeros) > len(start) * 0.1:
        return None
    return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"


def _western(escaped: str) -> str:
    try:
        return escaped.encode("utf-8", "surrogateescape").decode("cp1252")
    except UnicodeDecodeError:
        return escaped


def csv_records(text: str, known: Iterable[str] = ()) -> Iterator[tuple[int, list[str] | str]]:
    """Row number and cells of every row that is not blank, the header first; a reason in words for a broken row.

    Rows count from 1 with the header, as a spreadsheet shows them. The delimiter (comma, semicolon or tab) is the one
    with which the header holds most names out of `known` (see column_key), then most names. A quote that is never
    closed spoils its own line and no other.
    """
    csv.field_size_limit(max(csv.field_size_limit(), CELL_CHARS))
    lines = list(io.StringIO(text, newline=""))
    names = frozenset(known)
    delimiter = max(DELIMITERS, key=lambda each: _fit(lines, each, names))
    place = row = 0
    while place < len(lines):
        done = 0
        reader = csv.reader((lines[at] for at in range(place, len(lines))), delimiter=delimiter, strict=True)
        try:
            for cells in reader:
                row, done = row + 1, reader.line_num
                if any(cell.strip() for cell in cells):
                    yield row, cells
            return
        except csv.Error:
            row, place = row + 1, place + done + 1
            yield (
                row,
                "its quotation marks do not match: a cell in quotes ends in a quote, and quotes inside are doubled",
            )


def _fit(lines: Sequence[str], delimiter: str, known: frozenset[str]) -> tuple[int, int]:
    """How many known names the header holds with this delimiter, and how many names at all."""
    try:
        header = next((cells for cells in csv.reader(lines, delimiter=delimiter) if any(cells)), [])
    except csv.Error:
        return 0, 0
    return sum(column_key(cell) in known for cell in header), len(header)


def column_key(column: str) -> str:
    """The name of a column however it is written: "Expected Answer" and "expected-answer" are expected_answer."""
    return re.sub(r"[\s-]+", "_", column.strip().lower())


def json_lines(text: str) -> Iterator[tuple[int, Any, str]]:
    """Line number, value and "" of every line that is not blank; the reason in words where a line is no JSON."""
    for number, line in enumerate(io.StringIO(text), start=1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line), ""
        except (ValueError, RecursionError) as error:
            said = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply, or a number too long"
            yield number, None, f"it is no JSON ({said})"


def texts_in(value: object, bars: bool) -> tuple[str, ...]:
    """The texts of a value: a list, a list in JSON, one text, or with `bars` several parted by a bar.

    Raises ValueError with the reason in words for a value that is no text and no number.
    """
    if isinstance(value, str) and value.lstrip().startswith("["):
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(value)
    elif isinstance(value, str) and bars:
        value = value.split("|")
    listed = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(each, (str, int, float)) and not isinstance(each, bool) for each in listed):
        raise ValueError("it holds something that is neither text nor number")
    return tuple(text for each in listed if (text := str(each).strip()))


def pages_in(value: object) -> tuple[int, ...]:
    """Page numbers from 1, as given: 4 or "p. 4" or "4, 7-9" or [4, 7]. Raises ValueError with the reason in words."""
    pages: list[int] = []
    for text in texts_in(value, bars=True):
        for part in re.split(r"[,;]", text):
            found = PAGES.fullmatch(part.strip())
            if part.strip() and not found:
                raise ValueError(f"{part.strip()[:40]!r} is no page number")
            if found:
                first, last = int(found[1]), int(found[2] or found[1])
                if not 1 <= first <= last < first + MOST_PAGES:
                    raise ValueError(f"{part.strip()!r} are no pages: they count from 1 and go upwards")
                pages.extend(range(first, last + 1))
    return tuple(pages)


# ---- writing -------------------------------------------------------------------------------------------------------


def csv_export(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """A CSV file for a spreadsheet: UTF-8 with its mark, and no cell that would run as a formula.

    A text cell that begins like a formula gets an apostrophe in front, as OWASP recommends; numbers stay numbers,
    None and numbers that are not finite become empty, several values are parted by a bar.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow([_cell(column) for column in columns])
    writer.writerows([_cell(value) for value in row] for row in rows)
    return out.getvalue().encode("utf-8-sig", "replace")


def _cell(value: object) -> str:
    """A value as the text of a cell that is safe to open."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (tuple, list)):
        return _guarded("|".join(_plain(each) for each in value))
    return _plain(value) if isinstance(value, (int, float)) else _guarded(_plain(value))


def _plain(value: object) -> str:
    return str(value).replace("\x00", "")


def _guarded(text: str) -> str:
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def json_export(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """The same rows as a JSON list of objects; what is not finite becomes null, and nothing is guarded."""
    listed = [dict(zip(columns, map(_finite, row), strict=True)) for row in rows]
    return json.dumps(listed, ensure_ascii=False, allow_nan=False, indent=1).encode("utf-8", "replace")


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value
