"""Published question sets in the project's own words: SQuAD-like, PopQA-like and FinanceBench-like records."""

from __future__ import annotations

import codecs
import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from crag.analysis.questions.matching import MOST_ROWS, MOST_VALUES, VALUE_CHARS, texts_in, too_many_rows
from crag.core.errors import InputError

DELIMITERS = ",;\t"
MOST_COLUMNS = 1_000
ROW_CHARS = 8 * 1024 * 1024
"""Of one row, and so of one cell; Python's own limit on a cell is 131,072 characters."""
ROW_CELLS = 1_000_000
"""Delimiters of one row, also those in quoted cells."""
LINE_COST = 20
"""As many characters as a line takes as long to read, however short it is."""
MOST_WASTED = 16 * ROW_CHARS
"""Characters read in vain, in all, for rows whose quotation marks do not match."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")
_BLANK_LINES = re.compile(r"[ \r\n\v\f]*")
_WESTERN = {
    0xDC00 + byte: bytes([byte]).decode("cp1252")
    for byte in range(0x80, 0x100)
    if byte not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)
}
"""Bytes that are no UTF-8, as Python keeps them in a text, and their meaning in Windows-1252. Five have none."""
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


# ---- reading -------------------------------------------------------------------------------------------------------


def text_of(data: bytes) -> str:
    """The text of a file without its mark: UTF-16 (marked or not), UTF-8, or Windows-1252 where bytes are no UTF-8.

    UTF-8 and Windows-1252 may be mixed in one file. A byte that is neither stays as a lone surrogate, for anyone who
    reads the rows to name the row.
    """
    encoding = _utf16(data)
    if encoding:
        whole = data[: len(data) // 2 * 2]
        return whole.decode(encoding, "surrogatepass").removeprefix("\ufeff")
    plain = data.removeprefix(codecs.BOM_UTF8)
    try:
        return plain.decode()
    except UnicodeDecodeError:
        return plain.decode("utf-8", "surrogateescape").translate(_WESTERN)


def _utf16(data: bytes) -> str | None:
    """The kind of UTF-16 by its mark, or by every other byte being zero at the start."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16-le" if data.startswith(codecs.BOM_UTF16_LE) else "utf-16-be"
    start = data[:200]
    zeros = (start[0::2].count(0), start[1::2].count(0))
    if len(start) < 4 or max(zeros) < len(start) * 0.4 or min(zeros) > len(start) * 0.1:
        return None
    return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"


def csv_records(text: str, known: Iterable[str] = (), name: str = "The file") -> Iterator[tuple[int, list[str] | str]]:
    """Row number and cells of every row that is not blank, the header first; a reason in words for a broken row.

    Rows count from 1 with the header, as a spreadsheet shows them. The delimiter (comma, semicolon or tab) is the one
    with which the header holds most names out of `known` (see column_key), then most names. A quote that is never
    closed spoils its own line and no other: reading goes on with the line below, so a row, and all that is read in
    vain, is bounded. Raises InputError with `name` where it is over.
    """
    csv.field_size_limit(max(csv.field_size_limit(), ROW_CHARS))
    names = frozenset(known)
    delimiter = max(DELIMITERS, key=lambda each: _fit(text, each, names))
    place = row = wasted = 0
    while place < len(text):
        lines = _Lines(text, place, delimiter)
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            for cells in reader:
                row += 1
                if row > MOST_ROWS:
                    raise too_many_rows(name)
                lines.begin()
                if not blank(cells):
                    yield row, cells
            return
        except csv.Error:
            row, place, wasted = row + 1, lines.second, wasted + lines.cost
            if wasted > MOST_WASTED:
                raise InputError(
                    f"{name} can't be read as a table: the quotation marks of many rows do not match.",
                    "Save it again as CSV (UTF-8) from a spreadsheet program.",
                ) from None
            yield (
                row,
                "its quotation marks do not match, or it is far too long: a cell in quotes ends in a quote, and "
                "quotes inside are doubled",
            )


class _Lines:
    """The lines of a text from a place on, for one csv.reader, which asks for as many as a row has.

    Raises csv.Error, as the reader does, where the row has more characters or delimiters than one may.
    """

    def __init__(self, text: str, place: int, delimiter: str) -> None:
        self._text, self._delimiter = text, delimiter
        self._place = place
        self.begin()

    def begin(self) -> None:
        """Count again: a row begins here."""
        self.second = self._place
        self.cost = self._cells = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        if self._place >= len(self._text):
            raise StopIteration
        found = _LINE.match(self._text, self._place)
        assert found is not None  # the pattern matches anywhere
        start, end = found.span()
        if not self.cost:
            self.second = end
        self._place = end
        self.cost += end - start + LINE_COST
        self._cells += self._text.count(self._delimiter, start, end)
        if self.cost > ROW_CHARS or self._cells > ROW_CELLS:
            raise csv.Error("the row is too long")
        return found.group()


def blank(cells: Sequence[str]) -> bool:
    """Whether no cell holds anything."""
    return not "".join(cells).strip()


def _fit(text: str, delimiter: str, known: frozenset[str]) -> tuple[int, int]:
    """How many known names the header holds with this delimiter, and how many names at all."""
    start = _BLANK_LINES.match(text)
    assert start is not None  # the pattern matches anywhere
    rows = csv.reader(_Lines(text, start.end(), delimiter), delimiter=delimiter)
    try:
        header = next((cells for cells in islice(rows, 100) if any(cells)), [])
    except csv.Error:
        return 0, 0
    return sum(column_key(cell) in known for cell in header[:MOST_COLUMNS]), len(header)


def column_key(column: str) -> str:
    """The name of a column however it is written: "Expected Answer" and "expected-answer" are expected_answer."""
    return re.sub(r"[\s-]+", "_", column.strip().lower())


# ---- writing -------------------------------------------------------------------------------------------------------


def csv_export(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """A CSV file for a spreadsheet: UTF-8 with its mark, and no cell that would run as a formula.

    Texts are `guarded`; numbers stay numbers, None and numbers that are not finite become empty, several values are
    parted by a bar.
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
        return guard_formula("|".join(_plain(each) for each in value))
    return _plain(value) if isinstance(value, (int, float)) else guard_formula(_plain(value))


def _plain(value: object) -> str:
    return str(value).replace("\x00", "")


_UNSEEN = (
    '"\x00-\x08\x0b\x0c\x0e-\x20\x7f-\xa0\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680'
    "\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
"""What a spreadsheet may drop in front of a formula: quotation marks, space, and whatever is not seen."""
_SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"
_FORMULA = f"'*[{_UNSEEN}]*[{_SIGNS}]"
_GAP = r"(?:\A|(?<=[,;|\t\r\n]))"
"""Where a cell begins: at the start of a text, and where a program of another country or an older one may part it."""
_LIVE = re.compile(rf"\A(?='*[\t\r\n])|{_GAP}(?={_FORMULA})")
_GUARD = re.compile(rf"\A'(?='*[\t\r\n])|{_GAP}'(?={_FORMULA})")


def guard_formula(text: str) -> str:
    """A text with an apostrophe, as OWASP recommends, at each place where a formula would begin; a number as it is.

    Inside a text too: a spreadsheet that parts cells at semicolons reads "a;=1+1" as two, and one that takes no
    quotation marks begins a row at every line's end. `unguarded` gives the text back.
    """
    return text if NUMBER.fullmatch(text) else _LIVE.sub("'", text)


def unguard_formula(text: str) -> str:
    """The text that was `guarded`: also where it had apostrophes of its own, for those are guarded by one more."""
    return _GUARD.sub("", text)


def json_export(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """The same rows as a JSON list of objects; what is not finite becomes null, and nothing is guarded."""
    listed = [dict(zip(columns, map(_finite, row), strict=True)) for row in rows]
    return json.dumps(listed, ensure_ascii=False, allow_nan=False, indent=1).encode("utf-8", "replace")


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


UNANSWERABLE = "unanswerable"
"""The label of a question to which the expected source gives no answer."""
PUBLISHED = frozenset({"evidence", "possible_answers", "s_wiki_title", "financebench_id"})
"""Columns that only published sets have."""


def adapt_record(record: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The name of the set that a record looks like, and the record with this project's keys; "" and itself otherwise.

    Decided by what the record holds, never by a file's name. Raises ValueError with the reason in words where a
    record of a known shape is not whole.
    """
    if "doc_name" in record and _has_pages(record.get("evidence")):
        return "FinanceBench", _financebench(record)
    if isinstance(record.get("answers"), Mapping) and "text" in record["answers"]:
        return "SQuAD", _flat_squad(record)
    if "possible_answers" in record or ("s_wiki_title" in record and "answers" in record):
        return "PopQA", _popqa(record)
    return "", record


def _has_pages(evidence: object) -> bool:
    """Whether it is FinanceBench's list: objects, some with a page number."""
    if not isinstance(evidence, list) or not all(isinstance(each, Mapping) for each in evidence):
        return False
    return any("evidence_page_num" in each for each in evidence)


def _financebench(record: Mapping[str, Any]) -> dict[str, Any]:
    """Evidence pages, which FinanceBench counts from 0, counted from 1; each with its document where several are."""
    if len(record["evidence"]) > MOST_VALUES:
        raise ValueError(f"it has over {MOST_VALUES:,} pieces of evidence")
    own = _pdf(record["doc_name"])
    places: dict[tuple[str, int], None] = {}
    for each in record["evidence"]:
        number, name = each.get("evidence_page_num"), each.get("doc_name") or each.get("evidence_doc_name")
        if type(number) is not int or number < 0:
            raise ValueError("an evidence_page_num is no page number: FinanceBench counts them from 0")
        places[_pdf(name) if name else own, number + 1] = None
    names = [name for name, _ in places]
    return {
        "id": record.get("financebench_id"),
        "question": record.get("question"),
        "answers": _as_list(record.get("answer")),
        "sources": names if len(set(names)) > 1 else names[:1],
        "pages": [page for _, page in places],
    }


def _pdf(name: object) -> str:
    """FinanceBench names documents without their ending. Raises ValueError for what is no name of a file."""
    if not isinstance(name, (str, int, float)):
        raise ValueError("a doc_name is no text")
    text = str(name).strip()
    if len(text) > VALUE_CHARS:
        raise ValueError(f"a doc_name has over {VALUE_CHARS:,} characters")
    return text if text.lower().endswith(".pdf") else f"{text}.pdf"


def _popqa(record: Mapping[str, Any]) -> dict[str, Any]:
    """The page about the subject is the expected source; the passages that some files carry are left out."""
    return {
        "id": record.get("id"),
        "question": record.get("question"),
        "answers": record.get("possible_answers") or record.get("answers"),
        "sources": _as_list(record.get("s_wiki_title") or record.get("title")),
    }


def _flat_squad(record: Mapping[str, Any]) -> dict[str, Any]:
    """SQuAD with one record for a question, as data set hubs serve it: no text means that there is no answer."""
    texts = _as_list(record["answers"]["text"])
    return {
        "id": record.get("id"),
        "question": record.get("question"),
        "answers": texts,
        "sources": _as_list(record.get("title")),
        "labels": [] if texts else [UNANSWERABLE],
    }


def _as_list(value: Any) -> list[Any]:
    """A list of what is there: itself, one value, or nothing."""
    if isinstance(value, list):
        return value
    return [] if value is None or value == "" else [value]


def squad_records(document: object) -> Iterator[Mapping[str, Any] | str] | None:
    """The questions of a nested SQuAD file, in its order, a reason in words for each that is not whole.

    None where the document has another shape. The article's title is the expected source; a question marked
    impossible has no answer, whatever plausible ones it carries.
    """
    if not isinstance(document, Mapping) or not isinstance(document.get("data"), list):
        return None
    articles = document["data"]
    if not any(isinstance(article, Mapping) and "paragraphs" in article for article in articles):
        return None
    return (record for article in articles for record in _article(article))


def _article(article: object) -> Iterator[Mapping[str, Any] | str]:
    if not isinstance(article, Mapping) or not isinstance(article.get("paragraphs"), list):
        yield "the article has no list of paragraphs"
        return
    titles = _titles(article.get("title"))
    for paragraph in article["paragraphs"]:
        if not isinstance(paragraph, Mapping) or not isinstance(paragraph.get("qas"), list):
            yield "it is a paragraph without a list of questions"
            continue
        for each in paragraph["qas"]:
            yield _nested_squad(each, titles) if isinstance(each, Mapping) else "it is no object"


def _nested_squad(asked: Mapping[str, Any], titles: list[Any]) -> Mapping[str, Any] | str:
    answers = asked.get("answers") or []
    if not isinstance(answers, list) or not all(isinstance(each, Mapping) and "text" in each for each in answers):
        return "its answers are no list of objects with a text"
    impossible = asked.get("is_impossible") is True
    return {
        "id": asked.get("id"),
        "question": asked.get("question"),
        "answers": [] if impossible else [each["text"] for each in answers],
        "sources": titles,
        "labels": [UNANSWERABLE] if impossible else [],
    }


def _titles(title: object) -> list[Any]:
    """An article's title as its questions share it, so that it is looked through once; what is no title as it is."""
    try:
        return list(texts_in(_as_list(title), bars=False))
    except ValueError:
        return _as_list(title)


def records_of(document: object) -> list[object]:
    """The entries of a list, or of an object's list under a usual name; else the document is the only one."""
    if isinstance(document, Mapping):
        lists = (document.get(key) for key in ("questions", "data", "examples"))
        document = next((found for found in lists if isinstance(found, list)), document)
    return document if isinstance(document, list) else [document]
