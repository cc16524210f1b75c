"""What each judge says of a sentence and the texts that are to support it, and the check that this comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from crag.core.protocols import RetrievalEvaluator
from crag.core.types import FigureCheck, Grade, Judgement, Passage, SentenceCheck
from crag.generate.joining import SUPPORTED_FROM, joined
from crag.generate.wordwise import QUOTED, said_in

Texts = Mapping[str, str]
"""What is to support a sentence: texts by the ids of their strips."""
Figures = Callable[[str, Texts], tuple[FigureCheck, ...]]
"""Finds each number, date and name of a sentence in its texts."""


class Judges:
    """All that judge without a call: words, figures, and an evaluator on this machine."""

    def __init__(self, evaluator: RetrievalEvaluator, figures: Figures) -> None:
        self._evaluator, self._figures = evaluator, figures

    def checks(self, sentence: str, each: Sequence[Texts], model: Judgement | None = None) -> list[SentenceCheck]:
        """The sentence held against each of several texts, read in one go; `model` is what else was said of it.

        What is there word for word is asked of nobody.
        """
        words = [said_in(sentence, list(texts.values())) for texts in each]
        asked = [place for place, said in enumerate(words) if not _quoted(said)]
        passages = [Passage(id=str(place), text=_joined_text(each[place])) for place in asked]
        grades = {grade.passage_id: grade for grade in self._evaluator.grade(sentence, passages)} if passages else {}
        found = []
        for place, texts in enumerate(each):
            if _quoted(words[place]):
                found.append(_check(sentence, (words[place],), ()))
                continue
            read = _judgement("evaluator", grades.get(str(place)), self._evaluator.id)
            figures = self._figures(sentence, texts)
            judged = [words[place], *_of_figures(figures), read, *([model] if model else [])]
            found.append(_check(sentence, tuple(judged), figures))
        return found


def model_judgement(model: RetrievalEvaluator, sentence: str, texts: Texts) -> Judgement:
    """What a model says, in one call; that it can't tell where it failed, whoever stood in for it."""
    passage = Passage(id="cited", text=_joined_text(texts))
    return _judgement("model", next(iter(model.grade(sentence, [passage])), None), model.id)


def _judgement(judge: Literal["evaluator", "model"], grade: Grade | None, id: str) -> Judgement:
    if grade is None:
        return Judgement(judge=judge, supported=None, by=id, why="no grade came back")
    if grade.score is None or grade.instead_of:
        by, why = grade.instead_of or grade.evaluator or id, grade.why or grade.error or ""
        return Judgement(judge=judge, supported=None, by=by, why=why, who=grade.who)
    return Judgement(judge=judge, supported=grade.score >= SUPPORTED_FROM, score=grade.score, by=grade.evaluator or id)


def _of_figures(figures: Sequence[FigureCheck]) -> list[Judgement]:
    if not figures:
        return []
    return [Judgement(judge="figures", supported=all(figure.state != "missing" for figure in figures))]


def _check(sentence: str, judgements: tuple[Judgement, ...], figures: tuple[FigureCheck, ...]) -> SentenceCheck:
    """The check that cites nothing yet."""
    supported, score = joined(judgements)
    base = SentenceCheck(
        sentence=sentence, citations=(), supported=supported, score=score, judgements=judgements, figures=figures
    )
    if _quoted(judgements[0]):
        return replace(base, note="quoted")
    if supported is None:
        failed = next((each for each in judgements if each.why), None)
        return replace(base, note="not scored", why=failed.why if failed else "", who=failed.who if failed else "")
    if any(each.judge == "figures" and each.supported is False for each in judgements):
        return replace(base, note="figures")
    by = next((each.by for each in reversed(judgements) if each.by and each.score is not None), "")
    return replace(base, note="scored", by=by)


def _quoted(words: Judgement) -> bool:
    """Whether a sentence is there as it is; but for the order, `said_in` scores it lower."""
    return words.supported is True and words.score == QUOTED


def _joined_text(texts: Texts) -> str:
    return "\n".join(texts.values())
