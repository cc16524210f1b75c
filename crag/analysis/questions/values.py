"""Values of a question set out of JSON and out of cells: texts and pages, each bounded while it is made."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

MOST_VALUES = 1_000
"""Texts, or pages, in one field of one question."""
VALUE_CHARS = 20_000
"""Of one answer, source, topic or label."""
PAGES = re.compile(r"(?:pages?|pp?\b\.?|p(?=\d))?\s*(\d{1,6})(?:\.0+)?(?:\s*[-\u2013]\s*(\d{1,6}))?", re.IGNORECASE)
PAGE_CHARS = 60
"""Of one page or one range."""

_PART = re.compile(r"[^,;\s][^,;]*")
_LIST = re.compile(r"\s*\[")


def json_in(text: str) -> Any:
    """What a JSON text says. Raises ValueError with the reason in words."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON ({error.msg})") from error
    except (ValueError, RecursionError) as error:
        raise ValueError("it is no JSON (nested too deeply, or a number too long)") from error


def json_lines(text: str) -> Iterator[tuple[int, Any, str]]:
    """Line number, value and "" of every line that is not blank; the reason in words where a line is no JSON."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line and not line.isspace():
            try:
                yield number, json_in(line), ""
            except ValueError as error:
                yield number, None, str(error)


def texts_in(value: object, bars: bool) -> tuple[str, ...]:
    """The texts of a value: a list, a list in JSON, one text, or with `bars` several parted by a bar.

    Each without space around it; one that is longer than any may be is left as it is, for the caller to refuse. Raises
    ValueError with the reason in words for a value that is no text and no number, and for over MOST_VALUES of them.
    """
    if isinstance(value, str) and _LIST.match(value):
        with suppress(ValueError):  # a text that begins with a bracket
            value = json_in(value)
    elif isinstance(value, str) and bars:
        _few(value.count("|") + 1)
        value = value.split("|")
    listed = value if isinstance(value, list) else [] if value is None else [value]
    _few(len(listed))
    if not all(isinstance(each, (str, int, float)) and not isinstance(each, bool) for each in listed):
        raise ValueError("it holds something that is neither text nor number")
    texts = (each if isinstance(each, str) else str(each) for each in listed)
    return tuple(text for each in texts if (text := each if len(each) > VALUE_CHARS else each.strip()))


def pages_in(value: object) -> tuple[int, ...]:
    """Page numbers from 1, as given: 4 or "p. 4" or "4, 7-9" or [4, 7]. Raises ValueError with the reason in words."""
    pages: list[int] = []
    for text in texts_in(value, bars=True):
        for part in _PART.finditer(text):
            found = PAGES.fullmatch(part.group().rstrip()) if part.end() - part.start() <= PAGE_CHARS else None
            if not found:
                raise ValueError("it holds something that is no page number: write 4, or 4-6")
            first, last = int(found[1]), int(found[2] or found[1])
            if not 1 <= first <= last:
                raise ValueError("it holds pages that do not count from 1 upwards")
            _few(len(pages) + last - first + 1)
            pages.extend(range(first, last + 1))
    return tuple(pages)


def _few(count: int) -> None:
    """Raises ValueError for more values than a field may have, before they are made."""
    if count > MOST_VALUES:
        raise ValueError(f"it has over {MOST_VALUES:,}")
