"""A document as a whole, from what is stored of it: its parts, and an answer of its title, properties and quotes. Pure.

Headings have no levels in the records. Where they are numbered 1, 2, 3, these are the parts that are counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count as counting
from itertools import islice, pairwise
from types import MappingProxyType

from crag.core.tables import SEPARATOR
from crag.core.types import Chunk, Document
from crag.generation.citations import quotable
from crag.generation.lists import BULLET, lines_of
from crag.generation.whole_questions import Roots, Wanted, roots_of
from crag.ingest.properties import say_properties
from crag.text.dates import dates_in
from crag.text.formats import count
from crag.text.sentences import ends_as_sentence, sentences
from crag.text.words import count_words

MOST_LISTED, MOST_TOLD = 40, 8
"""Parts or items that are listed at most; parts of which the first sentence is quoted."""
_LONGEST_HEADING, _LONGEST_QUOTE, _OPENING = 90, 320, 300
_LOOKED_AT, _OFTEN = 40, 3
"""Sentences that are looked at; and so often the same line, but for its numbers, heads pages, and no part."""
_ROMAN = dict(zip("I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX".split(), counting(1)))
_NUMBERED = re.compile(r"(?:[^\W\d]+ )?(\d{1,2}|[IVX]{1,5})(?:[.):–-]| |$)(?!\d)")
_LEADERS = re.compile(r"(?:\. ?|_|…){4}|[:\t]\s?\d+$")
_LISTED = re.compile(r"(.{3,120}?)[\s.:_…]*[\s.:_…](?:\d{1,3})")
_CONTENTS = 12
_FEWEST_NUMBERED, _FEWEST_WORDS = 3, 6

Span = tuple[Chunk, int, int]


@dataclass(frozen=True, slots=True)
class Part:
    """A heading, and the chunks from it to the next one."""

    heading: str
    chunks: Sequence[Chunk]

    @property
    def first(self) -> Span:
        """Where its heading stands, or else its first line."""
        chunk = self.chunks[0]
        at = max(0, chunk.text.find(self.heading))
        return chunk, at, at + len(chunk.text[at:].partition("\n")[0])

    @property
    def roots(self) -> Roots:
        """By which a question names it: those of its heading without its number."""
        found = _NUMBERED.match(self.heading)
        return roots_of(self.heading[found.end() :] if found else self.heading) or roots_of(self.heading)

    @property
    def body(self) -> list[Span]:
        """Its text chunk by chunk, without its heading."""
        first, _, after = self.first
        opens = after if first.text[: after].endswith(self.heading) else 0
        return [(chunk, opens if chunk is first else 0, len(chunk.text)) for chunk in self.chunks]


@dataclass(frozen=True)
class Outline:
    """A document with its chunks in reading order, without lines. The page of its properties is none of them."""

    document: Document
    stored: Sequence[Chunk]

    @cached_property
    def chunks(self) -> list[Chunk]:
        return [chunk for chunk in self.stored if chunk.page]

    @cached_property
    def body(self) -> list[Span]:
        """Its text chunk by chunk."""
        return [_whole(chunk) for chunk in self.chunks]

    @cached_property
    def weights(self) -> Counter[str]:
        """In how many of its chunks each root stands."""
        return Counter(root for chunk in self.chunks for root in roots_of(chunk.text))

    @cached_property
    def parts(self) -> list[Part]:
        """Each heading once, but for those that stand over page after page and the title's own lines.

        Where there is a table of contents, those that it lists.
        """
        heads, last = [], ""
        for place, chunk in enumerate(self.chunks):
            if (heading := _heading_of(chunk)) and heading != last:
                before = place and heading in self.chunks[place - 1].text.split("\n")
                heads.append((place - 1 if before else place, heading))
                last = heading
        often, title = Counter(_unnumbered(heading) for _, heading in heads), roots_of(self.document.title)
        kept = [each for each in heads if often[_unnumbered(each[1])] < _OFTEN]
        kept = [(place, heading) for place, heading in kept if place or not roots_of(heading) <= title] or kept
        contents = self._contents
        listed = [each for each in kept if roots_of(each[1]) in contents]
        kept = listed if len(listed) >= _FEWEST_NUMBERED else kept
        ends = [*(place for place, _ in kept[1:]), len(self.chunks)]
        return [Part(head, self.chunks[at : max(end, at + 1)]) for (at, head), end in zip(kept, ends, strict=False)]

    @cached_property
    def _contents(self) -> set[Roots]:
        """The headings that a table of contents among the first chunks lists: lines that end in a page's number."""
        lines = (line for chunk in self.chunks[:_CONTENTS] for line in chunk.text.split("\n"))
        return {roots_of(found[1]) for line in lines if (found := _LISTED.fullmatch(line.strip()))} - {frozenset()}

    @cached_property
    def numbered(self) -> list[Part]:
        """The parts whose headings are numbered 1, 2, 3 and on; none where there are fewer than three."""
        found: list[Part] = []
        for part in self.parts:
            if _number(part.heading) == len(found) + 1:
                found.append(part)
        return found if len(found) >= _FEWEST_NUMBERED else []

    def named(self, asked: Roots, number: int = 0) -> list[Part]:
        """The parts whose whole heading is among these roots, the longest first; else those of this number."""
        roots = [(part.roots, part) for part in self.parts]
        found = sorted((each for each in roots if each[0] and each[0] <= asked), key=lambda each: -len(each[0]))
        return [part for _, part in found] or [part for part in self.numbered if _number(part.heading) == number]


def _heading_of(chunk: Chunk) -> str:
    """The heading that a chunk stands under or opens with; empty where none is known, and for what only looks so."""
    over = chunk.context.removeprefix(chunk.title).removeprefix(SEPARATOR)
    heading = " ".join((over.partition(SEPARATOR)[0] or chunk.text.lstrip().partition("\n")[0]).split())
    letters = sum(letter.isalpha() for letter in heading)
    sound = 3 <= letters and len(heading) <= _LONGEST_HEADING and 2 * letters >= len(heading)
    plain = not heading[:1].islower() and not BULLET.match(heading) and " | " not in heading and "; " not in heading
    numbered = _NUMBERED.match(heading) is not None
    closed = (ends_as_sentence(heading) and heading[-1] != "?") or _LEADERS.search(heading)
    return heading if sound and (plain or numbered) and not closed else ""


def _unnumbered(heading: str) -> str:
    return re.sub(r"\d+", "", heading).casefold()


def _number(heading: str) -> int:
    found = _NUMBERED.match(heading)
    return 0 if found is None else _ROMAN.get(found[1]) or (int(found[1]) if found[1].isdigit() else 0)


def statements(body: Iterable[Span]) -> Iterator[Span]:
    """The sentences of running text, in order: those that begin and end as one, have a few words, and are no rows."""
    for chunk, opens, closes in body:
        for start, end in sentences(chunk.text[opens:closes]) if chunk.kind == "text" else ():
            said = chunk.text[opens + start : opens + end]
            whole = ends_as_sentence(said) and said[0].isalpha() and not said[0].islower()
            if whole and count_words(said) >= _FEWEST_WORDS and not _LEADERS.search(said):
                yield chunk, opens + start, opens + end


def tell(body: Sequence[Span], most: int, weights: Mapping[str, int] = MappingProxyType({})) -> list[Span]:
    """Up to `most` sentences of the first forty, in order: those that come first, or say most of what the whole says.

    `weights` count how often the whole has a root. Where there is no sentence, how the text begins.
    """
    found = list(islice(statements(body), _LOOKED_AT))

    def weigh(span: Span) -> float:
        roots = roots_of(span[0].text[span[1] : span[2]])
        return sum(weights.get(root, 0) for root in roots) / (_FEWEST_WORDS + len(roots))

    best = sorted(found, key=weigh, reverse=True)[:most] if weights else found[:most]
    return sorted(best, key=found.index) or [
        (chunk, at, min(closes, at + _OPENING)) for chunk, at, closes in body if chunk.text[at:closes].strip()
    ][:1]


def items_of(part: Part) -> list[Span]:
    """What a part lists: its lines with a bullet, each to the next one; else rows of tables, sentences, or lines."""
    found, lines = list[Span](), list[Span]()
    for chunk in part.chunks:
        starts = [span for span in lines_of(chunk.text) if BULLET.match(chunk.text, span[0])]
        for (start, _), (following, _) in pairwise([*starts, (len(chunk.text), 0)]):
            text = chunk.text[start:following].partition("\n\n")[0].rstrip()
            found.append((chunk, start, start + len(text)))
        lines += [(chunk, *span) for span in lines_of(chunk.text) if chunk.text[slice(*span)] != part.heading]
    rows = [span for span in lines if span[0].kind == "table"]
    return found or rows or list(statements(part.body)) or lines


@dataclass(slots=True)
class Overview:
    """An answer in the making: its lines, with marks for the places that they are quoted from or rest on."""

    lines: list[str] = field(default_factory=list)
    cited: list[Span] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(filter(None, self.lines))

    def mark(self, *spans: Span) -> str:
        """The marks of these places, " [3][4]"."""
        for span in spans:
            if span not in self.cited:
                self.cited.append(span)
        return "".join(f" [{self.cited.index(span) + 1}]" for span in spans)

    def say(self, text: str, *spans: Span, stop: str = ".") -> str:
        """A sentence with its marks before its stop."""
        return f"{text.rstrip('.')}{self.mark(*spans)}{stop}"

    def quote(self, *spans: Span) -> str:
        return " ".join(self.say(_cut(quotable(chunk.text[start:end])), (chunk, start, end)) for chunk, start, end in spans)

    def listed(self, spans: Sequence[tuple[str, Span]], what: str) -> None:
        """The lines of a list; what is beyond the longest is counted."""
        self.lines += [f"- {self.say(text, span)}" for text, span in spans[:MOST_LISTED]]
        if more := len(spans) - MOST_LISTED:
            self.lines += [f"And {count(more, f'more {what}')}."] if more > 0 else []


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE].rsplit(' ', 1)[0]} …"


def _whole(chunk: Chunk) -> Span:
    return chunk, 0, len(chunk.text)


def _headed(part: Part) -> tuple[str, Span]:
    where = part.chunks[0].where
    return quotable(part.heading) + (f", {where}" if where and part.heading not in where else ""), part.first


def write_overview(wanted: Wanted, outlines: Sequence[Outline], asked: Roots, number: int, *, several: bool) -> Overview | None:
    """The answer; None where the documents have not what is asked for: no part of that name, nothing to compare.

    `asked`: the roots of the question, `number` one that it has; `several`: whether others could be meant.
    """
    made = Overview()
    outline = outlines[0]
    parts = outline.named(asked, number)
    if not outline.chunks:
        return None
    match wanted:
        case "about" if parts:
            _tell_part(made, outline, parts[0])
        case "about":
            _introduce(made, outline)
            made.lines += [made.quote(*tell(outline.body, 3, outline.weights))]
            _tell_parts(made, outline)
        case "outline" if not parts:
            _list_parts(made, outline)
        case "list" | "outline" if parts:
            part = max(parts, key=lambda each: min(len(items_of(each)), 2))
            items = items_of(part)
            if not items:
                return None
            made.lines += [made.say(f"{count(len(items), 'item')} under “{_headed(part)[0]}”", part.first, stop=":")]
            made.listed([(_cut(quotable(each[0].text[each[1] : each[2]])), each) for each in items], "item")
        case "author" | "date":
            said = _properties(made, outline, ("author", "publisher") if wanted == "author" else ("created", "modified"))
            if not said and several:
                return None
            made.lines += [said or f"The file does not say {'who wrote it' if wanted == 'author' else 'when'}."]
            _tell_opening(made, outline, dated=wanted == "date")
        case "pages":
            made.lines += [_pages(made, outline)]
        case "compare" if len(outlines) > 1 or len(parts) > 1:
            for each in outlines if len(outlines) > 1 else ():
                _introduce(made, each)
                made.lines += [made.quote(*tell(each.body, 2, each.weights))]
            for part in parts[:2] if len(outlines) == 1 else ():
                _tell_part(made, outline, part)
            _tell_shared(made, outlines)
        case _:
            return None
    return made


def _properties(made: Overview, outline: Outline, names: Sequence[str]) -> str:
    """What the file says of itself under these names, as sentences; each stands on the page of its properties."""
    about = next((chunk for chunk in outline.stored if not chunk.page), outline.chunks[0])
    said = [sentence for name, sentence in say_properties(outline.document.properties) if name in names]
    return " ".join(made.say(sentence, _whole(about)) for sentence in said)


def _pages(made: Overview, outline: Outline) -> str:
    last = _whole(outline.chunks[-1])
    if said := _properties(made, outline, ("pages", "slides")):
        return said
    if outline.document.kind in ("pdf", "image", "pptx"):
        return made.say(f"It has {count(outline.document.pages, 'page')}", last)
    size = count(sum(count_words(chunk.text) for chunk in outline.chunks), "word")
    return made.say(f"The file does not say how many pages it has. It has {size}", last)


def _introduce(made: Overview, outline: Outline) -> None:
    opening = outline.chunks[0]
    first = made.say(f"“{outline.document.title}”", (opening, 0, min(len(opening.text), _OPENING)))
    rest = _properties(made, outline, ("author", "created", "subject"))
    made.lines += [" ".join(filter(None, [first, rest, _pages(made, outline)]))]


def _tell_opening(made: Overview, outline: Outline, *, dated: bool) -> None:
    """The beginning of the first page, or its line with a date: where people write who made it, and when."""
    chunk = outline.chunks[0]
    spans = [(chunk, *span) for span in lines_of(chunk.text) if dates_in(chunk.text[slice(*span)])] if dated else []
    spans = spans[:2] or [(chunk, 0, min(len(chunk.text), _OPENING))]
    made.lines += [f"Its first page says: {made.quote(*spans)}"]


def _list_parts(made: Overview, outline: Outline) -> None:
    parts, what = (outline.numbered, "numbered part") if outline.numbered else (outline.parts, "heading")
    if not parts:
        made.lines += [made.say("No headings were found in it", _whole(outline.chunks[0])), _pages(made, outline)]
        return
    made.lines += [f"It has {count(len(parts), what)}, as far as its headings were read:"]
    made.listed([_headed(part) for part in parts], what)


def _tell_parts(made: Overview, outline: Outline) -> None:
    parts = outline.numbered or outline.parts
    told = parts[:MOST_TOLD] if len(parts) > 1 else []
    made.lines += ["Its parts begin:"] if told else []
    for part in told:
        text, place = _headed(part)
        said = made.quote(*tell(part.body, 1))
        made.lines += [f"- {made.say(text, place, stop=':' if said else '.')} {said}".rstrip()]
    if (more := len(parts) - len(told)) > 0 and told:
        made.lines += [f"And {count(more, 'more part')}."]


def _tell_part(made: Overview, outline: Outline, part: Part) -> None:
    """A part: where it stands, its first sentences, or what it lists, and the parts that its number holds."""
    last, number = part.chunks[-1].where, _NUMBERED.match(part.heading)
    text, place = _headed(part)
    ends = f" to {last}" if last != part.chunks[0].where else ""
    made.lines += [made.say(f"“{text}{ends}”", place, stop=":")]
    inner = [each for each in outline.parts if number and re.match(rf"{re.escape(number[1])}\.\d", each.heading)]
    made.lines += [made.quote(*tell(part.body, 3))]
    made.listed([_headed(each) for each in inner], "part")


def _tell_shared(made: Overview, outlines: Sequence[Outline]) -> None:
    """The headings that both of two documents have."""
    if len(outlines) < 2:
        return
    other = {roots_of(part.heading): part for part in outlines[1].parts}
    both = [(part, other[roots]) for part in outlines[0].parts if (roots := roots_of(part.heading)) in other]
    said = [made.say(quotable(one.heading), one.first, two.first, stop="") for one, two in both[:MOST_TOLD]]
    made.lines += [f"Both have: {'; '.join(said)}." if said else "They have no heading in common."]
