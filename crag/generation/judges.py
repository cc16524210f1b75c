"""What each judge says of a sentence and the texts that are to support it, and the check that this comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from crag.core.protocols import RetrievalEvaluator
from crag.core.types import Chunk, FigureCheck, Grade, Judgement, Passage, SentenceCheck, Strip, WebPage
from crag.generation.figures import check_figures, in_context
from crag.generation.judgement_merge import SUPPORTED_FROM, decisive, join_judgements
from crag.generation.overlap_judge import QUOTED, said_in

Texts = Mapping[str, str]
"""What is to support a sentence: texts by the ids of their strips."""


class Judges:
    """All that judge without a call: words, figures, and an evaluator on this machine."""

    def __init__(
        self, evaluator: RetrievalEvaluator, knowledge: Sequence[Strip], sources: Mapping[str, Chunk | WebPage]
    ) -> None:
        """`knowledge` is what may be cited, `sources` what its strips are of."""
        self._evaluator, self._knowledge, self._sources = evaluator, knowledge, sources
        self._strips = {strip.id: strip for strip in knowledge}

    def checks(self, sentence: str, each: Sequence[Texts], model: Judgement | None = None) -> list[SentenceCheck]:
        """The sentence held against each of several texts, read in one go; `model` is what else was said of it.

        What is there word for word is asked of nobody.
        """
        words = [said_in(sentence, list(texts.values())) for texts in each]
        asked = [place for place, said in enumerate(words) if not _quoted(said)]
        passages = [Passage(id=str(place), text=_join_texts(each[place])) for place in asked]
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

    def _figures(self, sentence: str, texts: Texts) -> tuple[FigureCheck, ...]:
        """Each figure of the sentence, with where it stands: in what is cited, or in what is said of that around it."""
        strips = [self._strips[id] for id in texts]
        around = {each.id: in_context(each, self._knowledge, self._sources.get(each.source_id)) for each in strips}
        return tuple(
            replace(each, source_id=self._strips[each.strip_id].source_id) if each.strip_id else each
            for each in check_figures(sentence, around)
        )


def model_judgement(model: RetrievalEvaluator, sentence: str, texts: Texts) -> Judgement:
    """What a model says, in one call; that it can't tell where it failed, whoever stood in for it."""
    passage = Passage(id="cited", text=_join_texts(texts))
    return _judgement("model", next(iter(model.grade(sentence, [passage])), None), model.id)


def _judgement(judge: Literal["evaluator", "model"], grade: Grade | None, id: str) -> Judgement:
    if grade is None:
        return Judgement(judge=judge, supported=None, by=id, why="no grade came back")
    if grade.score is None or grade.instead_of:
        by, why = grade.instead_of or grade.evaluator or id, grade.why or grade.error or ""
        return Judgement(judge=judge, supported=None, by=by, why=why, who=grade.who)
    return Judgement(judge=judge, supported=grade.score >= SUPPORTED_FROM, score=grade.score, by=grade.evaluator or id)


def _of_figures(figures: Sequence[FigureCheck]) -> list[Judgement]:
    """That all stand is no proof, and has no score; else the score is the share that does, 0..1."""
    if not figures:
        return []
    standing = sum(each.state != "missing" for each in figures) / len(figures)
    return [Judgement(judge="figures", supported=standing == 1.0, score=None if standing == 1.0 else standing)]


def _check(sentence: str, judgements: tuple[Judgement, ...], figures: tuple[FigureCheck, ...]) -> SentenceCheck:
    """The check that cites nothing yet."""
    supported, score = join_judgements(judgements, figures)
    base = SentenceCheck(
        sentence=sentence, citations=(), supported=supported, score=score, judgements=judgements, figures=figures
    )
    if _quoted(judgements[0]):
        return replace(base, note="quoted")
    if supported is None:
        failed = next((each for each in judgements if each.why), None)
        return replace(base, note="not scored", why=failed.why if failed else "", who=failed.who if failed else "")
    if decisive(figures):
        return replace(base, note="figures")
    by = next((each.by for each in reversed(judgements) if each.by and each.score is not None), "")
    return replace(base, note="scored", by=by)


def _quoted(words: Judgement) -> bool:
    """Whether a sentence is there as it is; but for the order, `said_in` scores it lower."""
    return words.supported is True and words.score == QUOTED


def _join_texts(texts: Texts) -> str:
    return "\n".join(texts.values())
