"""The fields of a document: what is known of it beside its text, and can be filtered by.

Some are known of every document (`FIXED`); any others are free, and made by giving them a value. A field is a name and
a text, a number, a boolean, a date or a list of texts. A date is a text written as one, as exact as it is known: a
year, a month or a day. So a document's fields are plain JSON, and no declaration is needed before a field is used.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import date
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import urlsplit

from crag.core.errors import InputError
from crag.core.types import Document
from crag.text.memory import remember

Value = str | int | float | bool | tuple[str, ...]
Fields = Mapping[str, Value]
Kind = Literal["text", "number", "boolean", "date", "list"]

FIXED: Mapping[str, Kind] = MappingProxyType(
    {
        "id": "text",
        "name": "text",
        "title": "text",
        "pages": "number",
        "added": "date",
        "confidence": "number",
        "verified": "boolean",
        "source": "text",
        "tags": "list",
        "date": "date",
        "author": "text",
        "created": "date",
        "modified": "date",
        "review_by": "date",
    }
)
"""The fields that every library knows, whatever its documents are, and the one kind of value that each may have."""

KEPT_SOURCE = "web"
"""The `source` of a web page that an answer used and a person kept as a document."""
KEPT_CONFIDENCE = 0.5
"""How far such a page is trusted, unless set otherwise."""

DATES = ("created", "modified")
"""The properties of a file that are dates."""

_OF_THE_FILE = ("id", "name", "title", "pages", "added")
"""The fixed fields that nobody sets."""

MOST_FIELDS = 50
_MOST_NAME, _MOST_TEXT, _MOST_ENTRIES, _MOST_ENTRY = 64, 1_000, 100, 200
_NAME = re.compile(r"[^\W\d_][\w.-]*")
_NUMBER = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_DATE = re.compile(r"[12][0-9]{3}(?:-(?:0[1-9]|1[0-2])(?:-[0-3][0-9])?)?")
_PARTS = re.compile(r'[,"\[\]]')
_EXACT = 10**15
"""Whole numbers below this are kept as such: beyond, a float would not hold every one."""

_SHAPES: dict[Kind, str] = {
    "text": "Give it a text.",
    "number": "Give it a number, as 12.5.",
    "boolean": "Give it true or false.",
    "date": "Give it a date, as 2024, 2024-03 or 2024-03-01.",
    "list": "Give it texts joined by commas, as annual report,10-K.",
}


def field_name(text: str) -> str:
    """A field's name as it is kept: in small letters. Raises InputError for what is none.

    A letter, then letters, digits, `_`, `-` and `.`; at most 64.
    """
    name = _compose_letters(text.strip()).lower()
    if not _NAME.fullmatch(name) or _compose_letters(name).lower() != name:
        raise InputError(
            f"{_short(text)} can't name a field.",
            "Begin with a letter; then letters, digits, _, - and . may follow, and no spaces.",
        )
    if len(name) > _MOST_NAME:
        raise InputError(f"The field name {_short(name)} is too long.", f"Use at most {_MOST_NAME} characters.")
    return name


def read_field(text: str) -> tuple[str, Value | None]:
    """A field as it is typed, `name=value`; None for the value where it is empty: the field is to be taken away.

    `true` and `false` are booleans, `12.5` is a number (`007` is not), `[a, b]` is a list, and anything else, or what
    stands in double quotes, is a text. A fixed field takes its own kind alone; `tags` needs no brackets. Raises
    InputError.
    """
    typed, equals, rest = text.partition("=")
    if not equals:
        raise InputError(f"{_short(text)} gives no value.", "Write it as field=value, as verified=true.")
    name, said = field_name(typed), rest.strip()
    return name, _check_value(name, read_value(said, FIXED.get(name))) if said else None


def written_field(name: str, value: Value) -> str:
    """A field as it is typed: `read_field` makes the same of it."""
    return f"{name}={format_value(value, FIXED.get(name))}"


def checked_fields(given: Mapping[str, Any]) -> dict[str, Value]:
    """The fields that a person or a program gives a document, each as it is kept. Raises InputError naming the field.

    At most 50; a text of at most 1,000 characters, a list of at most 100 texts of 200; numbers are finite.
    """
    fields = {(name := field_name(key)): _check_value(name, value) for key, value in given.items()}
    if len(fields) > MOST_FIELDS:
        raise InputError(f"{len(fields)} fields are too many.", f"Give a document at most {MOST_FIELDS}.")
    return fields


def stored_fields(given: Mapping[str, Any]) -> dict[str, Value]:
    """The fields that a library's record holds, without those that come with the file now and could once be set."""
    return checked_fields({name: value for name, value in given.items() if name not in _OF_THE_FILE})


def fields_of(document: Document, given: Fields) -> dict[str, Value]:
    """All fields of a document, the fixed ones first. `given` are those that it was given: see `checked_fields`.

    Unless given, `source` is the host of its address, `date` when it was published, and `author`, `created` and
    `modified` are what the file says of itself, where that is known.
    """
    fields: dict[str, Value] = {
        "id": document.id,
        "name": _compose_letters(document.name),
        "title": _compose_letters(document.title),
        "pages": document.pages,
        "added": document.added_at[:10],
        "confidence": document.confidence,
        "verified": False,
        "tags": (),
    }
    host = urlsplit(document.url).hostname if document.url else None
    dated = {"date": document.published} if document.published else {}
    own = {name: _compose_letters(said) for name, said in document.properties if name in ("author", *DATES)}
    return {**fields, **({"source": host} if host else {}), **dated, **own, **given}


def tags_of(given: Fields) -> tuple[str, ...]:
    """The tags among a document's fields."""
    tags = given.get("tags", ())
    return tags if isinstance(tags, tuple) else ()


def kept_from_web(given: Fields) -> bool:
    """Whether a document, by the fields that it was given, is the text that an answer rested on.

    It stays so whatever its address says by now.
    """
    return given.get("source") == KEPT_SOURCE


def known_fields(documents: Iterable[Fields]) -> dict[str, frozenset[Kind]]:
    """The fields of these documents with the kinds of value that they have, and the fixed ones; by name."""
    found: dict[str, set[Kind]] = {name: {kind} for name, kind in FIXED.items()}
    for fields in documents:
        for name, value in fields.items():
            if name not in FIXED:
                found.setdefault(name, set()).add(_kind(value))
    return {name: frozenset(kinds) for name, kinds in sorted(found.items())}


def number_in(text: str) -> int | float | None:
    """The number that a text is; None where it is none. Zeros that lead are of an identifier: 007 is no number."""
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    if not math.isfinite(number):
        return None
    return int(number) if abs(number) < _EXACT and text.removeprefix("-").isdigit() else number


def boolean_in(text: str) -> bool | None:
    """What `true` and `false` say, in any case; None for any other text."""
    return {"true": True, "false": False}.get(text.lower())


def days_in(text: str) -> tuple[str, str] | None:
    """The first and the last day of a date, a month or a year, to be compared as texts; None for any other text.

    Every month counts as 31 days long: nothing lies between.
    """
    return _days(text) if len(text) in (4, 7, 10) else None


@remember(16_384)  # a filter asks for the same days document after document
def _days(text: str) -> tuple[str, str] | None:
    size = len(text)
    if not _DATE.fullmatch(text):
        return None
    if size == 10:
        try:
            date.fromisoformat(text)
        except ValueError:
            return None
    return text + "-01-01"[size - 4 :], text + "-12-31"[size - 4 :]


def _kind(value: Value) -> Kind:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "date" if days_in(value) else "text"
    return "list"


def read_value(text: str, kind: Kind | None) -> Value:
    """What typed text comes to, for a field of this kind; None: for a free one. See `read_field`."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('""', '"')
    listed = len(text) > 1 and text[0] == "[" and text[-1] == "]"
    if listed or kind == "list":
        entries = (text[1:-1] if listed else text).split(",")
        return tuple(entry.strip() for entry in entries if entry.strip())
    if kind in ("text", "date"):
        return text
    for plain in (boolean_in(text), number_in(text)):
        if plain is not None:
            return plain
    return text


def format_value(value: Any, kind: Kind | None) -> str:
    """The value as it is typed: `read_value` makes the same of it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, str):
        return value if read_value(value, kind) == value and value else '"' + value.replace('"', '""') + '"'
    entries = ", ".join(map(str, value))
    return entries if kind == "list" and value else f"[{entries}]"


def _check_value(name: str, value: Any) -> Value:
    """A value as it is kept. Raises InputError naming the field."""
    if name in _OF_THE_FILE:
        raise InputError(f"{name} comes with the file and can't be set.", "Use a field of another name.")
    kept: Value
    match value:
        case bool():
            kept = value
        case int() if abs(value) < _EXACT:
            kept = value
        case float() if math.isfinite(value):
            kept = value
        case str():
            kept = _text(name, value, _MOST_TEXT)
        case list() | tuple() if all(isinstance(entry, str) for entry in value):
            kept = _list(name, value)
        case _:
            raise InputError(
                f"The field {name} can't have this value.", "Give it a text, a number, true or false, or a list."
            )
    kind = FIXED.get(name)
    fits = kind in (None, _kind(kept)) or (kind == "text" and isinstance(kept, str))
    if kind and not fits:
        raise InputError(f"{name} can't be {_short(format_value(kept, kind))}.", _SHAPES[kind])
    if name == "confidence" and not (isinstance(kept, int | float) and 0 <= kept <= 1):
        raise InputError(f"confidence can't be {format_value(kept, kind)}.", "Give it a number from 0 to 1.")
    return kept


def _text(name: str, value: str, most: int) -> str:
    text = " ".join(_compose_letters(value).split())
    if len(text) > most:
        raise InputError(f"The field {name} holds {len(text):,} characters.", f"Use at most {most:,}.")
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in text):
        raise InputError(f"The field {name} holds characters that are no text.", "Leave them out.")
    return text


def _list(name: str, values: Iterable[str]) -> tuple[str, ...]:
    """Texts without those that came before."""
    entries = tuple(dict.fromkeys(text for value in values if (text := _text(name, value, _MOST_ENTRY))))
    if len(entries) > _MOST_ENTRIES:
        raise InputError(f"The field {name} lists {len(entries)} texts.", f"Use at most {_MOST_ENTRIES}.")
    if any(_PARTS.search(entry) for entry in entries):
        raise InputError(
            f"A text that the field {name} lists holds a comma, a square bracket or a double quote.",
            "Leave it out: these are how a list is written.",
        )
    return entries


def _compose_letters(text: str) -> str:
    """Letters with their marks as one sign each, so that what looks the same is the same."""
    return unicodedata.normalize("NFC", text)


def _short(text: str) -> str:
    return f'"{text[:40]}…"' if len(text) > 40 else f'"{text}"'
