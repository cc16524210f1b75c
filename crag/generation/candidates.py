"""What may be quoted of strips, and which of it answers: candidates, weighed by one fitted layer. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from crag.core.tables import Row
from crag.core.types import Chunk, Strip, WebPage
from crag.evaluation.binding import share_figures
from crag.evaluation.heads import ODDS, clip, load_head, load_layer, log_odds, weigh
from crag.evaluation.local import fits_kind
from crag.evaluation.refinement import make_strip
from crag.generation.lists import lines_of, list_end
from crag.generation.short import Found
from crag.generation.subjects import MAX_QUESTION
from crag.text.sentences import ITEM, STOPS, ends_as_sentence, sentences
from crag.text.words import count_words, significant_stems, stem, words

CANDIDATE_FEATURES = ("score", "strip", "label", "figures", "kind", "covered", "read")
"""One name a number that the layer weighs, in order; see `describe_candidate`."""
BY_SCORE = (1.0,) + (0.0,) * (len(CANDIDATE_FEATURES) - 1)
"""The weights where no layer is fitted."""
LONG_STRIP = 400
"""A strip of more characters is quoted by its best sentence, not whole."""
HEADING_WORDS = 5
REDUNDANT = 0.8
"""A sentence that shares this much of its words with one already chosen adds nothing."""
MOST = 40
"""Candidates that are weighed, those of the best scores."""
NOT_READ, ELSEWHERE = -7.0, -5.0
"""In place of the log-odds of words that answer: none were read, or they stand elsewhere in the source."""
BESIDE_BEST = 0.7
"""Further sentences must score at least this share of the best one."""

_CELLS = re.compile(r"\||; |\t")
_ITEM = re.compile(r"\s*+[•●▪◦‣*–—-]\s|[^:]*+:\s*+\S|[^$€£%]*+(?:[$€£]\s?\d|(?<=\d)%|(?<=\d )%)")
"""The beginning of a line that is an item of a list, has a label before its value, or an amount of money or a share."""
_ASKS = ("?", "？")


@dataclass(frozen=True, slots=True)
class Unit:
    """A quotable span of a strip. `rank` orders units, `tie` those of one rank; `place` is reading order.

    `facts`: the numbers that its rank was weighed from, by name.
    """

    strip: Strip
    start: int
    end: int
    rank: float
    tie: float
    place: int
    words: frozenset[str]
    facts: Mapping[str, float] = field(default_factory=dict)

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

    def holds(self, source_id: str, start: int, end: int) -> bool:
        """Whether [start, end) of a source's text lies in it."""
        return self.strip.source_id == source_id and self.first <= start and end <= self.last

    def cut(self, first: int, last: int) -> Unit:
        """What of it lies in [first, last) of its source's text, without white space round it."""
        text = self.strip.text[first - self.strip.start : last - self.strip.start]
        start = first - self.strip.start + len(text) - len(text.lstrip())
        inner = text.strip()
        return replace(self, start=start, end=start + len(inner), words=frozenset(words(inner)))


def quotable_spans(text: str) -> list[tuple[int, int]]:
    """A short strip whole but for headings on lines before it; a long one by sentence."""
    spans = sentences(text)
    while len(spans) > 1 and _is_heading(text[spans[0][0] : spans[0][1]], text[spans[0][1] : spans[1][0]]):
        if text[spans[0][1] - 1] == ":" and not ends_as_sentence(text[spans[1][0] : spans[1][1]]):
            break  # a label over its value
        del spans[0]
    return spans if len(text) > LONG_STRIP else [(spans[0][0], spans[-1][1])]


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


def extend_lists(units: list[Unit], sources: Mapping[str, Chunk | WebPage]) -> list[Unit]:
    """With the whole list in place of each text that leads to one, and without the names of columns over a first row.

    A heading or a question, which say nothing by themselves, are extended by the sentences under them.
    """
    found = []
    for unit in units:
        source = sources.get(unit.strip.source_id)
        if source is not None:
            unit = _below_header(unit, source)
            last = list_end(source.text, unit.first, unit.last) or _text_end(unit, source)
            unit = _extended(unit, source, last) if last and last > unit.last else unit
        found.append(unit)
    return found


def _below_header(unit: Unit, source: Chunk | WebPage) -> Unit:
    """A unit that begins with the names of a table's columns without them: each row says them again."""
    tables = source.tables if isinstance(source, Chunk) else ()
    rows = [table.rows[0].start for table in tables if table.rows and table.start == unit.first]
    return unit.cut(rows[0], unit.last) if rows and unit.first < rows[0] < unit.last else unit


def _text_end(unit: Unit, source: Chunk | WebPage) -> int | None:
    """Where the sentences end under a heading or behind a question; None of what states something, and of no such."""
    text = unit.text.strip()
    asks, bullet = text.endswith(_ASKS), ITEM.match(text)
    if "\n" in text or _ITEM.match(text[bullet.end() :] if bullet else text) or (is_statement(text) and not asks):
        return None
    first, _ = next(lines_of(source.text, unit.last), (0, 0))
    if not first or ITEM.match(source.text, first) or not (asks or "\n" in source.text[unit.last : first]):
        return None
    if bullet and ITEM.match(source.text[max(0, unit.first - LONG_STRIP) : unit.first].rstrip().rpartition("\n")[2]):
        return None  # the last item of a list, and what follows the list
    under = source.text[first : first + LONG_STRIP].partition("\n\n")[0]
    spans = takewhile(lambda span: not under[: span[1]].endswith(_ASKS), sentences(under))
    ends = [end for start, end in spans if ends_as_sentence(under[start:end])]
    return first + ends[-1] if ends else None


def _extended(unit: Unit, source: Chunk | WebPage, end: int) -> Unit:
    strip, start = unit.strip, unit.first
    if end > strip.end:
        strip = make_strip(source.id, source.text, strip.origin, start, end, strip.score, kept=False)
    text = source.text[start:end]
    at = start - strip.start
    return replace(unit, strip=strip, start=at, end=at + end - start, words=frozenset(words(text)))


def weigh_candidates(
    question: str, units: Sequence[Unit], sources: Mapping[str, Chunk | WebPage], found: Sequence[Found]
) -> list[Unit]:
    """The likeliest ones, the best first, each with the chance 0..1 that it is the one among them as its rank.

    `found`: the words that were read in sources.
    """
    units = sorted(units, key=best_first)[:MOST]
    read = {each.strip.source_id: each for each in found}
    facts = [
        describe_candidate(question, unit, sources.get(unit.strip.source_id), read.get(unit.strip.source_id))
        for unit in units
    ]
    layer = load_layer("candidates", CANDIDATE_FEATURES)
    weights = layer.weights if layer else BY_SCORE
    odds = [weigh(weights, 0.0, [each[name] for name in CANDIDATE_FEATURES]) for each in facts]
    shares = [math.exp(each - max(odds)) for each in odds]
    ranked = []
    for unit, own, part in zip(units, facts, shares, strict=True):
        chance = part / sum(shares)
        ranked.append(replace(unit, rank=chance, tie=0.0, facts={**own, "chance": _log_odds(chance)}))
    return sorted(ranked, key=best_first)


def describe_candidate(
    question: str, unit: Unit, source: Chunk | WebPage | None, found: Found | None
) -> dict[str, float]:
    """The numbers that `CANDIDATE_FEATURES` names, in order.

    score, strip: the log-odds of the candidate and of its strip. label: of a row of a table, how much of its label the
    question says. figures: the share of the question's figures that it has. kind: 1 for a number or a name where one is
    asked for, -1 without. covered: how much of the question it says with its heading, by rarity. read: the log-odds of
    the words that answer, if they are in it.
    """
    text, heading = unit.text, _heading_of(source)
    labels = [significant_stems(label) for label in labels_of(unit, source)]
    asked = frozenset(map(stem, words(question))) if labels else frozenset[str]()
    read = NOT_READ if found is None else ELSEWHERE
    if found and unit.holds(found.strip.source_id, found.start, found.start):
        read = _log_odds(found.confidence)
    return {
        "score": _log_odds(unit.rank),
        "strip": _log_odds(unit.rank if unit.strip.score is None else unit.strip.score),
        "label": max((len(label & asked) / len(label) for label in labels if label), default=0.0),
        "figures": share_figures(question, text),
        "kind": fits_kind(question, text),
        "covered": load_head()[1].coverage(question, text, heading),
        "read": read,
    }


def _log_odds(chance: float) -> float:
    return clip(log_odds(chance), ODDS)


def _heading_of(source: Chunk | WebPage | None) -> str:
    """What a source's text stands under: the names of its document and section."""
    if not isinstance(source, Chunk):
        return source.title if source else ""
    first = source.text.partition("\n")[0]
    name = source.source.rpartition(".")[0].replace("_", " ")
    return " ".join([name, source.title, source.context, "" if is_statement(first) else first])


def labels_of(unit: Unit, source: Chunk | WebPage | None) -> list[str]:
    """The labels of the rows with values that a unit holds, or a part of."""
    tables = source.tables if isinstance(source, Chunk) else ()
    rows = [row for table in tables for row in table.rows if row.cells]
    text = source.text if source else ""
    return [text[row.start : row.label] for row in rows if row.start < unit.last and unit.first < row.end]


def rows_named(question: str, unit: Unit, sources: Mapping[str, Chunk | WebPage]) -> list[Unit]:
    """The rows of a unit's table, in all chunks of its document, that have most of what the question names of cells.

    "Which trips does Ana Reyes lead?" is answered by each of hers; those of a chunk are parts of one strip. None where
    the unit is not just one row with such a cell, or where the question names that row itself.
    """
    chunks = [source for source in sources.values() if isinstance(source, Chunk)]
    rows = [(chunk, table, row) for chunk in chunks for table in chunk.tables for row in table.rows if row.cells]
    inside = [each for each in rows if unit.holds(each[0].id, each[2].start, each[2].end)]
    if len(inside) != 1:
        return []
    [(source, own, row)] = inside
    asked = significant_stems(question[:MAX_QUESTION])
    if significant_stems(source.text[row.start : row.label]) <= asked or not _named_cells(source, row, asked):
        return []
    alike: dict[int, dict[str, list[Row]]] = {}
    for chunk, table, each in rows:
        if chunk.document_id == source.document_id and table.header == own.header:
            alike.setdefault(_named_cells(chunk, each, asked), {}).setdefault(chunk.id, []).append(each)
    found = []
    for id, named in alike[max(alike)].items():
        start, end, held = named[0].start, named[-1].end, unit.strip
        strip = make_strip(id, sources[id].text, held.origin, start, end, held.score, kept=False)
        found += [replace(unit, strip=strip, start=each.start - start, end=each.end - start) for each in named]
    return found


def _named_cells(chunk: Chunk, row: Row, asked: frozenset[str]) -> int:
    """How many cells of a row the question names whole."""
    return sum((significant_stems(chunk.text[cell.start : cell.end]) or {""}) <= asked for cell in row.cells)


def cut_to_part(question: str, unit: Unit) -> Unit:
    """The one line of a unit whose label the question says whole, where all its lines are items of a list or rows.

    A line with a bullet over one without is no item beside it, but what that one is about.
    """
    lines = [(start, end, _label_of(unit.text[start:end])) for start, end in lines_of(unit.text)]
    bullets = {ITEM.match(unit.text, start) is not None for start, *_ in lines}
    if len(lines) < 2 or len(bullets) > 1 or not all(_ITEM.match(unit.text, start, end) for start, end, _ in lines):
        return unit
    asked = frozenset(map(stem, words(question[:MAX_QUESTION])))
    longest = max((len(label) for _, _, label in lines if label <= asked), default=0)
    named = [(start, end) for start, end, label in lines if longest and len(label) == longest and label <= asked]
    return unit.cut(unit.first + named[0][0], unit.first + named[0][1]) if len(named) == 1 else unit


def _label_of(line: str) -> frozenset[str]:
    """The stems of the words before a line's colon; of one without a colon, of all but its figures."""
    label, colon, value = line.partition(":")
    said = significant_stems(label if colon and value.strip() else line)
    return frozenset(word for word in said if not any(map(str.isdigit, word)))


def choose_units(units: list[Unit], limit: int, first: Unit | None = None) -> list[Unit]:
    """The best units, none saying again what a better one says; `first` among them."""
    chosen, least = [first] if first else [], BESIDE_BEST * max((unit.rank for unit in units), default=0.0)
    for unit in sorted(units, key=best_first):
        if len(chosen) < limit and unit.rank >= least and _likeness(unit, chosen) < REDUNDANT:
            chosen.append(unit)
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
