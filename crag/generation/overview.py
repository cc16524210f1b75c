"""A document as a whole, from what is stored of it: its parts, and an answer of its title, properties and quotes. Pure.

Headings have no levels in the records. Where they are numbered 1, 2, 3, these are the parts that are counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, pairwise
from types import MappingProxyType

from crag.core.tables import SEPARATOR
from crag.core.types import Chunk, Document
from crag.generation.citations import quotable
from crag.generation.lists import lines_of
from crag.generation.whole_questions import Roots, Wanted, roots_of
from crag.ingest.properties import say_properties
from crag.text.dates import dates_in
from crag.text.formats import count
from crag.text.sentences import ITEM, ends_as_sentence, sentences
from crag.text.words import count_words

MOST_LISTED, MOST_TOLD = 40, 8
"""Parts or items that are listed at most; parts of which the first sentence is quoted."""
_LONGEST_HEADING, _LONGEST_QUOTE = 90, 320
_FEWEST, _FEWEST_WORDS, _OFTEN = 3, 6, 3
"""Parts that are numbered or listed in a table of contents; words of a sentence; so often, but for its numbers, a line
heads pages and no part."""
_SENTENCES, _WEIGHED, _CONTENTS = 40, 1_000, 12
"""Sentences that are looked at, and chunks whose words are counted, or looked at for a table of contents."""
_ROMAN = "I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX".split()
_NUMBERED = re.compile(r"(?:[^\W\d]{1,30} )?(\d{1,2}|[IVX]{1,5})(?:[.):–-]| |$)(?!\d)")
_LEADERS = re.compile(r"(?:\. ?|_|…){4}|[:\t]\s?\d+$")
_LISTED = re.compile(r"(.{3,120}?)[\s.:_…]*[\s.:_…]\d{1,3}")

Span = tuple[Chunk, int, int]


@dataclass(frozen=True, slots=True)
class Part:
    """A heading, the place where it stands, or else its first line, and the text under it chunk by chunk."""

    heading: str
    place: Span
    body: Sequence[Span]

    @property
    def roots(self) -> Roots:
        """By which a question names it: those of its heading without its number."""
        return roots_of(_NUMBERED.sub("", self.heading, 1))

    @property
    def title(self) -> str:
        where = self.place[0].where
        return quotable(self.heading) + (f", {where}" if where and self.heading not in where else "")


def _number(heading: str) -> int:
    """1 for "1 Scope", "Chapter 1", "I. SCOPE"; 0 for none."""
    found = _NUMBERED.match(heading)
    said = found[1] if found else "0"
    return int(said) if said.isdigit() else _ROMAN.index(said) + 1 if said in _ROMAN else 0


@dataclass(frozen=True)
class Outline:
    """A document with its chunks in reading order, without lines. The page of its properties is none of them."""

    document: Document
    stored: Sequence[Chunk]

    @cached_property
    def chunks(self) -> list[Chunk]:
        return [chunk for chunk in self.stored if chunk.page]

    @cached_property
    def parts(self) -> list[Part]:
        """Each heading once, but for those that stand over page after page and the title's own lines.

        Where there is a table of contents, lines that end in a page's number, those that it lists.
        """
        heads, last = [], ""
        for place, chunk in enumerate(self.chunks):
            if (heading := heading_of(chunk)) and heading != last:
                last, before = heading, place and heading in self.chunks[place - 1].text.split("\n")
                heads.append((place - 1 if before else place, heading, re.sub(r"\d+", "", heading)))
        often, title = Counter(bare for *_, bare in heads), roots_of(self.document.title)
        pages = [chunk.page for chunk in self.chunks]
        kept = [each for each in heads if often[each[2]] < _OFTEN or _number(each[1]) not in (0, pages[each[0]])]
        kept = [each for each in kept if each[0] or not roots_of(each[1]) <= title] or kept
        lines = (line.strip() for chunk in self.chunks[:_CONTENTS] for line in chunk.text.split("\n"))
        contents = {roots_of(found[1]) for line in lines if (found := _LISTED.fullmatch(line))}
        listed = [each for each in kept if roots_of(each[1]) in contents]
        kept = listed if len(listed) >= _FEWEST else kept
        ends = [*(place for place, *_ in kept[1:]), len(self.chunks)]
        return [
            _part(each[1], self.chunks[each[0] : max(end, each[0] + 1)]) for each, end in zip(kept, ends, strict=False)
        ]

    @cached_property
    def numbered(self) -> list[Part]:
        """The parts whose headings are numbered 1, 2, 3 and on; none where there are fewer than three."""
        found: list[Part] = []
        for part in self.parts:
            found += [part] if _number(part.heading) == len(found) + 1 else []
        return found if len(found) >= _FEWEST else []

    def named(self, asked: Roots, number: int) -> list[Part]:
        """The parts whose whole heading is among these roots, the longest first; else those of this number."""
        found = [part for part in self.parts if part.roots and part.roots <= asked]
        return sorted(found, key=lambda part: -len(part.roots)) or [
            part for part in self.numbered if _number(part.heading) == number
        ]


def _part(heading: str, chunks: Sequence[Chunk]) -> Part:
    text = chunks[0].text
    at = max(0, text.find(heading))
    end = at + len(heading) if text.startswith(heading, at) else 0
    body = [(chunk, 0 if place else end, len(chunk.text)) for place, chunk in enumerate(chunks)]
    return Part(heading, (chunks[0], at, end or len(text.partition("\n")[0])), body)


def heading_of(chunk: Chunk) -> str:
    """The heading that a chunk stands under or opens with; empty where none is known, and for what only looks so."""
    over = chunk.context.removeprefix(chunk.title).removeprefix(SEPARATOR)
    heading = " ".join((over.partition(SEPARATOR)[0] or chunk.text.lstrip().partition("\n")[0]).split())
    letters = sum(letter.isalpha() for letter in heading)
    sound = letters >= 3 and len(heading) <= _LONGEST_HEADING and 2 * letters >= len(heading)
    plain = not heading[:1].islower() and not ITEM.match(heading) and " | " not in heading and "; " not in heading
    closed = (ends_as_sentence(heading) and heading[-1] != "?") or _LEADERS.search(heading)
    return heading if sound and (plain or _NUMBERED.match(heading)) and not closed else ""


def statements(body: Iterable[Span]) -> Iterator[Span]:
    """The sentences of running text, in order: those that begin and end as one, have a few words, and are no rows."""
    for chunk, opens, closes in body:
        for start, end in sentences(chunk.text[opens:closes]) if chunk.kind == "text" else ():
            said = chunk.text[opens + start : opens + end]
            whole = ends_as_sentence(said) and said[0].isalpha() and not said[0].islower()
            if whole and count_words(said) >= _FEWEST_WORDS and not _LEADERS.search(said):
                yield chunk, opens + start, opens + end


def tell(body: Sequence[Span], most: int, weights: Mapping[str, int] = MappingProxyType({})) -> list[Span]:
    """Up to `most` of the first forty sentences, in order, none twice: those that come first, or say most of the whole.

    `weights` count how often the whole has a root. Where there are no two sentences, how the text begins.
    """

    def weigh(each: tuple[int, Span]) -> float:
        place, (chunk, start, end) = each
        roots = roots_of(chunk.text[start:end])
        return (place - _SENTENCES) * sum(weights.get(root, 0) for root in roots) / (_FEWEST_WORDS + len(roots))

    said: dict[str, Span] = {}
    for chunk, start, end in islice(statements(body), _SENTENCES):
        said.setdefault(chunk.text[start:end], (chunk, start, end))
    found = [*enumerate(said.values())]
    best = sorted(sorted(found, key=weigh)[:most], key=lambda each: each[0])
    opens = [(chunk, at, end) for chunk, at, end in body if chunk.text[at:end].strip()]
    return opens[:1] if len(best) < min(most, 2) else [span for _, span in best]


def items_of(part: Part) -> list[Span]:
    """What a part lists: its lines with a bullet, each to the next one; else rows of tables, sentences, or lines."""
    found, lines = list[Span](), list[Span]()
    for chunk, opens, _ in part.body:
        spans = [*lines_of(chunk.text, opens)]
        starts = [start for start, _ in spans if ITEM.match(chunk.text, start)]
        for start, following in pairwise([*starts, len(chunk.text)]):
            found.append((chunk, start, start + len(chunk.text[start:following].partition("\n\n")[0].rstrip())))
        lines += [(chunk, *span) for span in spans]
    return found or [span for span in lines if span[0].kind == "table"] or [*statements(part.body)] or lines


@dataclass(slots=True)
class Overview:
    """An answer in the making: its lines, with marks for the places that they are quoted from or rest on."""

    lines: list[str] = field(default_factory=list)
    cited: list[Span] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(filter(None, self.lines))

    def say(self, text: str, span: Span, stop: str = ".") -> str:
        """A sentence with the mark of its place before its stop."""
        if span not in self.cited:
            self.cited.append(span)
        return f"{text.rstrip('.')} [{self.cited.index(span) + 1}]{stop}"

    def quote(self, spans: Iterable[Span]) -> str:
        return " ".join(self.say(_cut(span), span) for span in spans)

    def itemise(self, spans: Sequence[tuple[str, Span]], what: str, most: int = MOST_LISTED) -> None:
        """The lines of a list; what is beyond the longest is counted."""
        self.lines += [f"- {self.say(text, span)}" for text, span in spans[:most]]
        self.lines += [f"And {count(len(spans) - most, f'more {what}')}."] if len(spans) > most else []


def _cut(span: Span) -> str:
    text = quotable(span[0].text[span[1] : span[2]])
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE].rsplit(' ', 1)[0]} …"


def _whole(chunk: Chunk) -> Span:
    return chunk, 0, len(chunk.text)


def write_overview(
    wanted: Wanted, outlines: Sequence[Outline], asked: Roots, number: int, *, several: bool
) -> Overview | None:
    """The answer; None where the documents have not what is asked for: no part of that name, nothing to compare.

    `asked`: the roots of the question, `number` one that it has; `several`: whether others could be meant.
    """
    made, outline = Overview(), outlines[0]
    if not outline.chunks:
        return None
    parts = outline.named(asked, number)
    match wanted:
        case "about" | "compare" if parts and len(outlines) == 1 and len(parts) > (wanted == "compare"):
            for part in parts[: 1 + (wanted == "compare")]:
                made.lines += [made.say(f"“{part.title}”", part.place, ":"), made.quote(tell(part.body, 3))]
        case "about" | "compare" if wanted == "about" or len(outlines) > 1:
            for each in outlines:
                first = made.say(f"“{each.document.title}”", _whole(each.chunks[0]))
                said = _properties(made, each, ("author", "created", "subject"))
                weights = Counter(root for chunk in each.chunks[:_WEIGHED] for root in roots_of(chunk.text))
                made.lines += [f"{first} {said}{_pages(made, each)}"]
                made.lines += [made.quote(tell([*map(_whole, each.chunks)], 3, weights))]
            if wanted == "about":
                _list_parts(made, outline, sentences_too=True)
        case "list" | "outline" if any(map(items_of, parts)):
            part = max(parts, key=lambda each: min(len(items_of(each)), 2))
            items = [(_cut(span), span) for span in items_of(part)]
            made.lines += [made.say(f"{count(len(items), 'item')} under “{part.title}”", part.place, ":")]
            made.itemise(items, "item")
        case "outline":
            _list_parts(made, outline)
        case "author" | "date":
            said = _properties(
                made, outline, ("author", "publisher") if wanted == "author" else ("created", "modified")
            )
            if not said and several:
                return None
            made.lines += [said or f"The file does not say {'who wrote it' if wanted == 'author' else 'when'}."]
            # Who made it, and when, people write on the first page.
            lines = [(outline.chunks[0], *span) for span in lines_of(outline.chunks[0].text)]
            dated = [span for span in lines if wanted == "date" and dates_in(span[0].text[span[1] : span[2]])]
            made.lines += [f"Its first page says: {made.quote(dated[:2] or [_whole(outline.chunks[0])])}"]
        case "pages":
            made.lines += [_pages(made, outline)]
    return made if made.cited else None


def _properties(made: Overview, outline: Outline, names: Sequence[str]) -> str:
    """What the file says of itself under these names, as sentences; each stands on the page of its properties."""
    about = next((chunk for chunk in outline.stored if not chunk.page), outline.chunks[0])
    said = [sentence for name, sentence in say_properties(outline.document.properties) if name in names]
    return "".join(f"{made.say(sentence, _whole(about))} " for sentence in said)


def _pages(made: Overview, outline: Outline) -> str:
    if said := _properties(made, outline, ("pages", "slides")):
        return said.rstrip()
    # A text without pages is cut into some of like size to be read: those are nobody's.
    paged = outline.document.kind in ("pdf", "image", "pptx")
    size = (
        count(outline.document.pages, "page")
        if paged
        else count(sum(count_words(each.text) for each in outline.chunks), "word")
    )
    return made.say(f"It has {size}", _whole(outline.chunks[-1]))


def _list_parts(made: Overview, outline: Outline, *, sentences_too: bool = False) -> None:
    """The parts with their pages; with `sentences_too` the first ones, each with its first sentence."""
    parts, what = (outline.numbered, "numbered part") if outline.numbered else (outline.parts, "heading")
    made.lines += [f"It has {count(len(parts), what)}, as far as its headings were read:"] if parts else []
    listed = [(part.title, part.place) for part in parts]
    if sentences_too:
        first = [(part, (tell(part.body, 1) or [part.place])[0]) for part in parts]
        listed = [(f"{part.title}: {_cut(span)}", span) for part, span in first]
    made.itemise(listed, what, MOST_TOLD if sentences_too else MOST_LISTED)
