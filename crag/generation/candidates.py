"""What may be quoted of strips, which of it comes first, and which rows of a table stand back. Pure."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from crag.core.tables import SEPARATOR, Row, Table
from crag.core.types import Chunk, Strip, WebPage
from crag.evaluation.refinement import make_strip
from crag.generation.line_items import plain_stems
from crag.generation.lists import BULLET, lines_of, list_end
from crag.generation.subjects import MAX_QUESTION, years_of
from crag.text.numerals import numbers_in
from crag.text.sentences import STOPS, ends_as_sentence, sentences
from crag.text.words import count_words, significant_stems, stem, words

LONG_STRIP = 400
"""A strip of more characters is quoted by its best sentence, not whole."""
HEADING_WORDS = 5
HEADING = 0.7
"""How much the score of a text counts that is neither a sentence nor a table row: titles name, they do not answer."""
REDUNDANT = 0.8
"""A sentence that shares this much of its words with one already chosen adds nothing."""
DIVERSITY = 0.1
"""How much likeness to what is chosen counts against a score (maximal marginal relevance)."""
AS_GOOD = 0.5
"""A text that is meant by the form of the question takes the place of others that score at most twice as much."""
LEAST_SECTION = 2
"""Words of a heading that a question must say to name it: one word may mean anything."""
BESIDE_BEST = 0.7
"""Further sentences must score at least this share of the best one."""

_CELLS = re.compile(r"\||; |\t")
_PAGE_NUMBER = re.compile(
    r"\W*+(?:(?:page|p\.)\s*+)?(?:\d{1,4}|[ivxl]{1,7})(?>(?:\s*+(?:of|/)\s*+\d{1,4})?)\W*+", re.IGNORECASE
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_SECTION = re.compile(r"\d+(?:\.\d+){2,}")
_QUANTITY = (
    r"(?:percentages?|percent|numbers?|share|rates?|ratios?|scores?|amounts?|prices?|costs?|speed|population|proportion"
    r"|total|average|size|length|height|weight|depth|temperature|budget|co-?pay(?:ment)?s?|co-?insurance|deductibles?"
    r"|premiums?|fees?|stipends?|allowances?|fines?|salary|salaries|wages?|rents?|capacity|distance)"
)
_ASKS_FIGURE = re.compile(
    r"\bhow (?:many|much|large|big|high|long|far|old|fast|tall|deep|wide|heavy)\b"
    r"|\b(?:(?:what|which) (?:(?!the\b|an?\b)[\w-]{1,28}(?<!s|d) ){0,2}"
    r"|what (?:is|was|are|were) (?:(?!(?:of|for|to|in|on|by|with|behind|about|purpose|reasons?)\b)[\w'’-]{1,30} ){1,6})"
    rf"{_QUANTITY}(?! (?!of|for|in|at|on|per|to|that|did|do|does|is|was|were|are|has|had|from|by|as|when|during|between"
    r"|among|under)\w)",
    re.IGNORECASE,
)
_ASKS_LIST = re.compile(r"\s*+(?:which|what|list|name)\b", re.IGNORECASE)
_COUNTS = re.compile(r"\b(?:no|none|once|twice|both|half|single|several|all|every)\b", re.IGNORECASE)
_SPAN = re.compile(r" (?:years?|months?|quarters?|decades?)\b", re.IGNORECASE)
_ASKS_SPAN = re.compile(r"\bhow many (?:minutes|hours|days|weeks)\b", re.IGNORECASE)
"""What a span of years answers too: one year, asked for the number of days."""
_ASKS_TIME = re.compile(r"\b(?:years?|months?|quarters?|decades?|how (?:long|old))\b", re.IGNORECASE)
_CONTACTS = (
    (
        re.compile(r"\b(?:tele)?phone(?: number)?\b|\b(?:fax|mobile|hotline) number\b", re.IGNORECASE),
        re.compile(r"(?:\d[ \t().\-/]{0,3}){6}\d"),
    ),
    (re.compile(r"\be-?mail(?: address)?\b", re.IGNORECASE), re.compile(r"[\w.+-]@[\w-]")),
)
"""What asks for a telephone number or an e-mail address, and what one looks like."""
_ASKS_CONTACT = re.compile(r"\s*+(?:what|which|give|state|tell)\b", re.IGNORECASE)
_ITEM = re.compile(r"\s*+[•●▪◦‣*–—-]\s|[^:]*+:\s*+\S|[^$€£%]*+(?:[$€£]\s?\d|(?<=\d)%|(?<=\d )%)")
"""The beginning of a line that is an item of a list, has a label before its value, or an amount of money or a share."""
_SHORT_FORM = re.compile(r"\([^()]{1,12}\)")
"""A name's short form behind it, which a question need not say: "Methane (CH4)"."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A quotable span of a strip. `rank` orders units, `tie` those of one rank; `place` is reading order."""

    strip: Strip
    start: int
    end: int
    rank: float
    tie: float
    place: int
    words: frozenset[str]

    @property
    def text(self) -> str:
        return self.strip.text[self.start : self.end]

    @property
    def first(self) -> int:
        """Where it begins in its source's text."""
        return self.strip.start + self.start

    @property
    def last(self) -> int:
        """One past its end in its source's text."""
        return self.strip.start + self.end

    def cut(self, first: int, last: int) -> Unit:
        """What of it lies in [first, last) of its source's text, without white space round it."""
        text = self.strip.text[first - self.strip.start : last - self.strip.start]
        start = first - self.strip.start + len(text) - len(text.lstrip())
        inner = text.strip()
        return replace(self, start=start, end=start + len(inner), words=frozenset(words(inner)))


def quotable_spans(text: str) -> list[tuple[int, int]]:
    """A short strip whole but for headings and page numbers on lines round it; a long one by sentence."""
    spans = _without_page_numbers(text, sentences(text))
    while len(spans) > 1 and _is_heading(text[spans[0][0] : spans[0][1]], text[spans[0][1] : spans[1][0]]):
        if text[spans[0][1] - 1] == ":" and not ends_as_sentence(text[spans[1][0] : spans[1][1]]):
            break  # a label over its value
        del spans[0]
    return spans if len(text) > LONG_STRIP else [(spans[0][0], spans[-1][1])]


def _without_page_numbers(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans without page numbers, where enough else is left: under "Employees", 57 is the answer."""
    left = [(start, end) for start, end in spans if not _PAGE_NUMBER.fullmatch(text, start, end)]
    return left if sum(count_words(text[start:end]) for start, end in left) > HEADING_WORDS else spans


_UNLIKE_A_HEADING = re.compile(rf"[{STOPS},，、]$|[;|\t]")


def _is_heading(line: str, gap: str) -> bool:
    """Whether a line of its own, before the white space `gap`, is in capitals or a few words without a stop.

    An item of a list is none, and neither is what states a value: "C 75%", "Client gifts: $100".
    """
    if _ITEM.match(line):
        return False
    short = count_words(line) <= HEADING_WORDS and not _UNLIKE_A_HEADING.search(line)
    return line.isupper() or (short and "\n" in gap)


def is_statement(text: str) -> bool:
    """Whether a text ends like a sentence or is a row of a table; anything else may be a heading or a title."""
    return ends_as_sentence(text) or _CELLS.search(text) is not None


def of_the_year(question: str, units: list[Unit]) -> list[Unit]:
    """Without those that speak of other years than the question's, where one about as good speaks of the question's.

    A fiscal year is often named by another number, and a sentence may name only the year that it compares with.
    """
    asked = years_of(question)
    years = {unit.place: years_of(unit.text) for unit in units}
    meant = {place for place, own in years.items() if asked & own}
    return _in_place(units, meant, {place for place, own in years.items() if own} - meant)


def _in_place(units: list[Unit], meant: Collection[int], others: Collection[int]) -> list[Unit]:
    """Without those of the `others` that a `meant` one about as good stands for; both are places of units."""
    best = max((unit.rank for unit in units if unit.place in meant), default=-math.inf)
    return [unit for unit in units if unit.place not in others or best < AS_GOOD * unit.rank]


def is_without_figure(question: str, text: str) -> bool:
    """Whether a question asks for a figure, but not for a time, and a text has none, in digits or words.

    A year is none, and neither is a section's number, a span of years, or what the question says itself. Of a telephone
    number or an e-mail address that is asked for, whether the text has none.
    """
    question = question[:MAX_QUESTION]
    if contact := _contact_of(question):
        return not contact.search(text)
    if not _ASKS_FIGURE.search(question) or _ASKS_TIME.search(question) or _COUNTS.search(text):
        return False
    asked = {number.text for number in numbers_in(question)}
    spans = _ASKS_SPAN.search(question) is not None
    return all(
        number.kind == "ordinal"
        or _SECTION.fullmatch(number.text)
        or number.text in asked
        or _YEAR.fullmatch(number.text)
        or (not spans and _SPAN.match(text, number.end))
        for number in numbers_in(text)
    )


def _contact_of(question: str) -> re.Pattern[str] | None:
    """The form of the telephone number or e-mail address that a question asks for; None where it asks for neither."""
    asked = (form for asks, form in _CONTACTS if asks.search(question)) if _ASKS_CONTACT.match(question) else ()
    return next(iter(asked), None)


def of_the_figure(question: str, units: list[Unit]) -> list[Unit]:
    """Leaves out sentences without the figure that is asked for, where what has one is about as good as the best."""
    without = {unit.place for unit in units if not _CELLS.search(unit.text) and is_without_figure(question, unit.text)}
    return _in_place(units, {unit.place for unit in units} - without, without)


def of_the_amounts(question: str, units: list[Unit]) -> list[Unit]:
    """With the texts that have all amounts of the question in place of about as good ones that have other amounts.

    An amount is a number of at least four digits that is no year: "$50,001 to $150,000" names one step of a scale.
    """
    asked = _amounts(question[:MAX_QUESTION])
    if not asked:
        return units
    amounts = {unit.place: _amounts(unit.text) for unit in units}
    meant = {place for place, own in amounts.items() if asked <= own}
    return _in_place(units, meant, {place for place, own in amounts.items() if own} - meant)


def _amounts(text: str) -> set[str]:
    return {
        number.text
        for number in numbers_in(text)
        if sum(map(str.isdigit, number.text)) > 3 and not _YEAR.fullmatch(number.text)
    }


def names_item(question: str, text: str) -> bool:
    """Whether a question says all words before the colon of an item of a list; of one without a colon, all its words.

    Numbers are no words there: they are what is asked for. One word is too little: "Naming:", of something else.
    """
    asked = frozenset(map(stem, words(question[:MAX_QUESTION])))
    label, colon, value = text.partition(":")
    if value[:1] == "\n":  # a line over the item
        label, colon, value = value.partition(":")
        text = label
    said = _stems(label if colon and value.strip() else text)
    said = frozenset(word for word in said if not any(map(str.isdigit, word)))
    return len(said) > 1 and said <= asked


def of_the_item(question: str, units: list[Unit]) -> list[Unit]:
    """With texts of several lines cut to the one item of a list in them that the question names."""
    return [_cut_to_item(question, unit) for unit in units]


def _cut_to_item(question: str, unit: Unit) -> Unit:
    text = unit.text
    lines = list(lines_of(text))
    named = [
        (start, end) for start, end in lines if _ITEM.match(text, start, end) and names_item(question, text[start:end])
    ]
    if len(named) != 1 or len(lines) == 1 or not all(_ITEM.match(text, start, end) for start, end in lines):
        return unit
    [(start, end)] = named
    return unit.cut(unit.first + start, unit.first + end)


def of_the_name(question: str, units: list[Unit], sources: Mapping[str, Chunk | WebPage]) -> list[Unit]:
    """With the rows that the question names in place of about as good rows of the same table that it does not name."""
    for id in dict.fromkeys(unit.strip.source_id for unit in units):
        source = sources.get(id)
        if isinstance(source, Chunk):
            for table in source.tables:
                units = _in_place_of(units, id, table, named_rows(question, source.text, table.rows))
    return units


def _in_place_of(units: list[Unit], source_id: str, table: Table, named: Sequence[Row]) -> list[Unit]:
    """The units with those of a table's other rows left out, and those of its named rows cut free of other rows."""
    others = [row for row in table.rows if row.cells and row not in named]
    own: dict[int, Unit | None] = {}
    for unit in units:
        if unit.strip.source_id != source_id:
            continue
        rows = [row for row in named if unit.first <= row.start and row.end <= unit.last]
        beside = [row for row in others if unit.first < row.end and row.start < unit.last]
        if rows:
            start = max((row.end for row in beside if row.end <= rows[0].start), default=unit.first)
            end = min((row.start for row in beside if row.start >= rows[-1].end), default=unit.last)
            own[unit.place] = unit.cut(start, end)
        elif beside:
            own[unit.place] = None
    best = max((unit.rank for unit in own.values() if unit), default=None)
    if best is None:
        return units
    beaten = [unit for unit in units if unit.place in own and best >= AS_GOOD * unit.rank]
    top = max(unit.rank for unit in beaten)
    found = {unit.place: unit for unit in units}
    for unit in beaten:
        if cut := own[unit.place]:
            found[unit.place] = replace(cut, rank=max(cut.rank, top))
        else:
            del found[unit.place]
    return list(found.values())


def with_lists(question: str, units: list[Unit], sources: Mapping[str, Chunk | WebPage]) -> list[Unit]:
    """With the whole list in place of each text that leads to one, where the question may ask for several things.

    Where a figure is asked for: a heading or label without one with the figure on the line under it.
    """
    question = question[:MAX_QUESTION]
    figure = _ASKS_FIGURE.search(question) or _contact_of(question)
    if not figure and not _ASKS_LIST.match(question):
        return units
    found = []
    for unit in units:
        source = sources.get(unit.strip.source_id)
        if source is not None:
            last = _value_end(question, unit, source) if figure else list_end(source.text, unit.first, unit.last)
            unit = _extended(unit, source, last) if last is not None and last > unit.last else unit
        found.append(unit)
    return found


def _value_end(question: str, unit: Unit, source: Chunk | WebPage) -> int | None:
    """Where the line ends that has the figure under a label without it; None where there is no such line."""
    stated = is_statement(unit.text) and not _contact_of(question)
    if stated or not is_without_figure(question, unit.text):
        return None
    first, last = next(lines_of(source.text, unit.last), (0, 0))
    line = source.text[first:last]
    return None if count_words(line) > HEADING_WORDS or is_without_figure(question, line) else last


def _extended(unit: Unit, source: Chunk | WebPage, end: int) -> Unit:
    strip, start = unit.strip, unit.first
    if end > strip.end:
        strip = make_strip(source.id, source.text, strip.origin, start, end, strip.score, kept=False)
    text = source.text[start:end]
    rank = unit.rank if is_statement(unit.text) else unit.rank / HEADING
    at = start - strip.start
    return replace(unit, strip=strip, start=at, end=at + end - start, rank=rank, words=frozenset(words(text)))


def of_the_section(question: str, units: list[Unit], sources: Mapping[str, Chunk | WebPage]) -> list[Unit]:
    """With texts of the section that the question names in place of about as good ones of sections named alike.

    "Senior Manager of Sales" is named whole by a question of it, and so is "Manager of Sales": the longest counts.
    """
    asked = frozenset(map(stem, words(question[:MAX_QUESTION])))
    sections = {
        id: _stems(_section_of(source))
        for id in dict.fromkeys(unit.strip.source_id for unit in units)
        if isinstance(source := sources.get(id), Chunk)
    }
    named = max((section for section in sections.values() if section <= asked), key=len, default=frozenset[str]())
    if len(named) < LEAST_SECTION:
        return units
    own = {unit.place: sections.get(unit.strip.source_id, frozenset()) for unit in units}
    meant = {place for place, section in own.items() if section == named}
    return _in_place(units, meant, {place for place, section in own.items() if section & named} - meant)


def _section_of(chunk: Chunk) -> str:
    """The heading that a chunk stands under, or its first line where it opens with its own."""
    above = chunk.context.removeprefix(chunk.title).removeprefix(SEPARATOR).partition(SEPARATOR)[0]
    first = chunk.text.partition("\n")[0]
    return above or (first if first and not is_statement(first) else "")


def of_the_words(question: str, units: list[Unit]) -> list[Unit]:
    """Without the items of a list that have only some of the question's words that a better item of it has.

    Better is one about as good: of "7+ years of sales experience" and "5+ years of experience" the first is meant where
    sales are asked about.
    """
    asked = significant_stems(question[:MAX_QUESTION])
    said = {unit.place: asked & frozenset(map(stem, unit.words)) for unit in units if BULLET.match(unit.text)}
    # Of each source, the best rank of the items with the same words of the question.
    best: dict[str, dict[frozenset[str], float]] = {}
    for unit in units:
        if (own := said.get(unit.place)) is not None:
            ranks = best.setdefault(unit.strip.source_id, {})
            ranks[own] = max(unit.rank, ranks.get(own, 0.0))
    return [
        unit
        for unit in units
        if (own := said.get(unit.place)) is None
        or not any(more > own and rank >= AS_GOOD * unit.rank for more, rank in best[unit.strip.source_id].items())
    ]


def named_rows(question: str, text: str, rows: Sequence[Row]) -> list[Row]:
    """The rows with values whose whole label the question says, those with the longest labels; none where it says all.

    A row of years is among them, because it names the columns. `text` is what the rows' places count in.
    """
    asked = frozenset(map(stem, words(question[:MAX_QUESTION])))
    valued = [row for row in rows if row.cells]
    said = [_stems(text[row.start : row.label]) for row in valued]
    longest = max((len(label) for label in said if label <= asked), default=0)
    named = [
        row for row, label in zip(valued, said, strict=True) if longest and label <= asked and len(label) == longest
    ]
    return named if len(named) < len(valued) else []


def _stems(label: str) -> frozenset[str]:
    bare = _SHORT_FORM.sub(" ", label)
    return plain_stems(bare) or significant_stems(bare)


def choose_units(units: list[Unit], limit: int, first: Unit | None = None) -> list[Unit]:
    """The best units, none saying again what a better one says; `first` among them."""
    left = sorted(units, key=best_first)
    left = [unit for unit in left if unit.rank >= BESIDE_BEST * left[0].rank]
    chosen: list[Unit] = [first] if first else []
    left = [unit for unit in left if first is None or _likeness(unit, [first]) < REDUNDANT]
    while left and len(chosen) < limit:
        best = max(left, key=lambda unit: unit.rank + unit.tie - DIVERSITY * _likeness(unit, chosen))
        chosen.append(best)
        left = [unit for unit in left if unit is not best and _likeness(unit, [best]) < REDUNDANT]
    return chosen


def best_first(unit: Unit) -> tuple[float, int]:
    return -(unit.rank + unit.tie), unit.place


def order_units(units: list[Unit], first: Unit | None = None) -> list[Unit]:
    """Sources by their best unit, units of one source in reading order; the source of `first` before all others."""
    best: dict[str, float] = {}
    for unit in units:
        rank = math.inf if unit is first else unit.rank + unit.tie
        best[unit.strip.source_id] = max(best.get(unit.strip.source_id, 0.0), rank)
    order = {source: place for place, source in enumerate(sorted(best, key=lambda each: -best[each]))}
    return sorted(units, key=lambda unit: (order[unit.strip.source_id], unit.place))


def _likeness(unit: Unit, others: Sequence[Unit]) -> float:
    """The largest share of the smaller set of words that the unit has in common with any of the others, 0..1."""
    return max(
        (len(unit.words & other.words) / max(1, min(len(unit.words), len(other.words))) for other in others),
        default=0.0,
    )


def word_rarity(texts: Sequence[frozenset[str]]) -> dict[str, float]:
    """Weights of words by how few texts hold them: above 0."""
    counts = Counter(word for text in texts for word in text)
    return {word: math.log(1.0 + len(texts) / count) for word, count in counts.items()}
