"""Web pages: title, address, date, and the headings, paragraphs and tables that a person sees.

lxml parses the page, trafilatura finds its main text. Nothing is fetched and nothing runs.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from crag.ingest.files import FileError, translate_errors
from crag.ingest.grid import MOST_COLUMNS, GridCell, cells_of_rows, place_cells
from crag.ingest.properties import day
from crag.ingest.raised import write_lowered, write_raised
from crag.ingest.sections import Block, ComposedPage, fill_pages, messages, squeeze, write_table
from crag.text.addresses import stated_address
from crag.text.encodings import decode_text

log = logging.getLogger(__name__)

_MOST_CHARACTERS, _MOST_CHILDREN, _MOST_DEPTHS = 1_500_000, 3_000, 300_000
"""Of a page, of one element, and the depths of all elements together: above, the main text is not looked for."""
_LEAST_MAIN, _MAIN_SHARE = 80, 0.1
"""Characters of a main text, and its share of all visible text: below, the whole page is taken."""
_MAIN_FOUND = 0.7
"""Share of the main text that the taken blocks must contain."""
_HEADED = 4
"""Blocks above the main text among which its headings are looked for."""
_LEAST_LETTERS = 15  # letters of a paragraph by which it is found in the main text
_SIGNS = re.compile(r"[\W_]+")
_CONTROLS = dict.fromkeys((*range(9), 11, *range(14, 32), 127))
"""Characters that HTML does not allow; trafilatura fails on a page that holds one."""
_SILENT = frozenset(
    "head script style noscript template svg math iframe object embed applet canvas audio video select textarea "
    "button input nav dialog rt rp".split()
)
_ASIDE = frozenset({"navigation", "search", "menu", "menubar"})
_FRAMES = frozenset({"presentation", "none"})
_BOLD, _LISTS = ("b", "strong"), ("ol", "ul")
_MOST_BOLD = 100
"""Characters of a bold paragraph that may be a heading."""
_MOST_SAID = 300
"""Characters of a term and what is said of it, for a definition list to be a table of values."""
_MOST_DIGITS, _MOST_ROMAN = 5, 4000
_NUMBER = re.compile(r"-?\d{1,5}")
_ROMAN = tuple(
    zip((1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1), "M CM D CD C XC L XL X IX V IV I".split(), strict=True)
)
_ALIGNED = re.compile(r"vertical-align\s*:\s*(super|sub)\b", re.IGNORECASE)
_HEAVY = re.compile(r"font-weight\s*:\s*(?:bold|[6-9]00)", re.IGNORECASE)
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
_COLOURED = re.compile(r"background", re.IGNORECASE)
_DATES = (
    *("article:published_time", "og:published_time", "datepublished", "date", "dc.date", "dc.date.issued"),
    *("dcterms.date", "dcterms.issued", "publish-date", "pubdate", "citation_publication_date"),
)


def read(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any] | ComposedPage]:
    """The page in parts of a few thousand characters. Raises FileError."""
    with translate_errors():
        source = decode_text(data)
        root, deep = parse_page(source)
        title, date, blocks = _find_title(root), _find_date(root), list(walk_page(root))
        stated = _find_meta(root)
        about = {name: squeeze(stated.get(name) or "") for name in ("author", "keywords")}
        about["created"] = date if about["author"] else ""
        about["address"] = _find_address(root)
        if not deep and len(source) <= _MOST_CHARACTERS:
            blocks = _keep_main(blocks, _find_main_text(root))
    if deep and not any(block.text for block in blocks):
        raise FileError("damaged", "it is nested too deeply")
    yield from messages(fill_pages(blocks), job, title, {"deep": deep}, date, about)


def parse_page(source: str) -> tuple[Any, bool]:
    """The page as lxml's tree, and whether some of it is missing there because it is nested too deeply.

    Raises FileError for a page without an element.
    """
    from lxml import etree, html

    parser = html.HTMLParser(encoding="utf-8", no_network=True, huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = html.document_fromstring(source.translate(_CONTROLS).encode("utf-8", "replace"), parser)
    except etree.ParserError as error:
        raise FileError("no text") from error
    for each in root.iter("dl"):  # the parser takes a term for part of the one before it where that is not closed
        terms = [term for term in each.iter("dt", "dd") if next(term.iterancestors("dl")) is each]
        for term in terms:
            each.append(term)
    return root, any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log)


def _find_title(root: Any) -> str:
    """The page's title for sharing, else that of its head, else its first heading."""
    titles = ("".join(each.itertext()) for tag in ("title", "h1") for each in islice(root.iter(tag), 3))
    return squeeze(_find_meta(root).get("og:title") or next(filter(None, titles), ""))


def _find_date(root: Any) -> str:
    """The publication date that the page states, as exact as it does; empty if it states none."""
    stated = _find_meta(root)
    values = [*map(stated.get, _DATES), *(each.get("datetime") for each in root.iter("time"))]
    return next(filter(None, map(day, filter(None, values))), "")


def _find_address(root: Any) -> str:
    """The address on the web that the page names as its own; empty for none."""
    links = (link.get("href") for link in root.iter("link") if "canonical" in (link.get("rel") or "").lower().split())
    return next(filter(None, map(stated_address, (*links, _find_meta(root).get("og:url")))), "")


def _find_meta(root: Any) -> dict[str, str]:
    """The page's statements about itself, the first of each name, names in lower case."""
    found: dict[str, str] = {}
    for meta in root.iter("meta"):
        name = meta.get("property") or meta.get("name") or meta.get("itemprop") or ""
        found.setdefault(name.strip().lower(), meta.get("content") or "")
    return found


def _find_main_text(root: Any) -> str:
    """The main text by trafilatura, which changes the tree. Empty if it fails or the page is too large for it."""
    from trafilatura import extract

    depths, waiting = 0, [(root, 1)]
    while waiting:
        element, depth = waiting.pop()
        depths += depth
        if depths > _MOST_DEPTHS or len(element) > _MOST_CHILDREN:
            return ""
        waiting.extend((child, depth + 1) for child in element)
    for cell in root.iter("td", "th"):  # it writes a cell for each column that one says to cover
        for name in ("rowspan", "colspan"):
            cell.attrib.pop(name, None)
    try:
        return extract(root, include_comments=False, include_tables=True, favor_recall=True) or ""
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - hostile pages break it in many ways; then the whole page is taken
        log.info("main text extraction failed with %s; the whole page is used", type(error).__name__)
        return ""


def read_html_blocks(source: str) -> Iterator[Block]:
    """The headings, paragraphs and tables of a piece of HTML; nothing of an empty one."""
    with suppress(FileError):
        yield from walk_page(parse_page(source)[0])


def walk_page(root: Any) -> Iterator[Block]:
    """The headings, paragraphs and tables that a person sees, and how many words are hidden beside them."""
    blocks = list(_Walk().blocks(root))
    bold = sum(block.bold for block in blocks)
    # In a document without headings, its short bold paragraphs are them, unless most are bold.
    if bold and 2 * bold < len(blocks) and not any(block.heading for block in blocks):
        return (replace(block, heading=block.bold) for block in blocks)
    return iter(blocks)


class _Walk:
    """Walks through an element once, without recursion but for cells."""

    def __init__(self) -> None:
        self._held: list[str] = []
        self._mark = ""
        self._lists: list[_List | None] = []
        self._unseen = self._preformatted = self._bold = 0
        self._plain = False  # whether what is held is not all bold

    def blocks(self, root: Any) -> Iterator[Block]:
        from lxml import etree

        walker = etree.iterwalk(root, events=("start", "end"))
        for event, element in walker:
            tag = element.tag if isinstance(element.tag, str) else "script"
            silent = element is not root and (tag in _SILENT or element.get("role") in _ASIDE)
            if event == "end":
                if tag in _BLOCKS:
                    yield from self._flush(tag in _HEADINGS and not silent)
                self._preformatted -= tag == "pre"
                self._bold -= tag in _BOLD
                if tag in _LISTS and not silent and element is not root:
                    self._lists.pop()
                self._hold(element.tail if element is not root else "")
                continue
            self._preformatted += tag == "pre"
            self._bold += tag in _BOLD
            if tag in _BLOCKS:
                yield from self._flush()
            if tag in _LISTS and not silent and element is not root:
                self._lists.append(_List(element) if tag == "ol" else None)
            if silent or _is_permalink(element, tag):
                walker.skip_subtree()
            elif element is not root and _is_hidden(element):
                self._unseen += _count_words(element)
                walker.skip_subtree()
            elif tag == "table" and _is_data(element):
                yield from write_table(place_cells(self._rows(element)))
                yield from self._flush()
                walker.skip_subtree()
            elif tag == "dl" and (pairs := self._pairs(element)):
                yield from write_table(cells_of_rows(pairs))
                yield from self._flush()
                walker.skip_subtree()
            elif (raised := _is_raised(element, tag)) is not None and element is not root:
                text, before = "".join(element.itertext()), "".join(self._held[-4:]).rpartition("\v")[2]
                after = element.tail or ""
                self._hold(write_raised(before, text, after) if raised else write_lowered(before, text))
                walker.skip_subtree()
            elif tag == "br":
                self._held.append("\v")
            else:
                if tag == "li" and self._lists:
                    self._mark = self._lists[-1].next(element) if self._lists[-1] else "• "
                self._hold(element.text)
        yield from self._flush()

    def _hold(self, text: str | None) -> None:
        """Line breaks are blanks, except in preformatted text."""
        text = (text or "").replace("\n", "\v" if self._preformatted else " ")
        self._plain = self._plain or (not self._bold and not text.isspace() and bool(text))
        self._held.append(text)

    def _flush(self, heading: bool = False) -> Iterator[Block]:
        lines = map(squeeze, "".join(self._held).split("\v"))
        text = "\n".join(line for line in lines if line)
        mark = self._mark if text else ""
        short = bool(text) and not mark and len(text) <= _MOST_BOLD and text[-1] not in ".,;"
        bold = short and not self._plain and not heading
        self._held, self._plain = [], False
        if text or self._unseen:
            self._mark = "" if text else self._mark
            yield Block(
                text=mark + text, heading=heading and bool(text), unseen=self._unseen, bold=bold, mark=len(mark)
            )
            self._unseen = 0

    def _rows(self, element: Any) -> Iterator[list[GridCell]]:
        """A table's rows as cells that say how far they reach; its caption stands over all of them."""
        marked = next(element.iter("th", "thead"), None) is not None
        for caption in element.iterchildren("caption"):
            yield [GridCell(row=0, column=0, text=self._cell(caption), columns=MOST_COLUMNS)]
        for row in element.iter("tr"):
            if _is_hidden(row):
                self._unseen += _count_words(row)
                continue
            head = row.getparent().tag == "thead"
            yield [
                GridCell(
                    row=0,
                    column=0,
                    text=self._cell(cell),
                    rows=_span(cell, "rowspan"),
                    columns=_span(cell, "colspan"),
                    header=(head or cell.tag == "th") if marked else None,
                    bold=_is_bold(cell),
                )
                for cell in row.iterchildren("td", "th")
            ]

    def _pairs(self, element: Any) -> list[list[str]]:
        """The terms of a definition list with what is said of each; none where that is text of some length."""
        pairs: list[list[str]] = []
        for each in element.iter("dt", "dd"):
            if each.tag == "dt" and (not pairs or pairs[-1][1]):
                pairs.append([self._cell(each), ""])
            elif pairs:
                at = 1 if each.tag == "dd" else 0
                pairs[-1][at] = ", ".join(filter(None, [pairs[-1][at], self._cell(each)]))
        short = all(term and said and len(term) + len(said) <= _MOST_SAID for term, said in pairs)
        return pairs if short and len(pairs) > 1 else []

    def _cell(self, cell: Any) -> str:
        if not len(cell):
            return "" if _is_hidden(cell) else squeeze(cell.text or "")
        blocks = list(_Walk().blocks(cell))
        self._unseen += sum(block.unseen for block in blocks)
        return squeeze(" ".join(block.text for block in blocks))


class _List:
    """Counts the items of an ordered list."""

    def __init__(self, element: Any) -> None:
        start, self._kind = element.get("start") or "", element.get("type") or "1"
        self._step = 1 if element.get("reversed") is None else -1
        items = sum(each.tag == "li" for each in element)
        self._next = int(start) if _NUMBER.fullmatch(start) else 1 if self._step > 0 else items

    def next(self, item: Any) -> str:
        """What stands before an item."""
        own = item.get("value") or ""
        number = int(own) if _NUMBER.fullmatch(own) else self._next
        self._next = number + self._step
        return f"{write_number(number, self._kind)}. "


def write_number(number: int, kind: str) -> str:
    """A number as lists write it: kind "1", "a", "A", "i" or "I"."""
    if kind in ("a", "A") and number > 0:
        letters = ""
        while number:
            number, rest = divmod(number - 1, 26)
            letters = chr(ord(kind) + rest) + letters
        return letters
    if kind in ("i", "I") and 0 < number < _MOST_ROMAN:
        roman = ""
        for value, sign in _ROMAN:
            roman += sign * (number // value)
            number %= value
        return roman if kind == "I" else roman.lower()
    return str(number)


def _is_permalink(element: Any, tag: str) -> bool:
    """Whether an element is a link to its own place that says nothing, as the "¶" behind a heading."""
    here = tag == "a" and (element.get("href") or "").startswith("#")
    return here and not any(map(str.isalnum, "".join(element.itertext())))


def _is_raised(element: Any, tag: str) -> bool | None:
    """Whether an element raises its text (True) or lowers it (False); None for neither."""
    if tag in ("sup", "sub"):
        return tag == "sup"
    aligned = _ALIGNED.search(element.get("style") or "") if tag in ("span", "font", "a") else None
    return aligned[1].lower() == "super" if aligned else None


def _is_bold(cell: Any) -> bool:
    """Whether all of a cell's text is bold."""
    if _HEAVY.search(cell.get("style") or ""):
        return True
    if not len(cell):
        return False
    bold = sum(len(squeeze("".join(each.itertext()))) for each in cell.iter(*_BOLD))
    return bool(bold) and bold >= len(squeeze("".join(cell.itertext())))


def _span(cell: Any, name: str) -> int:
    said = cell.get(name) or ""
    return int(said) if said.isascii() and said.isdigit() and len(said) <= _MOST_DIGITS else 1


def _is_hidden(element: Any) -> bool:
    """Whether an element's own attributes hide what it holds."""
    if element.get("hidden") is not None:
        return True
    style = element.get("style") or ""
    if _GONE.search(style):
        return True
    white = _WHITE.search(style) or (element.get("color") or "").lower() in ("white", "#fff", "#ffffff")
    return bool(white) and not _is_on_colour(element)


def _is_on_colour(element: Any) -> bool:
    """Whether an element or one around it has a background of its own."""
    around: Any = element
    for _ in range(30):
        if around is None:
            return False
        if around.get("bgcolor") or _COLOURED.search(around.get("style") or ""):
            return True
        around = around.getparent()
    return True


def _count_words(element: Any) -> int:
    return len(" ".join(element.itertext()).split())


def _is_data(element: Any) -> bool:
    """Whether a table holds rows of values and is no frame for the page's layout."""
    if element.get("role") in _FRAMES or next(element.iterdescendants("table"), None) is not None:
        return False
    rows = list(element.iter("tr"))
    return len(rows) > 1 and max(len(list(row.iterchildren("td", "th"))) for row in rows) > 1


def _keep_main(blocks: Sequence[Block], main: str) -> list[Block]:
    """The blocks from the first to the last of the main text, with headings above it.

    Tables with their headings, and short lines of it, on both sides belong to it. All blocks if these hold too little
    of it.
    """
    text = _letters(main)
    letters = [_letters(block.text[block.mark :]) for block in blocks]
    found = [at for at, each in enumerate(letters) if len(each) >= _LEAST_LETTERS and each in text]
    if not found or len(text) < max(_LEAST_MAIN, _MAIN_SHARE * sum(map(len, letters))):
        return list(blocks)
    first, last = found[0], found[-1]

    def belongs(at: int) -> bool:
        heads = blocks[at].heading and any(block.table is not None for block in blocks[at + 1 : at + 2])
        return heads or blocks[at].table is not None or letters[at] in text

    while first and belongs(first - 1):
        first -= 1
    first = next((at for at in range(max(0, first - _HEADED), first) if blocks[at].heading), first)
    while last + 1 < len(blocks) and belongs(last + 1):
        last += 1
    if sum(map(len, letters[first : last + 1])) < _MAIN_FOUND * len(text):
        return list(blocks)
    left = sum(block.unseen for block in [*blocks[:first], *blocks[last + 1 :]])
    return [*blocks[first : last + 1], Block(text="", unseen=left)]


def _letters(text: str) -> str:
    """Letters and digits alone, since blanks and signs differ between two readings of one text."""
    return _SIGNS.sub("", text)
