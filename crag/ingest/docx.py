"""Word documents: what a person sees with changes accepted, through mammoth into the one HTML reader.

python-docx opens the container. What is hidden or deleted is counted and taken out first; letterheads, boxes and the
numbers that Word sets are put in.
"""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email import message_from_bytes, policy
from io import BytesIO
from typing import Any

import mammoth
from docx.opc.part import PartFactory
from docx.oxml.parser import parse_xml
from docx.package import Package
from docx.parts.document import DocumentPart
from lxml import etree

from crag.ingest.drawings import read_drawing
from crag.ingest.files import FileError, check_container, in_common_form, translate_errors
from crag.ingest.html import read_html_blocks
from crag.ingest.numbering import Numbering, W, value
from crag.ingest.properties import office_properties
from crag.ingest.sections import Block, ComposedPage, fill_pages, messages
from crag.text.encodings import decode_text

_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_MACROS = (
    "application/vnd.ms-word.document.macroEnabled.main+xml",
    "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
)
_SHOWN = tuple(f"{W}{name}" for name in ("t", "tab", "br", "cr", "noBreakHyphen", "sym"))
_OFF = ("0", "false", "off")
_PAPER = "FFFFFF"
_TINY = 4  # half points
_FRAMES = 20_000
"""Of Python, for tables in tables: a parser takes 256 levels."""
_HEADING = "CragHeading"
_STYLES = f"p.{_HEADING} => h1:fresh"
_BACK = re.compile(r'<a href="#(?:foot|end)note-ref-\d+">[^<]*</a>')
_DRAWN = {
    "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart": _ID,
    "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds": _ID.replace("}id", "}dm"),
}
"""What stands for a drawing in the text, and its attribute that names the part with what is drawn."""
_RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def read(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any] | ComposedPage]:
    """The document in parts of a few thousand characters. Raises FileError."""
    _, notes = check_container(data, job)
    for kind in _MACROS:
        PartFactory.part_type_for[kind] = DocumentPart
    with translate_errors():
        data = in_common_form(data)
        package = Package.open(BytesIO(data))
        main = package.main_document_part
        if not isinstance(main, DocumentPart):
            raise FileError("damaged", "no document in it")
        kinds = {rel.reltype.rpartition("/")[2]: _root(rel.target_part) for rel in _inside(main.rels.values())}
        document = _Document(kinds)
        parts = {"document": document.with_letterheads(main)}
        parts |= {kind: kinds[kind] for kind in ("footnotes", "endnotes") if kind in kinds}
        embedded = _embed(main)
        for root in parts.values():
            document.clean(root)
        written = read_html_blocks(_to_html(parts))
        blocks = [each for block in written for each in embedded.get(block.text, [block])]
        blocks.append(Block(text="", unseen=document.unseen))
        comments = sum(1 for _ in kinds["comments"].iter(f"{W}comment")) if "comments" in kinds else 0
        about = office_properties(data)
        notes |= {"deleted": document.deleted, "comments": comments}
    yield from messages(fill_pages(blocks), job, about.get("title", ""), notes, properties=about)


def _inside(rels: Iterable[Any]) -> Iterator[Any]:
    wanted = ("styles", "numbering", "footnotes", "endnotes", "comments")
    return (rel for rel in rels if not rel.is_external and rel.reltype.endswith(wanted))


def _embed(main: Any) -> Mapping[str, Sequence[Block]]:
    """What other parts of the file hold of its text, by a mark that is put where it stands in the document."""
    found: dict[str, Sequence[Block]] = {}
    waiting = dict(main.rels)
    for element in list(main.element.body.iter(f"{W}altChunk", *_DRAWN)):
        rel = waiting.pop(element.get(_DRAWN.get(element.tag, _ID)), None)  # what is named again is not read again
        if rel is None or rel.is_external:
            continue
        mark = f"\ue0f0{len(found)}\ue0f1"
        found[mark] = [*_read_embedded(rel.target_part)]
        top = next(each for each in (element, *element.iterancestors()) if each.getparent() is main.element.body)
        paragraph = top.makeelement(f"{W}p")
        paragraph.append(_text_run(top.makeelement, mark))
        top.addnext(paragraph)
    return found


def _read_embedded(part: Any) -> Iterator[Block]:
    """A chart, SmartArt, or a piece of another document that this one takes in."""
    kind = part.content_type
    if kind.endswith("+xml") and "html" not in kind:
        yield from read_drawing(_root(part))
    elif "html" in kind:
        yield from read_html_blocks(decode_text(part.blob))
    elif kind in ("message/rfc822", "multipart/related"):
        message = message_from_bytes(part.blob, policy=policy.default)
        body = message.get_body(("html", "plain"))
        yield from read_html_blocks(body.get_content() if body is not None else "")


def _root(part: Any) -> Any:
    """A part as a tree; no entity in it is expanded and nothing is fetched for it."""
    return part.element if hasattr(part, "element") else parse_xml(part.blob)


def _to_html(parts: Mapping[str, Any]) -> str:
    """A document of these parts alone as HTML."""
    rels = "".join(
        f'<Relationship Id="{name}" Type="{_RELATED}/{name}" Target="{name}.xml"/>'
        for name in parts
        if name != "document"
    )
    top = f'<Relationship Id="main" Type="{_RELATED}/officeDocument" Target="word/document.xml"/>'
    listed = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
    held = BytesIO()
    with zipfile.ZipFile(held, "w") as file:
        file.writestr("_rels/.rels", listed.format(top))
        file.writestr("word/_rels/document.xml.rels", listed.format(rels))
        for name, root in parts.items():
            file.writestr(f"word/{name}.xml", etree.tostring(root, encoding="utf-8", xml_declaration=True))
    most = sys.getrecursionlimit()
    sys.setrecursionlimit(_FRAMES)
    try:
        return _BACK.sub("", mammoth.convert_to_html(held, style_map=_STYLES).value)
    finally:
        sys.setrecursionlimit(most)


@dataclass(frozen=True, slots=True)
class _Style:
    """What a style makes of its paragraphs, with what it takes from those it is based on."""

    heading: bool = False
    hidden: bool = False
    number: str = ""
    level: str = ""


def _styles(root: Any) -> dict[str, _Style]:
    found: dict[str, tuple[str, _Style]] = {}
    for style in root.iter(f"{W}style") if root is not None else ():
        name = value(style, "name").lower()
        outline = style.find(f".//{W}outlineLvl")
        heading = (
            name.startswith("heading") or name == "title" or (outline is not None and outline.get(f"{W}val") < "9")
        )
        hidden = any(map(_on, style.iter(f"{W}vanish")))
        numbered = style.find(f".//{W}numPr")
        number, level = ("", "") if numbered is None else (value(numbered, "numId"), value(numbered, "ilvl"))
        own = _Style(heading and not name.startswith("toc"), hidden, number, level)
        found[style.get(f"{W}styleId") or ""] = (value(style, "basedOn"), own)
    whole: dict[str, _Style] = {}
    for id in found:
        at, chain = id, dict[str, _Style]()
        while at in found and at not in chain:
            base, chain[at] = found[at]
            at = base
        line = list(chain.values())
        whole[id] = _Style(
            any(each.heading for each in line),
            any(each.hidden for each in line),
            next((each.number for each in line if each.number), ""),
            next((each.level for each in line if each.level), ""),
        )
    return whole


def _on(element: Any) -> bool:
    return element.get(f"{W}val") not in _OFF


def _has(element: Any, *names: str) -> bool:
    return element is not None and any(element.find(f"{W}{name}") is not None for name in names)


class _Document:
    """Prepares a document's parts. `deleted` and `unseen` words were taken out."""

    def __init__(self, kinds: Mapping[str, Any]) -> None:
        self.deleted = self.unseen = 0
        self._styles = _styles(kinds.get("styles"))
        self._numbering = Numbering(kinds.get("numbering"))

    def with_letterheads(self, main: Any) -> Any:
        """The document's tree with its page headers before its text and the footers behind it, each of them once."""
        body = main.element.body
        at, seen = {"header": 0, "footer": len(body)}, set[str]()
        for kind in ("footer", "header"):
            for reference in list(body.iter(f"{W}{kind}Reference")):
                rel = main.rels.get(reference.get(_ID))
                root = None if rel is None or rel.is_external else _root(rel.target_part)
                text = " ".join("".join(each.itertext()) for each in root.iter(f"{W}t")) if root is not None else ""
                if root is not None and text.strip() and text not in seen:
                    seen.add(text)
                    body[at[kind] : at[kind]] = list(root)
        return main.element

    def clean(self, root: Any) -> None:
        """Take out what nobody sees, and write as text what is none for mammoth: boxes, formulas and numbers."""
        etree.strip_elements(root, etree.Entity, with_tail=False)
        for gone in list(root.iter(f"{W}del", f"{W}moveFrom")):
            above = gone.getparent()
            if above is not None and above.tag == f"{W}trPr":
                gone = above.getparent()
            self._delete(gone)
        for old in list(root.iter(f"{_MC}Fallback")):
            if old.getprevious() is not None:
                _remove(old)
        for box in list(root.iter(f"{W}txbxContent")):
            run = next(box.iterancestors(f"{W}r"), None)
            if run is not None:
                run.append(box)
        etree.strip_elements(root, *(f"{W}{name}" for name in ("drawing", "pict", "object", "sdtPr")), with_tail=False)
        etree.strip_elements(root, f"{W}rt", f"{W}rubyPr", with_tail=False)
        within = (f"{W}{name}" for name in ("hyperlink", "ruby", "rubyBase"))
        etree.strip_tags(root, *(f"{_MC}{name}" for name in ("AlternateContent", "Choice", "Fallback")), *within)
        etree.strip_tags(root, f"{_M}oMathPara")
        for formula in list(root.iter(f"{_M}oMath")):
            following = " " if getattr(formula.getnext(), "tag", "") == formula.tag else ""
            formula.addprevious(_text_run(formula.makeelement, _linear(formula) + following))
            _remove(formula)
        for paragraph in root.iter(f"{W}p"):
            self._prepare(paragraph)

    def _delete(self, gone: Any) -> None:
        texts = (each.text or "" for each in gone.iter(f"{W}delText", f"{W}t"))
        self.deleted += len(" ".join(texts).split())
        _remove(gone)

    def _prepare(self, paragraph: Any) -> None:
        about = paragraph.find(f"{W}pPr")
        style = self._styles.get(value(about, "pStyle"), _Style())
        coloured = _has(about, "shd") or next(paragraph.iterancestors(f"{W}tc", f"{W}txbxContent"), None) is not None
        for run in [each for each in paragraph.iter(f"{W}r") if _is_of(each, paragraph)]:
            if self._is_hidden(run.find(f"{W}rPr"), style, coloured):
                self.unseen += len("".join(each.text or "" for each in run.iterchildren(f"{W}t")).split())
                for each in list(run.iterchildren(*_SHOWN)):
                    _remove(each)
        texts = [each for each in paragraph.iter(f"{W}t") if each.text and _is_of(each, paragraph)]
        own = about.find(f"{W}numPr") if about is not None else None
        number = value(own, "numId") or style.number
        mark = self._numbering.next(number, value(own, "ilvl") or style.level) if number else ""
        if mark and texts:
            texts[0].text = f"{mark} {texts[0].text}"
        if about is None:
            return
        outline = value(about, "outlineLvl")
        for each in [each for each in about if each.tag in (f"{W}numPr", f"{W}pStyle")]:
            about.remove(each)
        if style.heading or (outline and outline < "9"):
            about.insert(0, about.makeelement(f"{W}pStyle", {f"{W}val": _HEADING}))

    def _is_hidden(self, about: Any, style: _Style, coloured: bool) -> bool:
        """Whether a run can't be seen: marked so, in the paper's colour, or too small to be read."""
        if about is None:
            return style.hidden
        vanish = about.find(f"{W}vanish")
        own = self._styles.get(value(about, "rStyle"), _Style())
        if _on(vanish) if vanish is not None else own.hidden or style.hidden:
            return True
        size = value(about, "sz")
        white = value(about, "color").upper() == _PAPER and not (coloured or _has(about, "shd", "highlight"))
        return white or (size.isdigit() and int(size) <= _TINY)


def _is_of(element: Any, paragraph: Any) -> bool:
    """Whether the next paragraph around an element is this one, and no other in a box."""
    return next(element.iterancestors(f"{W}p"), None) is paragraph


def _remove(element: Any) -> None:
    above = element.getparent()
    if above is not None:
        above.remove(element)


def _text_run(make: Any, text: str) -> Any:
    run, held = make(f"{W}r"), make(f"{W}t")
    held.text = text
    run.append(held)
    return run


def _linear(element: Any) -> str:
    """A formula on one line: "^" before what is raised, "_" before what is lowered, "/" before what divides."""

    def part(name: str, mark: str = "") -> str:
        found = element.find(f"{_M}{name}")
        text = _held(_linear(found)) if found is not None else ""
        return mark + text if text else ""

    match etree.QName(element).localname:
        case "t":
            return (element.text or "").replace("\u2061", "")
        case "f":
            return f"{part('num')}/{part('den')}"
        case "sSup" | "sSub" | "sSubSup":
            return part("e") + part("sub", "_") + part("sup", "^")
        case "nary":
            return _sign(element, "chr", "∫") + part("sub", "_") + part("sup", "^") + part("e", " ")
        case "func":
            return part("fName") + part("e", " ")
        case "rad":
            return f"{part('deg')}√{part('e')}"
        case "d":
            held = _sign(element, "sepChr", "|").join(map(_linear, element.iterchildren(f"{_M}e")))
            return f"{_sign(element, 'begChr', '(')}{held}{_sign(element, 'endChr', ')')}"
        case "m" | "eqArr":
            return "; ".join(map(_linear, element.iterchildren(f"{_M}mr", f"{_M}e")))
        case name if name.endswith("Pr"):
            return ""
        case name:
            return (", " if name == "mr" else "").join(map(_linear, element.iterchildren()))


def _held(text: str) -> str:
    """A part of a formula in brackets, unless it is one number, name or sign."""
    return text if len(text) < 2 or text.isalnum() or text[0] + text[-1] == "()" else f"({text})"


def _sign(element: Any, name: str, usual: str) -> str:
    found = element.find(f"./*/{_M}{name}")
    return usual if found is None else found.get(f"{_M}val") or ""
