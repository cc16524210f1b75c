"""An engine over four pages whose evaluator scores a text by the words of the question that it has."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from crag.core.config import AppConfig
from crag.core.types import Grade, Passage
from crag.engine import Engine
from crag.testing.fakes import ScriptedEvaluator
from tests.support.small_library import engine_with_texts


def found(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


@dataclass(kw_only=True)
class SharedWords(ScriptedEvaluator):
    """The share of the question's words that a text has."""

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        asked = found(question)
        for passage in passages:
            self.graded.append((question, passage.text))
            yield self._grade(passage.id, len(asked & found(passage.text)) / max(1, len(asked)))


@pytest.fixture
def evaluator() -> SharedWords:
    return SharedWords(score=lambda text: None)


@pytest.fixture
def engine(tmp_path: Path, evaluator: SharedWords) -> Iterator[Engine]:
    with engine_with_texts(AppConfig.of(data=tmp_path / "data"), evaluator=evaluator) as engine:
        yield engine
