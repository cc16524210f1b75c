"""An engine over four pages whose evaluator scores a text by the words of the question that it has."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from crag.core.config import AppConfig
from crag.core.types import Grade, GradedText, Passage, SetGrade
from crag.engine import Engine
from crag.testing.fakes import ScriptedEvaluator, ScriptedSetGrader
from tests.support.small_library import WordEmbedder, fill


def found(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


@dataclass(kw_only=True)
class SharedWords(ScriptedEvaluator):
    """The share of the question's words that a text has; of a set, the mean of its two best texts."""

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        asked = found(question)
        for passage in passages:
            self.graded.append((question, passage.text))
            yield self._grade(passage.id, len(asked & found(passage.text)) / max(1, len(asked)))

    def grade_set(self, question: str, texts: Sequence[GradedText]) -> SetGrade | None:
        best = sorted((each.score for each in texts), reverse=True)[:2]
        return ScriptedSetGrader(score=lambda texts: sum(best) / len(best)).grade_set(question, texts)


@pytest.fixture
def evaluator() -> SharedWords:
    return SharedWords(score=lambda text: None)


@pytest.fixture
def engine(tmp_path: Path, evaluator: SharedWords) -> Iterator[Engine]:
    engine = Engine(AppConfig.of(data=tmp_path / "data"), embedder=WordEmbedder(), evaluator=evaluator)
    fill(engine)
    yield engine
    engine.close()
