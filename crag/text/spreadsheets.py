"""Rows as files: CSV that a spreadsheet opens without running any of it, and JSON."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Sequence

NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


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
