"""Whether what an answer says stands in what it cites, or, where it cites nothing, in anything its writer was shown."""

from __future__ import annotations

import contextvars
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from crag.core.protocols import RetrievalEvaluator
from crag.core.settings import Settings
from crag.core.types import Answer, Chunk, Judgement, SentenceCheck, Strip, Verification, WebPage
from crag.evaluation.refinement import make_strip
from crag.generation.citations import build_citation, fit_strips, literal, split_cited_sentences
from crag.generation.judges import Attribution, Judges, Texts, model_judgement
from crag.generation.lists import LABELLED, VALUED, list_end

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


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of the answer, the numbers that it cites, and what of these stands for a text and what for none."""

    text: str
    numbers: tuple[int, ...]
    cited: Texts
    invented: tuple[int, ...]

    @property
    def quoted(self) -> bool:
        return any(literal(self.text, text) for text in self.cited.values())


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
        sources: Mapping[str, Chunk | WebPage],
        settings: Settings,
    ) -> Verification:
        """One check a sentence, in order, and the citations found for sentences that cite nothing.

        `supported` is None for what claims nothing, and where nobody could tell. An uncited sentence is held against
        what a writer is shown of `knowledge` under these settings. What a look-up or a list reached may be cited, too.
        """
        knowledge = [*knowledge, *_reached(answer, {strip.id for strip in knowledge}, sources)]
        sentences = [_read(text, numbers, answer, knowledge) for text, numbers in split_cited_sentences(answer.text)]
        asked = [place for place, each in enumerate(sentences) if _doubtful(each)]
        judged = dict(zip(asked, self._asked([sentences[place] for place in asked]), strict=True))
        judges = Judges(self._evaluator, knowledge, sources)
        attribution = Attribution(answer, fit_strips(knowledge, settings.answer_context), judges)
        checks = []
        for place, each in enumerate(sentences):
            self._check()
            if each.numbers:
                checks.append(_check_cited(each, judges, judged.get(place)))
            elif answer.abstained or not claims(each.text):
                checks.append(SentenceCheck(sentence=each.text, citations=(), supported=None))
            else:
                checks.append(attribution.check(each.text))
        found = [
            build_citation(number, strip, sources.get(strip.source_id), 0, len(strip.text))
            for number, strip in attribution.found
        ]
        return Verification(checks=tuple(checks), found=tuple(replace(each, found=True) for each in found))

    def _asked(self, sentences: Sequence[_Sentence]) -> list[Judgement | None]:
        """What the model says of each: side by side, where each is a call."""
        model = self._model
        if model is None or not sentences:
            return [None] * len(sentences)
        at_once = min(len(sentences), AT_ONCE) if model.calls_models else 1
        with ThreadPoolExecutor(at_once, "check") as threads:
            judged = [
                threads.submit(contextvars.copy_context().run, model_judgement, model, each.text, each.cited)
                for each in sentences
            ]
            return [each.result() for each in judged]


def faithfulness(checks: Sequence[SentenceCheck]) -> float | None:
    """The supported share of the sentences that could be checked, 0..1; None where none could.

    A sentence that nothing shown supports counts as one that is not.
    """
    checkable = [check.supported for check in checks if check.supported is not None]
    return sum(checkable) / len(checkable) if checkable else None


def _check_cited(sentence: _Sentence, judges: Judges, model: Judgement | None) -> SentenceCheck:
    """What the judges say of a sentence that cites, the model among them where it was asked."""
    check = SentenceCheck(sentence=sentence.text, citations=sentence.numbers, supported=None)
    if sentence.invented:
        return replace(check, supported=False, note="invented", invented=sentence.invented)
    if not sentence.quoted and not claims(sentence.text):
        return check
    (judged,) = judges.checks(sentence.text, [sentence.cited], model)
    return replace(judged, citations=sentence.numbers)


def _reached(answer: Answer, known: Collection[str], sources: Mapping[str, Chunk | WebPage]) -> Iterator[Strip]:
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


def _read(text: str, numbers: tuple[int, ...], answer: Answer, knowledge: Sequence[Strip]) -> _Sentence:
    """A sentence with what it cites: a number stands for a text where its strip is one that the answer may rest on."""
    strips = {strip.id: strip.text for strip in knowledge}
    known = {each.number: each.strip_id for each in answer.citations if each.strip_id in strips}
    cited = {known[number]: strips[known[number]] for number in numbers if number in known}
    return _Sentence(text, numbers, cited, tuple(number for number in numbers if number not in known))


def _doubtful(sentence: _Sentence) -> bool:
    """Whether a model may be asked of it: it claims something with a source, which does not say it word for word."""
    return bool(sentence.cited) and not sentence.invented and not sentence.quoted and claims(sentence.text)
