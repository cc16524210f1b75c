"""What files say of themselves, by name, and the page that tells it: author, dates, subject, keywords, how many pages.

Office, OpenDocument and EPUB files say it in small parts of XML, under names of the Dublin Core.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from io import BytesIO
from typing import Any

from crag.core.ingesting import Page, ParsedDocument
from crag.core.metadata import DATES
from crag.ingest.sections import Block, ComposedPage
from crag.text.formats import count

NAMES: Mapping[str, str] = {
    "title": "title",
    "creator": "author",
    "created": "created",
    "creation-date": "created",
    "modified": "modified",
    "subject": "subject",
    "keywords": "keywords",
    "keyword": "keywords",
    "publisher": "publisher",
}
"""A property by the name of the element that says it, without its namespace."""
_DAY = re.compile(r"[12]\d{3}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?(?![\d-])")
_PAGES = re.compile(rb"<(?:\w+:)?Pages>([1-9]\d{0,5})<")


def parse(data: bytes) -> Any:
    """A part of XML as a tree; no entity in it is expanded and nothing is fetched for it."""
    from lxml import etree

    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))


def stated(root: Any, names: Mapping[str, str] = NAMES) -> dict[str, str]:
    """The properties that the elements of a tree state; several of one name are joined."""
    found: dict[str, list[str]] = {}
    for element in root.iter("{*}*"):
        name = names.get(element.tag.rpartition("}")[2])
        text = " ".join((element.text or "").split())
        if name and text:
            found.setdefault(name, []).append(text)
    return {name: day(said[0]) if name in ("created", "modified") else ", ".join(said) for name, said in found.items()}


def day(text: str) -> str:
    """The ISO date, month or year that a text begins with; empty for none."""
    found = _DAY.match(text.strip())
    return found.group() if found else ""


def office_properties(data: bytes) -> dict[str, str]:
    """What a DOCX, PPTX or XLSX file says. Raises what a damaged container does."""
    with zipfile.ZipFile(BytesIO(data)) as file:
        parts = {name: file.read(name) for name in ("docProps/core.xml", "docProps/app.xml") if name in file.namelist()}
    found = stated(parse(core)) if (core := parts.get("docProps/core.xml")) else {}
    if found and (counted := _PAGES.search(parts.get("docProps/app.xml", b""))):
        found["pages"] = counted[1].decode()
    return found


_ABOUT = "Document properties"
_SAID: Mapping[str, str] = {
    "author": "The author of this document is {}, who wrote it.",
    "created": "This document was created on {}.",
    "modified": "It was last modified on {}.",
    "pages": "It has {}.",
    "slides": "It has {}.",
    "subject": "Its subject is {}.",
    "keywords": "Its keywords are {}.",
    "publisher": "It was published by {}.",
}
"""The sentence for each property: few questions find a label with a value."""


def say_properties(properties: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The properties that have a sentence, by name, as they stand on that page."""
    said = dict(properties)
    yield from ((name, form.format(_write_value(name, said[name]))) for name, form in _SAID.items() if name in said)


def properties_page(parsed: ParsedDocument) -> Iterator[Page]:
    """What the file says of itself as a page of its own, which is none of the document's: its number is 0."""
    lines = [sentence for _, sentence in say_properties(parsed.properties)]
    if not lines or parsed.kind == "email":  # an e-mail's header fields stand in its text
        return
    page = ComposedPage(0, 0.0, 0.0, place="document properties")
    page.write(Block(text=_ABOUT, heading=True))
    page.write(Block(text=" ".join(lines)))
    yield Page(number=0, text=page.text, width=0.0, height=0.0, headings=tuple(page.headings), place=page.place)


def _write_value(name: str, value: str) -> str:
    """A property's value as people write it."""
    if name in DATES and len(value) == 10:
        moment = date.fromisoformat(value)
        return f"{moment.day} {moment:%B %Y}"
    if name in ("pages", "slides") and value.isdigit():
        return count(int(value), name[:-1])
    return value.rstrip(".")
