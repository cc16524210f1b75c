"""Text whose characters are whole. JSON and programs can hold half a character, which no file, page or server takes.

Text is made whole where it enters: a model's reply, what a server sends, a question.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_HALF = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class InjectionSpan:
    """The characters [start, end) of a text that speak to a model, one or more sentences.

    `erased`: the run read blanks in their place. False: it read them, marked as untrusted.
    """

    start: int
    end: int
    erased: bool = False


def whole_text(text: str) -> str:
    """The text with each pair of halves as the character that they make, and U+FFFD for any other half."""
    if not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class WholePieces:
    """Text that comes in pieces, any of which may end in the middle of a character."""

    def __init__(self) -> None:
        self._half = ""

    def heard(self, piece: str, *, last: bool = False) -> str:
        """The piece in whole characters; half a character at its end waits for the next, unless it is the `last`."""
        text, self._half = self._half + piece, ""
        if not last and "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return whole_text(text)


def read_json(data: str | bytes) -> Any:
    """The values of JSON, each text of them whole. Raises ValueError, and RecursionError where they are too deep."""
    return _whole_values(json.loads(data))


def _whole_values(value: Any) -> Any:
    match value:
        case str():
            return whole_text(value)
        case dict():
            return {whole_text(name): _whole_values(each) for name, each in value.items()}
        case list():
            return [_whole_values(each) for each in value]
        case _:
            return value
