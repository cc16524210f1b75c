"""Whether what an answer says stands in what it cites, or, where it cites nothing, in anything its writer was shown."""

from __future__ import annotations

import contextvars
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal

from crag.core.protocols import RetrievalEvaluator
from crag.core.settings import Settings
from crag.core.types import Answer, Chunk, Judgement, SentenceCheck, Strip, Verification
from crag.evaluation.refinement import make_strip
from crag.generation.citations import literal, numbers_in, replace_marks, split_cited_sentences
from crag.generation.judges import Judges, Texts, decisive, has_subject, model_judgement, share_of_words
from crag.generation.lists import LABELLED, VALUED, list_end
from crag.generation.places import Place, Sources, group_strips, place_key

_SPAN = re.compile(r"(\d{1,9})-(\d{1,9})")
"""Ends the id of a strip: where it stands in its source."""
_LEAD_IN_WORDS = 14
"""A longer line that ends with a colon may say something itself."""

_HEADING = re.compile(r"#{1,6}\s|(?P<bold>\*\*|__)[^*_]{1,80}(?P=bold)[:.]?$")
_SAYS = (
    r"(?:say|state|mention|tell|specify|provide|give|contain|include|answer|address|cover|describe|explain|indicate)"
)
_TEXTS = (
    r"(?:(?:provided|given|available|above|cited|retrieved)\s+)?(?:sources?|passages?|texts?|documents?|excerpts?|"
    r"context|evidence|information|materials?)(?:\s+(?:provided|given|available|above|shown|cited))?"
)
_NOT = r"(?:do(?:es)?\s+not|do(?:es)?n['’]t|did\s+not|didn['’]t|never)"
_SILENT = re.compile(
    rf"(?:(?:unfortunately|sorry|however|but),?\s+)?(?:"
    rf"(?:(?:the|these|those|your|my|none\s+of\s+the)\s+)?{_TEXTS}\s+(?:{_NOT}\s+(?:\w+ly\s+)?)?{_SAYS}s?\b"
    rf"|there\s+(?:is|are|was|were)\s+no\s+(?:(?:further|other|more|specific|direct|explicit)\s+)?"
    rf"(?:information|mention|answer|data|details?|evidence|sources?|passages?)\b"
    rf"|no\s+(?:further\s+|other\s+|specific\s+)?(?:information|sources?|passages?|details?)\s+(?:is|are|was|were|{_SAYS}s?)\b"
    rf"|(?:this|that|it)\s+is\s+(?:not|n['’]t)\s+(?:\w+ly\s+)?(?:stated|mentioned|said|specified|given|covered|provided)\b"
    rf"|i\s+(?:can\s*not|can['’]t|could\s+not|couldn['’]t|do\s+not|don['’]t|am\s+(?:unable|not\s+able)\s+to)\s+"
    rf"(?:find|know|answer|tell|see|determine|say|have)\b)",
    re.IGNORECASE,
)
_DENIES = re.compile(rf"\b{_NOT}\b|\bno(?:ne)?\b|\bnot\b|n['’]t\b|\bcan\s*not\b|\bunable\b", re.IGNORECASE)
_BUT = re.compile(
    r"(?:[;:–—]|\s-)\s|,\s(?:and|it|they|he|she|so|the)\b|"
    r"\b(?:but|however|although|though|while|whereas|except|because|since|instead|only|and\s+(?:it|they|he|she|the))\b",
    re.IGNORECASE,
)
"""What may bring a second statement, which is one of the subject."""
_MANNERS = re.compile(
    r"(?:hello|hi|hey|dear\s+\w+|greetings|good\s+(?:morning|afternoon|evening)|sure|certainly|of\s+course|absolutely|"
    r"thanks?(?:\s+you)?(?:\s+for\s+(?:your|the)\s+question)?|you['’]?(?:re|\s+are)\s+welcome|great\s+question|sorry|"
    r"(?:i\s+)?hope\s+(?:this|that|it)\s+helps?|(?:please\s+)?let\s+me\s+know\s+if\s+.{0,60}|"
    r"(?:please\s+)?feel\s+free\s+to\s+ask.{0,40}|(?:i['’]?m|i\s+am)\s+(?:happy|glad)\s+to\s+help)(?:\s+there)?[\s.!,]*$",
    re.IGNORECASE,
)


def claims(sentence: str) -> bool:
    """Whether a sentence says something of what was asked about: one that does needs a source.

    A greeting, a question, a heading, a line that leads in what follows, and that the sources do not say something
    claim nothing. What says more beside that, as with "but", claims it.
    """
    bare = sentence.strip(" \t\"'“”‘’()*-•–")
    if not any(letter.isalnum() for letter in bare) or bare.endswith("?"):
        return False
    if _HEADING.match(sentence.strip()) or _MANNERS.match(bare):
        return False
    if sentence.rstrip(" *_").endswith(":"):
        return len(bare.split()) > _LEAD_IN_WORDS or any(letter.isdigit() for letter in bare)
    return not _silent(bare)


def _silent(sentence: str) -> bool:
    """Whether all that is said is that the sources do not say something."""
    silent = _SILENT.match(sentence)
    if silent is None or not _DENIES.search(sentence[: silent.end() + 1]):
        return False
    return _BUT.search(sentence, silent.end()) is None


AT_ONCE = 8
"""Sentences that are checked side by side where a check is a call."""
NEAREST = 8
"""So many strips, those that share most words with a sentence, are read for it."""
LEAST_SHARED = 0.25
"""A strip that holds fewer of a sentence's content words is no source of it, whatever is read there."""
FOUND_FROM = 0.6
"""The mean score from which a strip that is not cited becomes a sentence's source: higher than for one that is, since
the best of several is taken."""
MOST_MARKS = 2
"""Citation marks that a sentence keeps."""


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of the answer, the numbers that it cites, and the strips of their places that are nearest to it.

    `model`: what a model says of these.
    """

    text: str
    numbers: tuple[int, ...]
    cited: tuple[Strip, ...]
    model: Judgement | None = None


class CitationVerifier:
    """Checks an answer against the strips it may rest on, never against what it says of itself.

    Several judges speak of a sentence: its words, its figures, the `evaluator`, and a `model` where one is set, whose
    calls are no more than there are sentences that cite.
    """

    def __init__(
        self,
        evaluator: RetrievalEvaluator,
        model: RetrievalEvaluator | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """`check` is called before each sentence: it raises CancelledError once the person has pressed Stop."""
        self._evaluator, self._model, self._check = evaluator, model, check

    def verify(
        self,
        answer: Answer,
        knowledge: Sequence[Strip],
        sources: Sources,
        settings: Settings,
    ) -> Verification:
        """One check a sentence, in order, and the answer with the marks that hold.

        A sentence is held against each strip of the places that it cites, then against two of them together, then in
        the same way against what a writer is shown of `knowledge` under these settings. At most two marks of those that
        support it stay. `supported` is None for what claims nothing, and where nobody could tell. Quotes keep their
        marks. What a look-up or a list reached may be cited, too.
        """
        knowledge = [*knowledge, *_reached(answer, {strip.id for strip in knowledge}, sources)]
        shown = [strip for place in group_strips(knowledge, sources, settings.answer_context) for strip in place.strips]
        marking = _Marking(answer, Judges(self._evaluator, knowledge, sources), knowledge, shown, sources)
        sentences = self._asked([marking.read(*each) for each in split_cited_sentences(answer.text)])
        checks = []
        for each in sentences:
            self._check()
            checks.append(marking.check(each))
        return Verification(checks=tuple(checks), answer=answer if answer.quoted else marking.marked(checks))

    def _asked(self, sentences: Sequence[_Sentence]) -> list[_Sentence]:
        """The sentences with what the model says of those that cite: side by side, where each is a call."""
        model = self._model
        if model is None:
            return [*sentences]

        def ask(each: _Sentence) -> _Sentence:
            if not each.cited or _exact(each.text, each.cited) or not claims(each.text):
                return each
            return replace(each, model=model_judgement(model, each.text, _texts(each.cited)))

        with ThreadPoolExecutor(AT_ONCE if model.calls_models else 1, "check") as threads:
            made = [threads.submit(contextvars.copy_context().run, ask, each) for each in sentences]
            return [each.result() for each in made]


def faithfulness(checks: Sequence[SentenceCheck]) -> float | None:
    """The supported share of the sentences that could be checked, 0..1; None where none could.

    A sentence that nothing shown supports counts as one that is not.
    """
    checkable = [check.supported for check in checks if check.supported is not None]
    return sum(checkable) / len(checkable) if checkable else None


class _Marking:
    """Finds the strips that support each sentence of one answer, and leaves the marks and citations of these."""

    def __init__(
        self, answer: Answer, judges: Judges, knowledge: Sequence[Strip], shown: Sequence[Strip], sources: Sources
    ) -> None:
        self._answer, self._judges, self._shown, self._sources = answer, judges, shown, sources
        self._places: dict[object, list[Strip]] = {}
        for strip in knowledge:
            self._places.setdefault(place_key(strip, sources), []).append(strip)
        keys = {strip.id: place_key(strip, sources) for strip in knowledge}
        self._known = {each.number: keys[each.strip_id] for each in answer.citations if each.strip_id in keys}
        self._new: dict[object, int] = {}
        self._rests: dict[int, list[Strip]] = {}

    def read(self, text: str, numbers: tuple[int, ...]) -> _Sentence:
        """The sentence with the strips of the places that its numbers stand for."""
        keys = dict.fromkeys(self._known[number] for number in numbers if number in self._known)
        return _Sentence(text, numbers, tuple(_nearest(text, [each for key in keys for each in self._places[key]])))

    def check(self, sentence: _Sentence) -> SentenceCheck:
        """The check of a sentence, with the marks that it keeps."""
        text, numbers = sentence.text, sentence.numbers
        if self._answer.abstained or not (claims(text) or _exact(text, sentence.cited)):
            return SentenceCheck(sentence=text, citations=numbers, supported=None)
        check, strips = self._hold(text, sentence.cited, model=sentence.model)
        found = False
        if check.supported is False and not self._answer.quoted:
            near = _nearest(text, self._shown, LEAST_SHARED) if has_subject(text) else []
            other, elsewhere = self._hold(text, near, FOUND_FROM)
            found = bool(elsewhere)
            if found or not numbers:
                check, strips = other, elsewhere
        invented = tuple(number for number in numbers if number not in self._known)
        if self._answer.quoted:
            kept = numbers
        elif strips:
            kept = tuple(dict.fromkeys(self._number(strip, numbers) for strip in strips))[:MOST_MARKS]
            for strip in strips:
                self._rests.setdefault(self._number(strip, numbers), []).append(strip)
        else:
            kept = tuple(sorted(numbers, key=lambda number: number in invented)[:MOST_MARKS])
        if check.supported is False and not sentence.cited:
            check = replace(check, note="invented" if numbers else "nothing shown")
        dropped = tuple(number for number in numbers if number not in kept)
        return replace(check, citations=kept, attributed=found, dropped=dropped, invented=invented)

    def marked(self, checks: Sequence[SentenceCheck]) -> Answer:
        """The answer with the marks of its checks, and with citations of what supports it."""
        answer, text = self._answer, replace_marks(self._answer.text, checks)
        cells = {each.citation for each in (*answer.differing, answer.contradicts, *answer.places) if each}
        places = {number: Place(tuple(dict.fromkeys(strips)), self._sources) for number, strips in self._rests.items()}
        citations = [
            places[each.number].cite(each.number) if each.number in places.keys() - cells else each
            for each in answer.citations
            if each.number in {*numbers_in(text), *cells}
        ]
        citations += [replace(places[number].cite(number), found=True) for number in self._new.values()]
        return replace(answer, text=text, citations=tuple(citations))

    def _hold(
        self, text: str, strips: Sequence[Strip], least: float = 0.0, model: Judgement | None = None
    ) -> tuple[SentenceCheck, list[Strip]]:
        """The check of a sentence, and the strips that support it, each alone or two together, with at least a score.

        Two count together only where the first has every number and date of the sentence: else any two of a page
        would say together what neither says.
        """
        strips = _exact(text, strips) or strips
        if not strips:
            return SentenceCheck(sentence=text, citations=(), supported=False), []
        checks = zip(self._judges.checks(text, [_texts([each]) for each in strips], model), strips, strict=True)
        ranked = sorted(checks, key=lambda each: _order(each[0]))
        if alone := [(check, strip) for check, strip in ranked if _enough(check, least)]:
            return alone[0][0], [strip for _, strip in (alone[:1] if least else alone)]
        first = next((strip for check, strip in ranked if not decisive(check.figures)), None)
        if first and (other := _completing(text, first, strips)):
            (both,) = self._judges.checks(text, [_texts([first, other])], model)
            if _enough(both, least):
                return both, [first, other]
        best = ranked[0][0]
        if best.supported is None:
            return best, []
        figures = self._judges.figures(text, _texts(strips))
        note: Literal["figures", "scored"] = "figures" if decisive(figures) else "scored"
        return replace(best, supported=False, note=note, figures=figures), []

    def _number(self, strip: Strip, numbers: Sequence[int]) -> int:
        """The number of a strip's place: one of `numbers`, or another of the answer; else the next that is free."""
        key = place_key(strip, self._sources)
        known = [number for number, each in self._known.items() if each == key]
        for number in [*(each for each in known if each in numbers), *known]:
            return number
        if key not in self._new:
            taken = {*numbers_in(self._answer.text), *self._known, *self._new.values()}
            number = max(self._known, default=0) + 1
            while number in taken:
                number += 1
            self._new[key] = number
        return self._new[key]


def _texts(strips: Iterable[Strip]) -> Texts:
    return {strip.id: strip.text for strip in strips}


def _exact(sentence: str, strips: Sequence[Strip]) -> list[Strip]:
    """The strips that have the sentence word for word."""
    return [strip for strip in strips if literal(sentence, strip.text)]


def _nearest(sentence: str, strips: Sequence[Strip], least: float = 0.0) -> list[Strip]:
    """The strips that may say it, those that share most of its words first; at least the share `least` of them."""
    shares = [(share_of_words(sentence, strip.text), strip) for strip in strips]
    return [strip for share, strip in sorted(shares, key=lambda each: -each[0])[:NEAREST] if share >= least]


def _enough(check: SentenceCheck, least: float) -> bool:
    """Whether what a check is of is the sentence's source: surely enough, or since it is there but for the order."""
    worded = any(each.judge == "words" and each.supported for each in check.judgements)
    return check.supported is True and (worded or (check.score or 0.0) >= least)


def _order(check: SentenceCheck) -> tuple[int, float]:
    """Those that support come first, then those that nobody could tell of; by score."""
    return {True: 0, None: 1, False: 2}[check.supported], -(check.score or 0.0)


def _completing(sentence: str, first: Strip, strips: Sequence[Strip]) -> Strip | None:
    """The strip that says most of what `first` leaves out; None where none adds a word."""
    share = {strip.id: share_of_words(sentence, f"{first.text}\n{strip.text}") for strip in strips}
    other = max(strips, key=lambda strip: share[strip.id])
    return other if share[other.id] > share[first.id] else None


def _reached(answer: Answer, known: Collection[str], sources: Sources) -> Iterator[Strip]:
    """What is cited beside the `known` strips because a look-up or a list reached it: a row, a line, a whole list."""
    for citation in answer.citations:
        source = sources.get(citation.source_id)
        span = _SPAN.fullmatch(citation.strip_id.removeprefix(f"{citation.source_id}:"))
        if citation.strip_id in known or source is None or span is None:
            continue
        start, end = int(span[1]), int(span[2])
        rows = (row for table in source.tables for row in table.rows) if isinstance(source, Chunk) else ()
        if (
            any((row.start, row.end) == (start, end) for row in rows)
            or any(form.fullmatch(source.text[start:end]) for form in (LABELLED, VALUED))
            or list_end(source.text, start, end) == end
        ):
            yield make_strip(source.id, source.text, citation.origin, start, end, None, kept=False)
