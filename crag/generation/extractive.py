"""An answer without a language model: the best sentences of the knowledge, quoted word for word and cited."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from crag.core.protocols import AnswerGrader, AnswerReader, RetrievalEvaluator
from crag.core.settings import Settings
from crag.core.types import UNMET, Answer, Calculation, Chunk, Citation, Passage, QuotedAnswer, Strip, WebPage
from crag.evaluation.heads import YEAR
from crag.generation.arithmetic import Worked, asks_arithmetic, read_arithmetic, work_out
from crag.generation.candidates import (
    Unit,
    best_first,
    choose_units,
    cut_to_part,
    extend_lists,
    labels_of,
    order_units,
    quotable_spans,
    rows_named,
    weigh_candidates,
)
from crag.generation.cells import FoundCell, Lookup, has_cell, look_up
from crag.generation.citations import abstention, build_citation, quotable, usable_of, with_mark
from crag.generation.conversation.brackets import own_words
from crag.generation.ground import with_differing
from crag.generation.opposites import says_opposite
from crag.generation.short import Found, find_words, part_of, short_answer, titled_text
from crag.generation.subjects import Subjects, subjects_of
from crag.text.numerals import numbers_in
from crag.text.words import significant_stems, words

MAX_QUOTE = 500
"""A sentence longer than this is cut at a word."""
MAX_GRADED = 200
"""Sentences of unscored strips that are scored by the evaluator; the rest only by shared words."""
TIE = 0.1
"""The most that words shared with the question add to a score."""
MOST_VALUES = 3
"""Rows with different values that are an answer; more of them say that the question is too open."""
LOOKED_UP = 0.9
"""How likely a cell that was looked up is the right one: benchmarks.lookups measures that."""
WORKED_OUT = 0.9
"""How likely a result that was worked out from cells is the right one, by questions of annual reports."""


_Ground = Literal["firm", "weak", "none"]
"""Whether the best score reaches the upper threshold, less than that, or not even the least score of an answer."""


class ExtractiveGenerator:
    """Quotes; never paraphrases.

    With an `evaluator`, unscored strips are quoted by their best-scored sentences. With a `reader`, the words that
    answer come first. With a `grader`, the answer has a confidence.
    """

    by = "extractive"

    def __init__(
        self,
        evaluator: RetrievalEvaluator | None = None,
        reader: AnswerReader | None = None,
        grader: AnswerGrader | None = None,
    ) -> None:
        self._evaluator, self._reader, self._grader = evaluator, reader, grader

    def answer(
        self, question: str, knowledge: Sequence[Strip], sources: dict[str, Chunk | WebPage], settings: Settings
    ) -> Iterator[str | Answer]:
        """The Answer, whole.

        At most `answer_sentences` sentences, one citation number a strip. Abstains where there is no knowledge,
        or its best score is under `min_answer_score`. Of knowledge that was never scored (whole chunks) the sentences'
        scores stand in for it; plain RAG, whose floor is 0, quotes the best of them all the same. Such an answer is
        flagged as of low confidence, and so is one whose best strip is under the upper threshold.

        A kept source is not quoted where another one names something of the question that it does not. Where nothing
        found names it, the answer says so; it abstains unless a strip reaches the upper threshold.

        Where the question asks for a cell of a table and the knowledge has it, its row is the answer, whatever its
        strips scored; with `lookup_reach` also where no strip was kept, of low confidence. Where it asks for a figure
        and no cell is the one, no other cell stands for it; where no row has the period, the answer is of low
        confidence; where a form leaves the field empty, there is none. Where up to three rows fit equally and differ,
        they are the answer with `lookup_reach`.

        What is less likely right than `min_answer_confidence` is not answered.
        """
        usable, best = usable_of(knowledge)
        if (not usable or _is_below(best, settings)) and not _can_reach(question, usable, sources, settings):
            yield abstention(sources, self.by)
            return
        subjects = subjects_of(question, {strip.source_id for strip in usable}, sources)
        usable, best = usable_of([strip for strip in usable if strip.source_id not in subjects.foreign])
        sure = best is not None and best >= settings.upper
        if subjects.unnamed and settings.min_answer_score and not sure:
            yield abstention(sources, self.by, unnamed=subjects.unnamed)
            return
        units, graded = self._units(question, usable, settings.min_answer_score)
        best = graded if best is None else best
        ground: _Ground = "none" if _is_below(best, settings) else "firm" if sure else "weak"
        yield self._quoted(question, units, sources, settings, subjects, ground)

    def _quoted(
        self,
        question: str,
        units: list[Unit],
        sources: dict[str, Chunk | WebPage],
        settings: Settings,
        subjects: Subjects,
        ground: _Ground,
    ) -> Answer:
        units = extend_lists(units, sources)
        if subjects.unnamed and units:  # whatever it is about, it is one subject
            best = min(units, key=best_first)
            units = [unit for unit in units if unit.strip.source_id == best.strip.source_id]
        lookup = None if subjects.unnamed else look_up(question, sources)
        if lookup and lookup.outcome == "empty":
            (field,) = lookup.cells
            reason = f"“{field.row}” is empty on {field.chunk.where or 'a page'} of {field.chunk.source}."
            return replace(abstention(sources, self.by, reason), lookup=lookup.outcome)
        row = _row_of(lookup.found, units, settings, subjects) if lookup else None
        if row is None and (ground == "none" or not units):
            return abstention(sources, self.by)
        surest, first = row if row else (None, None)
        several, named = list[Unit](), list[Unit]()
        if lookup and settings.lookup_reach and lookup.outcome == "several" and len(lookup.cells) <= MOST_VALUES:
            several = [unit for _, unit in _dropped_rows(lookup.cells, subjects)]
        unsettled = row is None and not several and not subjects.unnamed
        if unsettled:
            worked = work_out(question, {id: source for id, source in sources.items() if id not in subjects.foreign})
            if worked and (answer := _worked_answer(worked, units, sources, settings, subjects)):
                return answer
        asked = own_words(question)
        # Beside the row that was looked up, other rows would say something else.
        chosen = [first] if first else several
        if not chosen:
            places = [(unit.strip, unit.start, unit.end) for unit in sorted(units, key=best_first)]
            found = find_words(asked, places, sources, self._reader) if self._reader else []
            ranked = weigh_candidates(asked, units, sources, found)
            if unsettled:
                first = cut_to_part(asked, ranked[0])
                if named := rows_named(asked, first, sources):
                    first = named[0]
                surest = next((each for each in found if first.holds(each.strip.source_id, each.start, each.end)), None)
                if surest and (lookup and _stands_for_cell(surest, lookup, sources)):
                    surest = None
                if surest and _stands_for_result(question, surest, sources):
                    surest = None
            chosen = named or order_units(choose_units(ranked, settings.answer_sentences, first), first)
        shown = None
        if surest and first and len(named) < 2 and _is_shown(surest, first, settings):
            shown = replace(surest, strip=first.strip)
        if subjects.unnamed and settings.min_answer_score and _is_of_another_name(question, chosen[0], sources):
            return abstention(sources, self.by, unnamed=subjects.unnamed)
        opposite = not row and says_opposite(asked, chosen[0].text)
        outcome = "opposite" if opposite else lookup.outcome if lookup else ""
        low = ground != "firm" or bool(subjects.unnamed) or outcome in UNMET
        whole = _compose_answer(chosen, sources, shown, low=low, by=self.by)
        whole = replace(whole, unnamed=subjects.unnamed, lookup=outcome)
        confidence = LOOKED_UP if row else self._confidence(asked, chosen[0], sources, surest)
        if confidence is not None and confidence < settings.min_answer_confidence:
            return abstention(sources, self.by, confidence=confidence)
        return with_differing(replace(whole, confidence=confidence), lookup, subjects.foreign)

    def _confidence(
        self, question: str, quoted: Unit, sources: Mapping[str, Chunk | WebPage], found: Found | None
    ) -> float | None:
        """How likely it is right that a unit answers. `found`: the words in it that answer."""
        source = sources.get(quoted.strip.source_id)
        if self._grader is None or source is None:
            return None
        facts = {**quoted.facts, "formula": float(read_arithmetic(question) is not None)}
        text, _ = titled_text(source, part_of(quoted.strip, source))
        answer = QuotedAnswer(text=text, confidence=found.confidence if found else None, facts=facts)
        return self._grader.grade_answer(question, answer)

    def _units(self, question: str, strips: Sequence[Strip], floor: float) -> tuple[list[Unit], float | None]:
        """All that may be quoted, short strips whole, long ones by sentence; and the best score a sentence was given.

        The score is None where no sentence was scored.
        """
        asked = frozenset(words(question))
        units: list[Unit] = []
        for strip in strips:
            # A failed score is no zero: such a strip stands at the floor, behind all that passed it.
            base = floor if strip.score is None else strip.score
            for start, end in quotable_spans(strip.text):
                inside = frozenset(words(strip.text[start:end]))
                # Shared words only order what the scores leave equal: sentences of one strip, unscored strips.
                shared = len(inside & asked) / (1.0 + math.log1p(len(inside)))
                tie = TIE * shared / (1.0 + shared)
                units.append(Unit(strip, start, end, base, tie, len(units), inside))
        return self._graded(question, units)

    def _graded(self, question: str, units: list[Unit]) -> tuple[list[Unit], float | None]:
        """Sentences of unscored strips ranked by the evaluator's score, where there is one; and the best."""
        parts = sorted((unit for unit in units if unit.strip.score is None), key=best_first)[:MAX_GRADED]
        if self._evaluator is None or not parts:
            return units, None
        passages = [Passage(id=str(unit.place), text=unit.text) for unit in parts]
        grades = self._evaluator.grade(question, passages)
        given = {int(grade.passage_id): grade.score for grade in grades if grade.score is not None}
        ranked = [
            replace(unit, rank=given[unit.place], tie=unit.tie / 10) if unit.place in given else unit for unit in units
        ]
        return ranked, max(given.values(), default=None)


def _is_shown(found: Found, unit: Unit, settings: Settings) -> bool:
    """Whether the words that answer are sure enough to be shown, and no figure beside others like it.

    Of "$6,350 for one and $12,700 for a family" the sentence says which is which.
    """
    if settings.short_answer >= 1 or found.confidence < settings.short_answer:
        return False
    numbers = [each for each in numbers_in(unit.text) if each.values and not YEAR.fullmatch(each.text)]
    own = [each for each in numbers if each.start < found.end - unit.first and found.start - unit.first < each.end]
    return bool(found.row) or len(own) != 1 or sum(each.unit == own[0].unit for each in numbers) == 1


def _is_of_another_name(question: str, unit: Unit, sources: Mapping[str, Chunk | WebPage]) -> bool:
    """Whether a unit is rows of a table of which not one has a word of the question in its label."""
    asked, labels = significant_stems(question), labels_of(unit, sources.get(unit.strip.source_id))
    return bool(labels) and not any(asked & significant_stems(label) for label in labels)


def _can_reach(
    question: str, usable: Sequence[Strip], sources: Mapping[str, Chunk | WebPage], settings: Settings
) -> bool:
    """Whether a table has the cell that is asked for; where no strip was kept, only if rows may be reached."""
    return bool(usable or settings.lookup_reach) and has_cell(question, sources)


def _is_below(best: float | None, settings: Settings) -> bool:
    return best is not None and best < settings.min_answer_score


def _row_of(
    cells: Sequence[FoundCell], units: Sequence[Unit], settings: Settings, subjects: Subjects
) -> tuple[Found, Unit] | None:
    """The row of the first of the cells that a strip has whole, as a unit of it; else, with `lookup_reach`, alone."""
    for cell in cells:
        for unit in units:
            strip = unit.strip
            if cell.in_strip(strip):
                start, end = cell.row_start - strip.start, cell.row_end - strip.start
                found = _found_cell(strip, cell)
                return found, replace(unit, start=start, end=end, words=frozenset(words(strip.text[start:end])))
    return next(_dropped_rows(cells, subjects), None) if settings.lookup_reach else None


def _dropped_rows(cells: Sequence[FoundCell], subjects: Subjects) -> Iterator[tuple[Found, Unit]]:
    """The rows of the cells, each as a strip of its own: of chunks whose strips with them were not kept."""
    for cell in cells:
        if cell.chunk.id not in subjects.foreign:
            strip = cell.row_strip
            unit = Unit(strip, 0, len(strip.text), 0.0, 0.0, -1, frozenset(words(strip.text)))
            yield _found_cell(strip, cell), unit


def _stands_for_cell(found: Found, lookup: Lookup, sources: Mapping[str, Chunk | WebPage]) -> bool:
    """Whether words stand for a cell that the look-up did not take, a percentage for an amount, or the reverse."""
    if lookup.wanted.firm and found.row:
        return True
    said = sources[found.strip.source_id].text[found.start : found.end]
    share = "%" in said or "percent" in said.casefold()
    return lookup.wanted.measure == ("amount" if share else "percent")


def _stands_for_result(question: str, found: Found, sources: Mapping[str, Chunk | WebPage]) -> bool:
    """Whether words are a number, or a cell, that stands for a result which was not worked out."""
    said = sources[found.strip.source_id].text[found.start : found.end]
    if read_arithmetic(question):
        return any(map(str.isdigit, said))
    return bool(found.row) and asks_arithmetic(question) and not asks_arithmetic(f"{found.row} {found.column}")


def _worked_answer(
    worked: Worked, units: Sequence[Unit], sources: dict[str, Chunk | WebPage], settings: Settings, subjects: Subjects
) -> Answer | None:
    """The rows that a result rests on, quoted, with the result; None where one can't be cited."""
    rows: list[tuple[Found, Unit]] = []
    for cell in worked.cells:
        row = _row_of([cell], units, settings, subjects)
        if row is None:
            return None
        rows.append(row)
    chosen = {(unit.strip.id, unit.start): unit for _, unit in rows}
    whole = _compose_answer(list(chosen.values()), sources, None, low=False, by=ExtractiveGenerator.by)
    numbers = {each.strip_id: each.number for each in whole.citations}
    cells = tuple(short_answer(found, numbers[found.strip.id], sources) for found, _ in rows)
    made = Calculation(
        kind=worked.kind,
        cells=cells,
        values=worked.values,
        formula=worked.formula,
        value=worked.value,
        result=worked.result,
    )
    return replace(whole, calculation=made, confidence=WORKED_OUT)


def _found_cell(strip: Strip, cell: FoundCell) -> Found:
    return Found(strip, cell.start, cell.end, LOOKED_UP, cell.row, cell.column, cell.scale)


def _compose_answer(
    units: list[Unit], sources: dict[str, Chunk | WebPage], found: Found | None, *, low: bool, by: str
) -> Answer:
    """The text with its marks, and one citation a strip that spans all that is quoted of it."""
    spans: dict[str, tuple[int, int]] = {}
    numbers: dict[str, int] = {}
    strips: dict[str, Strip] = {}
    text = ""
    for place, unit in enumerate(units):
        key = unit.strip.id
        number = numbers.setdefault(key, len(numbers) + 1)
        start, end = spans.get(key, (unit.start, unit.end))
        spans[key], strips[key] = (min(start, unit.start), max(end, unit.end)), unit.strip
        quote = _cut_quote(quotable(unit.text))
        if place:
            # Behind a mark without a stop and before a lower-case beginning, only a break keeps two quotes apart.
            beside = units[place - 1].strip.source_id == unit.strip.source_id and not quote[0].islower()
            beside = beside and not text.endswith("]")
            text += " " if beside else "\n\n"
        text += with_mark(quote, number)
    citations: list[Citation] = [
        build_citation(number, strips[key], sources.get(strips[key].source_id), *spans[key])
        for key, number in numbers.items()
    ]
    short = short_answer(found, numbers[found.strip.id], sources) if found else None
    return Answer(text=text, by=by, citations=tuple(citations), doubts=("weak",) if low else (), short=short)


def _cut_quote(text: str) -> str:
    """The text, cut at a word if it is over-long."""
    if len(text) <= MAX_QUOTE:
        return text
    head, space, _ = text[:MAX_QUOTE].rpartition(" ")
    return (head if space else text[:MAX_QUOTE]) + " …"
