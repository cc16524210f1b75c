"""Whether what an answer says stands in what it cites, or, where it cites nothing, in anything its writer was shown."""

from __future__ import annotations

import contextvars
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from crag.core.protocols import RetrievalEvaluator
from crag.core.settings import Settings
from crag.core.types import Answer, Chunk, Judgement, SentenceCheck, Strip, Verification, WebPage
from crag.generation.attribution import Attribution
from crag.generation.citations import build_citation, literal, split_cited_sentences
from crag.generation.claim_detection import claims
from crag.generation.judges import Judges, Texts, model_judgement
from crag.generation.shown import fit_strips

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

    def __init__(self, evaluator: RetrievalEvaluator, model: RetrievalEvaluator | None = None) -> None:
        self._evaluator, self._model = evaluator, model

    def verify(
        self,
        answer: Answer,
        knowledge: Sequence[Strip],
        sources: Mapping[str, Chunk | WebPage],
        settings: Settings,
    ) -> Verification:
        """One check a sentence, in order, and the citations found for sentences that cite nothing.

        `supported` is None for what claims nothing, and where nobody could tell. An uncited sentence is held against
        what a writer is shown of `knowledge` under these settings.
        """
        sentences = [_read(text, numbers, answer, knowledge) for text, numbers in split_cited_sentences(answer.text)]
        asked = [place for place, each in enumerate(sentences) if _doubtful(each)]
        judged = dict(zip(asked, self._asked([sentences[place] for place in asked]), strict=True))
        judges = Judges(self._evaluator, knowledge, sources)
        attribution = Attribution(answer, fit_strips(knowledge, settings.answer_context), judges)
        checks = []
        for place, each in enumerate(sentences):
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


def _read(text: str, numbers: tuple[int, ...], answer: Answer, knowledge: Sequence[Strip]) -> _Sentence:
    """A sentence with what it cites: a number stands for a text where its strip is one that the answer may rest on."""
    strips = {strip.id: strip.text for strip in knowledge}
    known = {each.number: each.strip_id for each in answer.citations if each.strip_id in strips}
    cited = {known[number]: strips[known[number]] for number in numbers if number in known}
    return _Sentence(text, numbers, cited, tuple(number for number in numbers if number not in known))


def _doubtful(sentence: _Sentence) -> bool:
    """Whether a model may be asked of it: it claims something with a source, which does not say it word for word."""
    return bool(sentence.cited) and not sentence.invented and not sentence.quoted and claims(sentence.text)
