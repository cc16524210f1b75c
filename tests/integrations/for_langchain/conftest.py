"""An engine over two tenants' small libraries: real storage, retrieval and strips; an evaluator that is told scores."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("langchain", reason="pip install -r requirements/langchain.txt")

from crag.core.config import AppConfig
from crag.engine import Engine
from crag.testing.fakes import FixedWeb, ScriptedEvaluator
from tests.support.small_library import TEXTS, WordEmbedder, fill

ONLINE = "The agency's web page says that hiring took ninety days in 2018, on average."


@pytest.fixture
def web() -> FixedWeb:
    return FixedWeb(texts=[ONLINE])


@pytest.fixture
def evaluator() -> ScriptedEvaluator:
    return ScriptedEvaluator(score=lambda text: 0.9, joint=0.95)


@pytest.fixture
def engine(tmp_path: Path, web: FixedWeb, evaluator: ScriptedEvaluator) -> Iterator[Engine]:
    """Its workspace acme has a report on an agency; globex one on a mill."""
    with Engine(AppConfig.of(data=tmp_path / "data"), embedder=WordEmbedder(), evaluator=evaluator, web=web) as made:
        fill(made, TEXTS, "acme")
        fill(made, [text.replace("agency", "mill").replace("eighty", "eleven") for text in TEXTS], "globex")
        yield made
