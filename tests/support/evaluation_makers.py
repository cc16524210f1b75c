"""An engine whose parts answer at once, over a small library, and question sets for it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from crag.analysis.evaluate import add_set
from crag.analysis.questions.sets import Question, QuestionSet
from crag.core.config import AppConfig
from crag.core.settings import Settings
from crag.core.types import Answer, Chunk, Strip, WebPage
from crag.engine import Engine
from crag.testing.fakes import ScriptedEvaluator
from tests.support.small_library import WordEmbedder, engine_with_texts, spread

__all__ = ["FixedAnswer", "filled_engine", "instant_engine", "questions_for", "stored_set"]


class FixedAnswer:
    """Writes the same answer to everything."""

    by = "fixed"

    def answer(
        self, question: str, knowledge: Sequence[Strip], sources: dict[str, Chunk | WebPage], settings: Settings
    ) -> Iterator[str | Answer]:
        yield "Eighty days. "
        yield Answer(text="Eighty days.", by=self.by)


def instant_engine(folder: Path) -> Engine:
    """An engine over `folder` as it is."""
    config = AppConfig.of(data=folder)
    return Engine(config, embedder=WordEmbedder(), evaluator=ScriptedEvaluator(score=spread), generator=FixedAnswer())


def filled_engine(folder: Path) -> Engine:
    """The same with one document in its library."""
    return engine_with_texts(AppConfig.of(data=folder), generator=FixedAnswer())


def questions_for(count: int, name: str = "made.csv") -> QuestionSet:
    """So many questions with an expected page and an answer."""
    made = tuple(
        Question(
            id=f"q{number}",
            question=f"How many days did hiring take in case {number}?",
            answers=("eighty days",),
            sources=("report.pdf",),
            pages=(1,),
        )
        for number in range(1, count + 1)
    )
    return QuestionSet(name, made, kind="CSV")


def stored_set(engine: Engine, count: int) -> str:
    return add_set(engine.library(), questions_for(count))
