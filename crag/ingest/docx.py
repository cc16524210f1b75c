"""Word documents: headings, paragraphs, tables, footnotes and text boxes, as a person sees them with changes accepted.

python-docx opens the container and its parts. The text is walked here, for its own walk leaves out inserted text,
content controls, notes and boxes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any

from crag.ingest.files import FileError, check_container, translate_errors
from crag.ingest.properties import office_properties
from crag.ingest.sections import Block, ComposedPage, fill_pages, messages, write_table

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MATH_TEXT = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_MACROS = (
    "application/vnd.ms-word.document.macroEnabled.main+xml",
    "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
)
_GONE = frozenset({f"{_W}del", f"{_W}moveFrom"})
_SKIPPED = frozenset(
    {f"{_W}{name}" for name in ("pPr", "rPr", "tblPr", "tblGrid", "sectPr", "instrText")} | {_FALLBACK}
)
_SPACES = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_OFF = ("0", "false", "off")
_PAPER = "FFFFFF"
_TINY = 4  # half points
_MOST_BOLD = 100
_MOST_SPANNED = 60  # columns that one cell may say it covers


def read(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any] | ComposedPage]:
    """The document in parts of a few thousand characters. Raises FileError."""
    from docx.opc.part import PartFactory
    from docx.package import Package
    from docx.parts.document import DocumentPart

    _, notes = check_container(data, job)
    for kind in _MACROS:
        PartFactory.part_type_for[kind] = DocumentPart
    with translate_errors():
        package = Package.open(BytesIO(data))
        main = package.main_document_part
        if not isinstance(main, DocumentPart):
            raise FileError("damaged", "no document in it")
        related = {rel.reltype.rpartition("/")[2]: rel.target_part for rel in main.rels.values() if not rel.is_external}
        body = _Body(_styles(related.get("styles")), _notes(related))
        found = list(fill_pages(_with_headings(list(body.blocks(main.element.body)))))
        about = office_properties(data)
        notes |= {"deleted": body.deleted, "comments": _comments(related.get("comments"))}
    yield from messages(found, job, about.get("title", ""), notes, properties=about)


@dataclass(frozen=True, slots=True)
class _Style:
    heading: bool = False
    hidden: bool = False


def _styles(part: Any) -> dict[str, _Style]:
    """What each style makes of its paragraphs, with what it takes from those it is based on."""
    found: dict[str, tuple[str, str, _Style]] = {}
    for style in _root(part).iter(f"{_W}style") if part is not None else ():
        name, base = _value(style, "name").lower(), _value(style, "basedOn")
        level = style.find(f".//{_W}outlineLvl")
        heading = name.startswith("heading") or name == "title" or (level is not None and level.get(f"{_W}val") < "9")
        hidden = any(_on(each) for each in style.iter(f"{_W}vanish"))
        found[style.get(f"{_W}styleId") or ""] = (name, base, _Style(heading, hidden))
    whole: dict[str, _Style] = {}
    for id in found:
        heading = hidden = False
        at, seen = id, set[str]()
        while at in found and at not in seen:
            seen.add(at)
            _, at, own = found[at]
            heading, hidden = heading or own.heading, hidden or own.hidden
        whole[id] = _Style(heading and not found[id][0].startswith("toc"), hidden)
    return whole


def _notes(related: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
    """Footnotes and endnotes by the name of what refers to them and their ids."""
    found = {}
    for kind in ("footnote", "endnote"):
        part = related.get(f"{kind}s")
        for note in _root(part).iter(f"{_W}{kind}") if part is not None else ():
            if note.get(f"{_W}type") in (None, "normal"):
                found[f"{_W}{kind}Reference", note.get(f"{_W}id") or ""] = note
    return found


def _comments(part: Any) -> int:
    return sum(1 for _ in _root(part).iter(f"{_W}comment")) if part is not None else 0


def _root(part: Any) -> Any:
    """A part as a tree; no entity in it is expanded and nothing is fetched for it."""
    from docx.oxml.parser import parse_xml

    return part.element if hasattr(part, "element") else parse_xml(part.blob)


def _value(element: Any, name: str) -> str:
    child = element.find(f"{_W}{name}")
    return (child.get(f"{_W}val") or "") if child is not None else ""


def _on(element: Any) -> bool:
    return element.get(f"{_W}val") not in _OFF


def _with_headings(blocks: list[Block]) -> Iterable[Block]:
    """The blocks; in a document without headings, its short bold paragraphs are them, unless most are bold."""
    bold = sum(isinstance(block, _Bold) for block in blocks)
    if 2 * bold > len(blocks) or any(block.heading and not isinstance(block, _Bold) for block in blocks):
        return (replace(block, heading=False) if isinstance(block, _Bold) else block for block in blocks)
    return blocks


class _Bold(Block):
    """A short paragraph, all of it bold."""


@dataclass(slots=True)
class _Paragraph:
    """What is gathered of one paragraph. `boxes` and `notes` stand beside it."""

    text: list[str]
    boxes: list[Any]
    notes: list[Any]
    hidden: bool
    boxed: bool
    unseen: int = 0
    plain: int = 0


class _Body:
    """Walks the document. Its nesting is bounded by the parser, which takes 256 levels."""

    def __init__(self, styles: Mapping[str, _Style], notes: Mapping[tuple[str, str], Any]) -> None:
        self.deleted = 0
        self._styles, self._notes = styles, notes

    def blocks(self, parent: Any, within: bool = False) -> Iterator[Block]:
        """`within` a cell or a box, where white text may stand on a colour."""
        for child in parent:
            if child.tag == f"{_W}p":
                yield from self._paragraph(child, within)
            elif child.tag == f"{_W}tbl":
                yield from self._table(child)
            elif child.tag in _GONE:
                self.deleted += _words(child)
            elif child.tag not in _SKIPPED:
                yield from self.blocks(child, within)

    def _paragraph(self, paragraph: Any, within: bool) -> Iterator[Block]:
        about = paragraph.find(f"{_W}pPr")
        style = self._styles.get(_value(about, "pStyle") if about is not None else "", _Style())
        shaded = about is not None and about.find(f"{_W}shd") is not None
        found = _Paragraph([], [], [], style.hidden, within or shaded)
        self._gather(paragraph, found)
        text = "".join(found.text).strip()
        level = about.find(f"{_W}outlineLvl") if about is not None else None
        heading = style.heading or (level is not None and (level.get(f"{_W}val") or "9") < "9")
        bold = bool(text) and not heading and not found.plain and len(text) <= _MOST_BOLD and text[-1] not in ".,;"
        kind = _Bold if bold and not within else Block
        yield kind(text=text, heading=(heading and bool(text)) or kind is _Bold, unseen=found.unseen)
        for box in found.boxes:
            yield from self.blocks(box, True)
        for note in found.notes:
            yield from self.blocks(note, within)

    def _gather(self, element: Any, found: _Paragraph) -> None:
        for child in element:
            if child.tag == f"{_W}r":
                self._run(child, found)
            elif child.tag in _GONE:
                self.deleted += _words(child)
            elif child.tag == _MATH_TEXT:
                found.text.append(child.text or "")
            elif child.tag not in _SKIPPED:
                self._gather(child, found)

    def _run(self, run: Any, found: _Paragraph) -> None:
        about = run.find(f"{_W}rPr")
        hidden = self._hidden(about, found)
        if not hidden and run.findtext(f"{_W}t", "").strip() and not _flag(about, "b"):
            found.plain += 1
        for child in run:
            if child.tag == f"{_W}t":
                if hidden:
                    found.unseen += len((child.text or "").split())
                else:
                    found.text.append(child.text or "")
            elif child.tag in _SPACES and not hidden:
                found.text.append(_SPACES[child.tag])
            elif (note := self._notes.get((child.tag, child.get(f"{_W}id") or ""))) is not None:
                found.notes.append(note)
            elif child.tag not in _SKIPPED:
                found.boxes += [box for box in child.iter(f"{_W}txbxContent") if not _copied(box, child)]

    def _hidden(self, about: Any, found: _Paragraph) -> bool:
        """Whether a run can't be seen: marked so, in the paper's colour, or too small to be read."""
        if about is None:
            return found.hidden
        vanish = about.find(f"{_W}vanish")
        style = self._styles.get(_value(about, "rStyle"), _Style())
        if _on(vanish) if vanish is not None else style.hidden or found.hidden:
            return True
        marked = found.boxed or about.find(f"{_W}shd") is not None or about.find(f"{_W}highlight") is not None
        size = _value(about, "sz")
        return (_value(about, "color").upper() == _PAPER and not marked) or (size.isdigit() and int(size) <= _TINY)

    def _table(self, element: Any) -> Iterator[Block]:
        rows: list[list[str]] = []
        headed, unseen = False, 0
        for row in element.iter(f"{_W}tr"):
            if next(row.iterancestors(f"{_W}tbl"), None) is not element:
                continue  # a table in a cell is recognised by that cell
            if _gone_row(row):
                self.deleted += _words(row)
                continue
            about = row.find(f"{_W}trPr")
            headed = headed or (not rows and about is not None and _flag(about, "tblHeader"))
            cells: list[str] = []
            for cell in row.iter(f"{_W}tc"):
                if next(cell.iterancestors(f"{_W}tr"), None) is row:
                    said = list(self.blocks(cell, True))
                    unseen += sum(block.unseen for block in said)
                    cells.append("\n".join(block.text for block in said if block.text))
                    cells += [""] * (min(_MOST_SPANNED, _spanned(cell)) - 1)
            rows.append(cells)
        if all(sum(map(bool, row)) < 2 for row in rows):  # a frame around text
            yield from (Block(text=cell) for row in rows for cell in row if cell)
        else:
            yield from write_table(rows, headed=headed or None)
        yield Block(text="", unseen=unseen)


def _gone_row(row: Any) -> bool:
    about = row.find(f"{_W}trPr")
    return about is not None and about.find(f"{_W}del") is not None


def _flag(about: Any, name: str) -> bool:
    found = about.find(f"{_W}{name}") if about is not None else None
    return found is not None and _on(found)


def _spanned(cell: Any) -> int:
    about = cell.find(f"{_W}tcPr")
    said = _value(about, "gridSpan") if about is not None else ""
    return int(said) if said.isdigit() and len(said) < 4 else 1


def _copied(box: Any, top: Any) -> bool:
    """Whether a box is the old form of one that stands beside it, or lies within another."""
    for above in box.iterancestors():
        if above is top:
            return False
        if above.tag in (_FALLBACK, f"{_W}txbxContent"):
            return True
    return False


def _words(element: Any) -> int:
    texts = (f"{_W}delText", f"{_W}t")
    return len(" ".join(each.text or "" for each in element.iter(*texts)).split())
