"""OpenDocument texts, spreadsheets and presentations: what they hold becomes web pages, which one reader reads."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from html import escape
from io import BytesIO
from typing import Any

from crag.ingest.files import FileError, check_container, translate_errors
from crag.ingest.grid import MOST_COLUMNS, GridCell
from crag.ingest.html import read_html_blocks
from crag.ingest.properties import NAMES, parse, stated
from crag.ingest.sections import ComposedPage, fill_pages, messages
from crag.ingest.sheets import sheet_pages

_MOST_REPEATED, _MOST_ROWS = 60, 50_000
_META = {**NAMES, "initial-creator": "author", "date": "modified", "creator": "editor"}
_PAPER = ("none", "transparent", "#ffffff")
_ENCRYPTED = b"encryption-data"
_TAGS = {
    "h": "h2",
    "p": "p",
    "table": "table",
    "table-row": "tr",
    "list": "div",
    "list-item": "div",
    "note-body": "div",
    "note-citation": "sup",
    **dict.fromkeys(("custom-shape", "frame", "text-box", "rect", "ellipse", "circle", "polygon"), "div"),
}
"""An element of a web page for an element by its name without the namespace; what is not here passes its words on."""
_SKIPPED = frozenset(
    "tracked-changes annotation forms covered-table-cell table-of-content script event-listeners notes "
    "settings desc title table-of-content-source illustration-index-source table-index-source object-index-source "
    "user-index-source alphabetical-index-source bibliography-source".split()
)
_SPACES = {"s": " ", "tab": " ", "line-break": "<br>"}


class _File:
    """An OpenDocument file: the tree of its content, how its styles look, and what it says of itself."""

    def __init__(self, data: bytes, job: dict[str, Any]) -> None:
        names, self.notes = check_container(data, job)
        if "content.xml" not in names:
            raise FileError("damaged", "it has no content")
        with zipfile.ZipFile(BytesIO(data)) as file:
            parts = {name: file.read(name) for name in _parts(names)}
        if _ENCRYPTED in parts.get("META-INF/manifest.xml", b""):
            raise FileError("encrypted")
        content = parse(parts["content.xml"])
        self.body = next(content.iter("{*}body"))
        self.about = stated(parse(meta), _META) if (meta := parts.get("meta.xml")) else {}
        editor = self.about.pop("editor", "")
        self.about.setdefault("author", editor)
        self.looks: dict[str, str] = {}
        self.hidden: set[str] = set()
        """The styles of pages and sheets that are not shown."""
        for tree in (content, *([parse(styles)] if (styles := parts.get("styles.xml")) else [])):
            for style in tree.iter("{*}style"):
                self._note(style)
        self.notes["comments"] = sum(1 for _ in self.body.iter("{*}annotation"))

    def _note(self, style: Any) -> None:
        name, said = _get(style, "name"), dict[str, str]()
        for each in style.iterchildren():
            found = {"color": _get(each, "color"), "background": _ground(each), "display": _get(each, "display")}
            said |= {what: how for what, how in found.items() if how}
            if _get(each, "display") == "false" or _get(each, "visibility") == "hidden":
                self.hidden.add(name)
        if said:
            self.looks[name] = ";".join(f"{what}:{how}" for what, how in said.items())

    def page(self, element: Any) -> str:
        """An element as a web page."""
        return "".join(_write(element, self.looks))


def _ground(look: Any) -> str:
    """The colour behind what a style is of; empty for none."""
    filled = _get(look, "fill") in ("", "solid")
    found = _get(look, "background-color") or (_get(look, "fill-color") if filled else _get(look, "fill"))
    return "" if found in _PAPER else found


def _move_notes(body: Any) -> None:
    """Put footnotes and endnotes behind the text, each with its mark, which stays where the note was."""
    for note in list(body.iter("{*}note")):
        mark, held = note.findtext("{*}note-citation") or "", note.find("{*}note-body")
        first = next(held.iter("{*}p"), None) if held is not None else None
        if first is not None:
            first.text = f"{mark}. {first.text or ''}"
            body.append(held)


def _parts(names: Any) -> list[str]:
    return [name for name in ("content.xml", "styles.xml", "meta.xml", "META-INF/manifest.xml") if name in names]


def _get(element: Any, name: str) -> str:
    """An attribute by its name without the namespace; empty for none."""
    return next((str(said) for key, said in element.attrib.items() if key.rpartition("}")[2] == name), "")


def _name(element: Any) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else "script"


def _write(element: Any, looks: Mapping[str, str]) -> Iterator[str]:
    """An element with all that it holds. Its nesting is bounded by the parser, which takes 256 levels."""
    name = _name(element)
    if name in _SKIPPED:
        return
    if name in _SPACES:
        yield _SPACES[name] * (_number(element, "c") if name == "s" else 1)
        return
    look = looks.get(_get(element, "style-name"), "")
    tag = "td" if name == "table-cell" else _TAGS.get(name, "span" if look else "")
    if tag:
        spans = "".join(
            f' {short}="{_number(element, f"number-{long}-spanned")}"'
            for short, long in (("colspan", "columns"), ("rowspan", "rows"))
            if tag == "td"
        )
        yield f'<{tag}{spans} style="{escape(look)}">' if look else f"<{tag}{spans}>"
    yield escape(element.text or "")
    for child in element:
        yield from _write(child, looks)
        yield escape(child.tail or "")
    if tag:
        yield f"</{tag}>"
    if tag == "td" and (more := _number(element, "number-columns-repeated")) > 1:
        yield "<td></td>" * (more - 1)


def _number(element: Any, name: str) -> int:
    said = _get(element, name)
    return min(int(said), _MOST_REPEATED) if said.isdigit() and said != "0" else 1


def read_text(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any] | ComposedPage]:
    """The text in parts of a few thousand characters. Raises FileError."""
    with translate_errors():
        file = _File(data, job)
        _move_notes(file.body)
        pages = list(fill_pages(read_html_blocks(file.page(file.body))))
    yield from messages(pages, job, file.about.pop("title", ""), file.notes, properties=file.about)


def read_slides(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any] | ComposedPage]:
    """A page a slide that is shown, and one for its notes. Raises FileError."""
    pages: list[ComposedPage] = []
    with translate_errors():
        file = _File(data, job)
        for number, slide in enumerate(file.body.iter("{*}page"), 1):
            if _get(slide, "style-name") in file.hidden:
                file.notes["hidden slides"] = file.notes.get("hidden slides", 0) + 1
                continue
            spoken = slide.find("{*}notes")
            places = [
                (slide, f"slide {number}"),
                *([(spoken, f"notes of slide {number}")] if spoken is not None else []),
            ]
            for element, place in places:
                page = ComposedPage(len(pages) + 1, 0.0, 0.0, place=place)
                for block in read_html_blocks("".join(piece for each in element for piece in _write(each, file.looks))):
                    page.write(block)
                if page.text or element is slide:
                    pages.append(page)
    pages = pages if any(page.text or page.unseen for page in pages) else []
    yield from messages(pages, job, file.about.pop("title", ""), file.notes, properties=file.about)


def read_sheets(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any] | ComposedPage]:
    """The rows of each sheet that is shown, in pages of some hundred. Raises FileError."""
    pages: list[ComposedPage] = []
    with translate_errors():
        file = _File(data, job)
        for sheet in file.body.iter("{*}table"):
            if _get(sheet, "style-name") in file.hidden:
                file.notes["hidden sheets"] = file.notes.get("hidden sheets", 0) + 1
                continue
            pages += sheet_pages(_rows(sheet, file.notes), f"sheet {_get(sheet, 'name')}", len(pages) + 1)
    yield from messages(pages, job, file.about.pop("title", ""), file.notes, properties=file.about)


def _rows(sheet: Any, notes: dict[str, Any]) -> Iterator[tuple[int, list[GridCell]]]:
    """The rows that hold something, with their numbers."""
    number, hidden = 0, _hidden_columns(sheet)
    for row in sheet.iter("{*}table-row"):
        number += 1
        cells = [cell for cell in _cells(row, number) if cell.column not in hidden]
        if not cells:
            said = _get(row, "number-rows-repeated")
            number += int(said) - 1 if said.isdigit() else 0
        elif _get(row, "visibility") in ("collapse", "filter"):
            notes["hidden rows"] = notes.get("hidden rows", 0) + 1
        elif number > _MOST_ROWS:
            notes["cut"] = f"row {number:,}"
            return
        else:
            yield number, cells


def _cells(row: Any, number: int) -> Iterator[GridCell]:
    """The cells of a row that hold something, each as far as it is merged."""
    column = 0
    for cell in row.iterchildren():
        if _name(cell) not in ("table-cell", "covered-table-cell"):
            continue
        said = " ".join("".join(_texts(each)) for each in cell.iterchildren("{*}p")).strip()
        rows, columns = (_number(cell, f"number-{each}-spanned") for each in ("rows", "columns"))
        for _ in range(_number(cell, "number-columns-repeated")):
            if said and column < MOST_COLUMNS:
                yield GridCell(row=number, column=column, text=said, rows=rows, columns=columns)
            column += 1


def _hidden_columns(sheet: Any) -> set[int]:
    found: set[int] = set()
    at = 0
    for column in sheet.iter("{*}table-column"):
        size = _number(column, "number-columns-repeated")
        if _get(column, "visibility") in ("collapse", "filter"):
            found.update(range(at, at + size))
        at += size
    return found


def _texts(paragraph: Any) -> Iterator[str]:
    for piece in _write(paragraph, {}):
        yield " " if piece in ("<p>", "</p>", "<br>") else piece
