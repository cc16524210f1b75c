"""Whether what an answer says stands in what it cites, or, where it cites nothing, in anything its writer was shown."""

from __future__ import annotations

import contextvars
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Literal

from crag.core.protocols import RetrievalEvaluator
from crag.core.settings import Settings
from crag.core.types import Answer, Judgement, SentenceCheck, Strip, Verification
from crag.evaluation.refinement import make_strip
from crag.generation.citations import MARK, literal, numbers_in, read_marks, replace_marks, split_cited_sentences
from crag.generation.judges import Judges, decisive, has_subject, model_judgement, share_of_words
from crag.generation.places import Place, Sources, group_strips, place_key
from crag.text.guard import injection_within
from crag.text.sentences import sentences

_SPAN = re.compile(r"(\d{1,9})-(\d{1,9})")
"""Ends the id of a strip: where it stands in its source."""
_LEAD_IN_WORDS = 14
"""A longer line that ends with a colon may say something itself."""

_MARKUP = " \t\"'“”‘’()*_`#>|-•–"
_HEADING = re.compile(r"\s*#{1,6}\s")
_HEADER_ROW = re.compile(r"^(?=[^\n]*\|)([^\n]*+)\n[^\S\n]*+\|?[^\S\n]*+:?-{2,}+[-:| \t]*+$", re.MULTILINE)
""""| Year | Fee |", over a line of dashes."""
_ASKS = re.compile(r"(?:(?:so|and|but),?\s)?(?:wh\w+|how|is|are|was|were|do|does|did|can|could|would|should)\b", re.I)
_NO_ANSWER = re.compile(r"\W*+(?:NO ANSWER\b|(?i:no answer)(?=[^\S\n]*(?:[^\w\s]|\n|$)))")
_SAYS = r"(?:say|state|mention|tell|specify|provide|give|contain|include|answer|address|cover|describe|explain)"
_TEXTS = (
    r"(?:(?:provided|given|available|above|cited|retrieved)\s+)?(?:sources?|passages?|texts?|documents?|excerpts?|"
    r"context|evidence|information|materials?)(?:\s+(?:provided|given|available|above|shown|cited))?"
)
_NOT = r"(?:do(?:es)?\s+not|do(?:es)?n['’]t|did\s+not|didn['’]t|never)"
_SILENT = re.compile(
    rf"(?i)(?:(?:unfortunately|(?:i['’]?m\s+|i\s+am\s+)?sorry|however|but),?\s+){{0,3}}(?:"
    rf"(?:(?:the|these|those|your|my|none\s+of\s+the)\s+)?{_TEXTS}\s+(?:{_NOT}\s+(?:\w+ly\s+)?)?{_SAYS}s?\b"
    rf"|there\s+(?:is|are|was|were)\s+no\s+(?:(?:further|other|more|specific|direct|explicit)\s+)?"
    rf"(?:information|mention|answer|data|details?|evidence|sources?|passages?)\b"
    rf"|no\s+(?:further\s+|other\s+|specific\s+)?(?:information|sources?|passages?|details?)\s+(?:is|are|was|were|{_SAYS}s?)\b"
    rf"|(?:this|that|it)\s+is\s+(?:not|n['’]t)\s+(?:\w+ly\s+)?(?:stated|mentioned|said|specified|given|covered|provided)\b"
    rf"|i\s+(?:can\s*not|can['’]t|could\s+not|couldn['’]t|do\s+not|don['’]t|am\s+(?:unable|not\s+able)\s+to)\s+"
    rf"(?:find|know|answer|tell|see|determine|say|have)\b)"
)
_DENIES = re.compile(rf"\b{_NOT}\b|\bno(?:ne)?\b|\bnot\b|n['’]t\b|\bcan\s*not\b|\bunable\b", re.IGNORECASE)
_BUT = re.compile(
    r"(?i)(?:[;:–—]|\s-)\s|,\s(?:and|it|they|he|she|so|the)\b|"
    r"\b(?:but|however|although|though|while|whereas|except|because|since|instead|only|and\s+(?:it|they|he|she|the))\b"
)
"""What may bring a second statement, which is one of the subject."""
_MANNERS = re.compile(
    r"(?i)(?:hello|hi|hey|dear\s+\w+|greetings|good\s+(?:morning|afternoon|evening)|sure|certainly|of\s+course|absolutely|"
    r"thanks?(?:\s+you)?(?:\s+for\s+(?:your|the)\s+question)?|you['’]?(?:re|\s+are)\s+welcome|great\s+question|sorry|"
    r"(?:i\s+)?hope\s+(?:this|that|it)\s+helps?|(?:please\s+)?let\s+me\s+know\s+if\s+.{0,60}|"
    r"please\s+(?:provide|give|share|check|consult|rephrase|clarify)\b.{0,80}|"
    r"(?:please\s+)?feel\s+free\s+to\s+ask.{0,40}|(?:i['’]?m|i\s+am)\s+(?:happy|glad)\s+to\s+help|"
    r"(?:(?:ok|okay|alright|all\s+right|so|well|now|first|sure),?\s+){0,2}(?:let\s+me|let['’]s|the\s+user\s+(?:asks|asked|wants)|"
    r"i(?:['’]ll|\s+will|\s+need\s+to|\s+should|\s+can)\s+(?:look|check|answer|find|search|summari[sz]e|read|review|go))\b"
    r"[^\d]{0,120})(?:\s+there)?[\s.!,]*$"
)


def claims(sentence: str) -> bool:
    """Whether a sentence says something of what was asked about, whatever its Markdown: one that does needs a source.

    A greeting, a question, a heading or line that leads in what follows, and that the sources do not say something
    claim nothing. What says more beside that, as with "but", or has a figure, claims it.
    """
    bare = sentence.strip(_MARKUP)
    if not any(letter.isalnum() for letter in bare) or _MANNERS.match(bare) or _silent(bare):
        return False
    if any(letter.isdigit() for letter in bare):
        return True
    if _HEADING.match(sentence) or bare.endswith(":"):
        return len(bare.split()) > _LEAD_IN_WORDS
    return not (bare.endswith("?") and _ASKS.match(bare))


def abstains(reply: str, *, ended: bool = True) -> bool:
    """Whether a model's reply, or what is whole of one that has not `ended`, gives no answer.

    No sentence claims anything, or it says NO ANSWER and cites nothing.
    """
    spans = sentences(reply) if ended else sentences(reply)[:-1]
    if _NO_ANSWER.match(reply) and not MARK.search(reply):
        return True
    return not any(claims(sentence) for start, end in spans for sentence, _ in split_cited_sentences(reply[start:end]))


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


_ASIDE = re.compile(
    r"\*\*|__|`|^(?:[#>*\s-]|\d{1,2}[.)]\s)+|\bsources?\s[1-9]\d?\b|\s?\([1-8]\)(?=\W*$)"
    r"|(?<=[^\W\d_]{3})[⁰¹²³⁴-⁹]+(?=\W*$)|(?<=\d{4})[⁰¹²³⁴-⁹]+(?=\W*$)",
    re.IGNORECASE,
)
"""What of a sentence says nothing: emphasis, the number of a list's line, and marks in a form that could be text."""
_AND = re.compile(r"[;,]?\s(?:and|but|while|whereas)\s|;\s")
_HALF = 4
"""Words that one half of a sentence has at least."""

_Held = tuple[SentenceCheck, Sequence[Strip]]
"""The check of a sentence, and the strips that support it: none where nothing does."""


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

    def verify(self, answer: Answer, knowledge: Sequence[Strip], sources: Sources, settings: Settings) -> Verification:
        """One check a sentence, in order, and the answer with the marks that hold.

        A sentence is held against each strip of the places that it cites, then against two of them together, then in
        the same way against what a writer is shown of `knowledge` under these settings. At most two marks of those that
        support it stay. `supported` is None for what claims nothing, and where nobody could tell. Quotes keep their
        marks. What a look-up or a list reached may be cited, too. What speaks to a model supports nothing that one
        writes: it may have been obeyed.
        """
        answer = answer if answer.quoted else replace(answer, text=read_marks(answer.text))
        knowledge = [*knowledge, *_reached(answer, {strip.id for strip in knowledge}, sources)]
        shown = [strip for place in group_strips(knowledge, sources, settings.answer_context) for strip in place.strips]
        if not answer.quoted:
            shown = [strip for strip in shown if not _speaks_to_model(strip, sources)]
        headers = {" ".join(found.split()) for found in _HEADER_ROW.findall(answer.text)}
        marking = _Marking(answer, Judges(self._evaluator, knowledge, sources), knowledge, shown, sources)
        sentences = split_cited_sentences(answer.text)
        checks = []
        for (text, numbers), model in zip(sentences, self._asked(sentences, marking), strict=True):
            self._check()
            made = SentenceCheck(sentence=text, citations=numbers, supported=None)
            checks.append(made if text in headers else marking.check(text, numbers, model))
        return Verification(checks=tuple(checks), answer=answer if answer.quoted else marking.mark(checks))

    def _asked(self, sentences: Sequence[tuple[str, tuple[int, ...]]], marking: _Marking) -> list[Judgement | None]:
        """What the model says of each that claims something with a source: side by side, where each is a call."""
        model = self._model
        if model is None:
            return [None] * len(sentences)

        def ask(text: str, *numbers: int) -> Judgement | None:
            cited = marking.strips_of(text, numbers)
            asks = cited and claims(text) and not _exact(text, cited)
            return model_judgement(model, text, cited) if asks else None

        with ThreadPoolExecutor(AT_ONCE if model.calls_models else 1, "check") as threads:
            made = [threads.submit(contextvars.copy_context().run, ask, text, *numbers) for text, numbers in sentences]
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
        self._answer, self._judges, self._knowledge, self._shown = answer, judges, knowledge, shown
        self._sources = sources
        self._keys = {strip.id: place_key(strip, sources) for strip in knowledge}
        known = [each for each in answer.citations if each.strip_id in self._keys]
        self._places = {each.number: self._keys[each.strip_id] for each in known}
        self._used: dict[int, dict[str, Strip]] = {}

    def strips_of(self, text: str, numbers: Sequence[int]) -> list[Strip]:
        """The strips of the places that the numbers stand for: those nearest to the sentence, at most eight."""
        keys = {self._places[number] for number in numbers if number in self._places}
        near = _nearest(text, [strip for strip in self._knowledge if self._keys[strip.id] in keys])
        return [strip for strip in near if self._answer.quoted or not _speaks_to_model(strip, self._sources)]

    def check(self, text: str, numbers: tuple[int, ...], model: Judgement | None) -> SentenceCheck:
        """The check of a sentence, with the marks that it keeps."""
        said = _ASIDE.sub(lambda found: " " * len(found[0]), text)
        cited = self.strips_of(said, numbers)
        if self._answer.abstained or not (claims(text) or _exact(said, cited)):
            return SentenceCheck(sentence=text, citations=numbers, supported=None)
        invented = tuple(number for number in numbers if number not in self._places)
        check, strips = self._hold(said, cited, 0.0, model)
        found = False
        if check.supported is False and not self._answer.quoted:
            near = _nearest(said, self._shown, LEAST_SHARED) if has_subject(said) else []
            other, elsewhere = self._hold(said, near, FOUND_FROM)
            if (found := bool(elsewhere)) or not numbers:
                check, strips = other, elsewhere
        if check.supported is False and not cited:
            check = replace(check, note="invented" if numbers else "nothing shown")
        kept = [self._number(strip) for strip in strips] or sorted(numbers, key=lambda number: number in invented)
        marks = numbers if self._answer.quoted else tuple(dict.fromkeys(kept))[:MOST_MARKS]
        dropped = tuple(number for number in numbers if number not in marks)
        return replace(check, sentence=text, citations=marks, attributed=found, dropped=dropped, invented=invented)

    def mark(self, checks: Sequence[SentenceCheck]) -> Answer:
        """The answer with the marks of its checks, citations of what supports it, and a confidence by their share.

        A sentence that nothing supports is a doubt of the whole.
        """
        answer, text, share = self._answer, replace_marks(self._answer.text, checks), faithfulness(checks)
        cells = {each.citation for each in (*answer.differing, answer.contradicts, *answer.places) if each}
        own = {each.number: each for each in answer.citations if each.number in {*numbers_in(text), *cells}}
        for number, strips in self._used.items():
            if number not in cells:
                cited = Place(tuple(strips.values()), self._sources).cite(number)
                own[number] = replace(cited, found=number not in own)
        return replace(
            answer,
            text=text,
            citations=tuple(own.values()),
            confidence=None if share is None or answer.confidence is None else share * answer.confidence,
            doubts=answer.doubts if share in (None, 1) else ("unsupported", *answer.doubts),
        )

    def _hold(self, text: str, strips: Sequence[Strip], least: float, model: Judgement | None = None) -> _Held:
        """Holds a sentence against each strip alone, against two, and by halves; `least` is the score it wants.

        Two count together only where the first has every number and date of the sentence: else any two of a page
        would say together what neither says.
        """
        strips = _exact(text, strips) or strips
        if not strips:
            return SentenceCheck(sentence=text, citations=(), supported=False), []
        ranked = self._rank(text, strips, model)
        best = ranked[0][0]
        alone: dict[object, Strip] = {}
        for check, strip in ranked:
            if _enough(check, least):
                alone.setdefault(self._keys[strip.id], strip)
        if alone:
            return best, [*alone.values()][: 1 if least else MOST_MARKS]
        first = next((strip for check, strip in ranked if not decisive(check.figures)), None)
        if first and (other := _completing(text, first, strips)):
            (both,) = self._judges.checks(text, [[first, other]], model)
            if _enough(both, least):
                return both, [first, other]
        halves = [self._rank(half, strips)[0] for half in _halves(text)]
        if halves and all(_enough(check, least) for check, _ in halves):
            score = min(check.score or 0.0 for check, _ in halves)
            return replace(best, supported=True, score=score, note="scored", figures=()), [each for _, each in halves]
        if best.supported is None:
            return best, []
        figures = self._judges.figures(text, strips)
        note: Literal["figures", "scored"] = "figures" if decisive(figures) else "scored"
        return replace(best, supported=False, note=note, figures=figures), []

    def _rank(
        self, text: str, strips: Sequence[Strip], model: Judgement | None = None
    ) -> list[tuple[SentenceCheck, Strip]]:
        """The check against each strip alone, the surest support first."""
        checks = self._judges.checks(text, [[each] for each in strips], model)
        ranks = {True: 0, None: 1, False: 2}
        found = zip(checks, strips, strict=True)
        return sorted(found, key=lambda each: (ranks[each[0].supported], -(each[0].score or 0.0)))

    def _number(self, strip: Strip) -> int:
        """The number of a strip's place: the answer's, or the next that is free."""
        key, taken = self._keys[strip.id], {*self._places, *numbers_in(self._answer.text)}
        known = (number for number, each in self._places.items() if each == key)
        number = next(known, None) or next(each for each in range(1, len(taken) + 2) if each not in taken)
        self._places[number] = key
        self._used.setdefault(number, {})[strip.id] = strip
        return number


def _halves(sentence: str) -> tuple[str, ...]:
    """What stands before and behind the "and" nearest to the middle, where each says something; else nothing."""
    middle = len(sentence) // 2
    cut = min(_AND.finditer(sentence), key=lambda each: abs(each.start() - middle), default=None)
    halves = (sentence[: cut.start()], sentence[cut.end() :]) if cut else ()
    return halves if all(has_subject(half) and len(half.split()) >= _HALF for half in halves) else ()


def _speaks_to_model(strip: Strip, sources: Sources) -> bool:
    """Whether at least half of a strip does."""
    source = sources.get(strip.source_id)
    spans = injection_within(source.text, strip.start, strip.end) if source else ()
    return 2 * sum(span.end - span.start for span in spans) >= max(1, strip.end - strip.start)


def _exact(sentence: str, strips: Sequence[Strip]) -> list[Strip]:
    """The strips that have the sentence word for word."""
    return [strip for strip in strips if literal(sentence, strip.text)]


def _nearest(sentence: str, strips: Sequence[Strip], least: float = 0.0) -> list[Strip]:
    """The strips that may say it, those that share most of its words first; at least the share `least` of them."""
    shares = [(share_of_words(sentence, strip.text), strip) for strip in strips]
    return [strip for share, strip in sorted(shares, key=lambda each: -each[0])[:NEAREST] if share >= least]


def _enough(check: SentenceCheck, least: float) -> bool:
    return check.supported is True and (check.score or 0.0) >= least


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
        if citation.strip_id not in known and source and span:
            start, end = map(int, span.groups())
            yield make_strip(source.id, source.text, citation.origin, start, end, None, kept=False)
