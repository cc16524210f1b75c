"""Web pages: title, headings, paragraphs and tables of the main text, as a person sees them.

lxml reads the page, trafilatura says where its main text begins and ends. Nothing is fetched and nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from crag.ingest.media import FileError
from crag.ingest.office import faults, messages
from crag.ingest.sections import Block, parts, table
from crag.text.encodings import decode_text

_MOST_BYTES, _MOST_ELEMENTS, _MOST_CHILDREN = 1_500_000, 20_000, 3_000
"""Of a page, its elements and one element's children: above, the main text is not looked for."""
_LEAST_MAIN, _MAIN_SHARE = 80, 0.1
"""Characters of a main text, and its share of all that is seen: below, all of the page is taken."""
_MAIN_FOUND = 0.7
"""Share of the main text that has to be found again in what is taken."""
_HEADED = 4
"""Blocks above the main text among which its headings are looked for."""
_LEAST_LETTERS = 15  # letters of a paragraph by which it is found in the main text
_SIGNS = re.compile(r"[\W_]+")
_SILENT = frozenset(
    "head script style noscript template svg math iframe object embed applet canvas audio video select textarea "
    "button input nav dialog".split()
)
_ASIDE = frozenset({"navigation", "search", "menu", "menubar"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BLOCKS = _HEADINGS | frozenset(
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure footer form "
    "header hr html legend li main ol option p pre section summary table tbody td tfoot th thead tr ul".split()
)
_GONE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*+:\s*+(?:0++(?:\.0++)?|\.0++)\s*+(?:;|$|!)|"
    r"font-size\s*+:\s*+(?:0++(?:\.0++)?|\.0++)\s*+(?:[a-z%]++\s*+)?(?:;|$|!)",
    re.IGNORECASE,
)
_WHITE = re.compile(
    r"(?<![\w-])color\s*:\s*(?:#fff(?:fff)?\b|white\b|rgba?\(\s*255\s*,\s*255\s*,\s*255\s*[,)]|transparent\b)", re.I
)
_DATES = (
    *("article:published_time", "og:published_time", "datepublished", "date", "dc.date", "dc.date.issued"),
    *("dcterms.date", "dcterms.issued", "publish-date", "pubdate", "citation_publication_date"),
)
_DAY = re.compile(r"[12]\d{3}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?(?![\d-])")
_COLOURED = re.compile(r"background", re.IGNORECASE)


def read(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The page in parts of a few thousand characters. Raises FileError."""
    with faults():
        source = decode_text(data).replace("\0", "")
        root, deep = _parse_page(source)
        title = _title(root)
        blocks = list(_Walk().blocks(root))
        if not deep:
            blocks = _main(blocks, _main_text(source, root, len(data)))
    if deep and not any(block.text for block in blocks):
        raise FileError("damaged", "it is nested too deeply")
    yield from messages(parts(blocks), job, title, {"deep": deep}, _find_publication_date(root))


def _parse_page(source: str) -> tuple[Any, bool]:
    """The page as a tree, and whether it is nested so deeply that some of it is not in there."""
    from lxml import etree, html

    parser = html.HTMLParser(encoding="utf-8", no_network=True, huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = html.document_fromstring(source.encode("utf-8", "replace"), parser)
    except etree.ParserError as error:  # there is not one element in it
        raise FileError("no text") from error
    return root, any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log)


def _title(root: Any) -> str:
    named = [each.get("content") for each in root.iter("meta") if each.get("property") == "og:title"]
    titles = ("".join(each.itertext()) for tag in ("title", "h1") for each in root.iter(tag))
    return " ".join(next(filter(None, [*named, *titles]), "").split())


def _find_publication_date(root: Any) -> str:
    """The date that the page states of itself; nothing where it states none."""
    stated = {
        (each.get("property") or each.get("name") or each.get("itemprop") or "").strip().lower(): each.get("content")
        for each in root.iter("meta")
    }
    titles = [*(stated.get(name) for name in _DATES), *(each.get("datetime") for each in root.iter("time"))]
    found = (_DAY.match(each.strip()) for each in titles if each)
    return next((match[0] for match in found if match), "")


class _Walk:
    """Goes through a page once, without recursion, and writes down what is seen."""

    def __init__(self) -> None:
        self._held: list[str] = []
        self._unseen = self._written = 0

    def blocks(self, root: Any) -> Iterator[Block]:
        from lxml import etree

        walker = etree.iterwalk(root, events=("start", "end"))
        for event, element in walker:
            tag = element.tag if isinstance(element.tag, str) else "script"
            if event == "end":
                if tag in _BLOCKS:
                    yield from self._flush(tag in _HEADINGS and not _silent(element, tag))
                self._written -= tag == "pre"
                self._hold(element.tail)
                continue
            self._written += tag == "pre"
            if tag in _BLOCKS:
                yield from self._flush()
            if _silent(element, tag):
                walker.skip_subtree()
            elif _unseen(element):
                self._unseen += _words(element)
                walker.skip_subtree()
            elif tag == "table" and _is_data(element):
                rows = list(self._rows(element))
                for caption in element.iterchildren("caption"):
                    yield Block(text=_squeeze(_visible_text(caption)))
                yield from table(rows, headed=True if _headed(element) else None)
                yield from self._flush()
                walker.skip_subtree()
            elif tag == "br":
                self._held.append("\v")
            else:
                self._hold(element.text)
        yield from self._flush()

    def _hold(self, text: str | None) -> None:
        """Line breaks are blanks, but where they stay as they are written."""
        self._held.append((text or "").replace("\n", "\v" if self._written else " "))

    def _flush(self, heading: bool = False) -> Iterator[Block]:
        lines = map(_squeeze, "".join(self._held).split("\v"))
        text = "\n".join(line for line in lines if line)
        self._held = []
        if text or self._unseen:
            yield Block(text=text, heading=heading and bool(text), unseen=self._unseen)
            self._unseen = 0

    def _rows(self, element: Any) -> Iterator[list[str]]:
        for row in element.iter("tr"):
            if _unseen(row):
                self._unseen += _words(row)
                continue
            cells: list[str] = []
            for cell in row.iterchildren("td", "th"):
                self._unseen += _hidden_words(cell)
                cells.append(_squeeze(_visible_text(cell)))
                spanned = cell.get("colspan") or "1"
                cells += [""] * (int(spanned) - 1 if spanned.isdigit() and len(spanned) < 3 else 0)
            yield cells


def _squeeze(text: str) -> str:
    return " ".join(text.split())


def _silent(element: Any, tag: str) -> bool:
    return tag in _SILENT or element.get("role") in _ASIDE


def _unseen(element: Any) -> bool:
    """Whether a person can't see what an element holds, as far as it says so itself."""
    if element.get("hidden") is not None:
        return True
    style = element.get("style") or ""
    if _GONE.search(style):
        return True
    said = _WHITE.search(style) or (element.get("color") or "").lower() in ("white", "#fff", "#ffffff")
    return bool(said) and not _on_colour(element)


def _on_colour(element: Any) -> bool:
    """Whether an element or one around it has a background of its own."""
    around: Any = element
    for _ in range(30):
        if around is None:
            return False
        if around.get("bgcolor") or _COLOURED.search(around.get("style") or ""):
            return True
        around = around.getparent()
    return True


def _words(element: Any) -> int:
    return len(" ".join(element.itertext()).split())


def _visible_text(element: Any) -> str:
    """The text of a cell but for what can't be seen in it."""
    from lxml import etree

    parts: list[str] = []
    walker = etree.iterwalk(element, events=("start", "end"))
    for event, each in walker:
        tag = each.tag if isinstance(each.tag, str) else "script"
        if event == "end":
            parts.append(
                (" " if tag in _BLOCKS or tag == "br" else "") + (each.tail or "" if each is not element else "")
            )
        elif each is not element and (_silent(each, tag) or _unseen(each)):
            walker.skip_subtree()
        else:
            parts.append(each.text or "")
    return "".join(parts)


def _hidden_words(cell: Any) -> int:
    return sum(_words(each) for each in cell.iterdescendants() if isinstance(each.tag, str) and _unseen(each))


def _headed(element: Any) -> bool:
    """Whether the first row says by its cells that it names the columns."""
    first = next(element.iter("tr"), None)
    cells = [each.tag for each in first.iterchildren("td", "th")] if first is not None else []
    return len(cells) > 1 and "td" not in cells[1:] and "th" in cells


def _is_data(element: Any) -> bool:
    """Whether a table holds rows of values: not a frame that a page is laid out in."""
    if next(element.iterdescendants("table"), None) is not None:
        return False
    rows = list(element.iter("tr"))
    return len(rows) > 1 and max(len(list(row.iterchildren("td", "th"))) for row in rows) > 1


def _main_text(source: str, root: Any, size: int) -> str:
    """What trafilatura takes for the main text; nothing for a page that is too large for it, or that it fails on."""
    elements = list(root.iter())
    if size > _MOST_BYTES or len(elements) > _MOST_ELEMENTS or max(map(len, elements)) > _MOST_CHILDREN:
        return ""
    from trafilatura import extract

    tree, _ = _parse_page(source)
    try:
        return extract(tree, include_comments=False, include_tables=True, favor_recall=True) or ""
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - hostile pages break it in many ways; then all that is seen is taken
        return ""


def _main(blocks: Sequence[Block], main: str) -> list[Block]:
    """From the first to the last block that is of the main text, with headings above and tables below them.

    All blocks, where that would be but a part of the main text: then its words could not be found again.
    """
    text = _letters(main)
    said = [_letters(block.text) for block in blocks]
    titles = [at for at, each in enumerate(said) if len(each) >= _LEAST_LETTERS and each in text]
    if not titles or len(text) < max(_LEAST_MAIN, _MAIN_SHARE * sum(map(len, said))):
        return list(blocks)
    first, last = titles[0], titles[-1]
    above = [at for at in range(max(0, first - _HEADED), first) if blocks[at].heading]
    first = above[0] if above else first
    while last + 1 < len(blocks) and blocks[last + 1].table is not None:
        last += 1
    if sum(map(len, said[first : last + 1])) < _MAIN_FOUND * len(text):
        return list(blocks)
    left = sum(block.unseen for block in [*blocks[:first], *blocks[last + 1 :]])
    return [*blocks[first : last + 1], Block(text="", unseen=left)]


def _letters(text: str) -> str:
    """Letters and digits alone: blanks and signs are written differently by those who write the same."""
    return _SIGNS.sub("", text)
