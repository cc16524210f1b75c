"""What each judge says of a sentence and the texts that are to support it, and the check that this comes to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Literal

from crag.core.protocols import RetrievalEvaluator
from crag.core.types import Chunk, FigureCheck, Grade, Judgement, Passage, SentenceCheck, Strip, WebPage
from crag.generation.citations import literal, quotable
from crag.generation.figures import check_figures, in_context
from crag.text.words import FUNCTION_WORDS, stem

SUPPORTED_FROM = 0.5
"""A judge's score from which it says that a text supports a sentence; and the mean of several."""


def join_judgements(
    judgements: Sequence[Judgement], figures: Sequence[FigureCheck] = ()
) -> tuple[bool | None, float | None]:
    """Whether the sentence is supported, and the mean score of those that decided it; None where nobody can tell.

    A number or date that stands nowhere decides against it. Else most of those that can tell decide, among them the
    figures where a name is missing. Where as many are for it as against it, the mean of all scores does, in which the
    share of words that are there counts too.
    """
    if decisive(figures):
        return False, None
    scored = [each for each in judgements if each.score is not None]
    decided = [each for each in scored if each.supported is not None]
    if not decided:
        return None, None
    ahead = sum(1 if each.supported else -1 for each in decided)
    if not ahead:
        mean = fmean(each.score for each in scored if each.score is not None)
        return mean >= SUPPORTED_FROM, mean
    return ahead > 0, fmean(each.score for each in decided if each.score is not None and each.supported == (ahead > 0))


def decisive(figures: Sequence[FigureCheck]) -> bool:
    """Whether a number or date is missing. A name may be another for what is there: "it", "the agency"."""
    return any(each.state == "missing" and each.kind != "name" for each in figures)


# What turns a statement round, or compares, is no small word.
_SMALL = FUNCTION_WORDS - set("no not both but can could if into more most some than with will would".split())
_ITSELF = frozenset("answer answers question response result source sources document documents text value".split())
"""Words with which an answer speaks of itself and of what it rests on."""
_TOKEN = re.compile(r"\d[\d.,]*\d|\w+(?:['’]t\b)?")


def said_in(sentence: str, texts: Sequence[str]) -> Judgement:
    """What the words alone say: supported where a text has the sentence as it is.

    Elsewhere they can't tell: other words may say the same, and the same words another thing. The score is then the
    share of the sentence's content words that stand in the texts, 0..1.
    """
    if any(literal(sentence, text) for text in texts):
        return Judgement(judge="words", supported=True, score=1.0)
    return Judgement(judge="words", supported=None, score=share_of_words(sentence, "\n".join(texts)))


def share_of_words(sentence: str, text: str) -> float:
    """The share of the sentence's content words, by their stems, that stand in the text, 0..1."""
    wanted, there = _content_words(sentence), {stem(word) for word in _tokens(text)}
    return sum(stem(word) in there for word in wanted) / len(wanted) if wanted else 0.0


def has_subject(sentence: str) -> bool:
    """Whether a sentence says what it speaks of: "The answer is: 6.60" does not, and any text with 6.60 would fit."""
    return any(not word[0].isdigit() and word not in _ITSELF for word in _content_words(sentence))


def _content_words(text: str) -> list[str]:
    return [word for word in _tokens(text) if word not in _SMALL]


def _tokens(text: str) -> list[str]:
    """The words, folded in case, each number whole."""
    return _TOKEN.findall(quotable(text).casefold())


class Judges:
    """All that judge without a call: words, figures, and an evaluator on this machine."""

    def __init__(
        self, evaluator: RetrievalEvaluator, knowledge: Sequence[Strip], sources: Mapping[str, Chunk | WebPage]
    ) -> None:
        """`knowledge` is what may be cited, `sources` what its strips are of."""
        self._evaluator, self._knowledge, self._sources = evaluator, knowledge, sources

    def checks(
        self, sentence: str, groups: Sequence[Sequence[Strip]], model: Judgement | None = None
    ) -> list[SentenceCheck]:
        """The sentence held against each group of strips, read in one go; `model` is what else was said of it.

        What is there word for word is asked of nobody.
        """
        words = [said_in(sentence, [strip.text for strip in strips]) for strips in groups]
        texts = {str(at): _join_texts(strips) for at, strips in enumerate(groups) if not words[at].supported}
        passages = [Passage(id=at, text=text) for at, text in texts.items()]
        grades = {grade.passage_id: grade for grade in self._evaluator.grade(sentence, passages)} if passages else {}
        found = []
        for at, strips in enumerate(groups):
            judged, figures = [words[at]], tuple[FigureCheck, ...]()
            if not words[at].supported:
                figures = self.figures(sentence, strips)
                read = _judgement("evaluator", grades.get(str(at)), self._evaluator.id)
                judged += [*_of_figures(figures), read, *filter(None, [model])]
            found.append(_check(sentence, tuple(judged), figures))
        return found

    def figures(self, sentence: str, strips: Sequence[Strip]) -> tuple[FigureCheck, ...]:
        """Each figure of the sentence, with where it stands: in these strips, or in what is said around them."""
        around = {each.id: in_context(each, self._knowledge, self._sources.get(each.source_id)) for each in strips}
        of = {each.id: each.source_id for each in strips}
        return tuple(replace(each, source_id=of.get(each.strip_id, "")) for each in check_figures(sentence, around))


def model_judgement(model: RetrievalEvaluator, sentence: str, strips: Sequence[Strip]) -> Judgement:
    """What a model says, in one call; that it can't tell where it failed, also where another model replaced it."""
    passage = Passage(id="cited", text=_join_texts(strips))
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
    if judgements[0].supported:
        return replace(base, note="quoted")
    if supported is None:
        failed = next((each for each in judgements if each.why), None)
        return replace(base, note="not scored", why=failed.why if failed else "", who=failed.who if failed else "")
    if decisive(figures):
        return replace(base, note="figures")
    by = next((each.by for each in reversed(judgements) if each.by and each.score is not None), "")
    return replace(base, note="scored", by=by)


def _join_texts(strips: Sequence[Strip]) -> str:
    return "\n".join(strip.text for strip in strips)
