"""Engines over four pages with an evaluator by rule, for what is lost on the way to an answer."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crag.core.config import AppConfig
from crag.engine import Engine
from tests.support.small_library import engine_with_texts


def score(text: str) -> float:
    """What speaks of hiring answers, what speaks of claims half."""
    return 0.9 if "iring" in text else 0.3 if "laim" in text or "average" in text else 0.02


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Engine]]:
    """Makes an engine over the four pages, whose evaluator scores by the function that is given."""
    engines: list[Engine] = []

    def made(scored: Callable[[str], float | None] = score) -> Engine:
        config = AppConfig.of(data=tmp_path / f"data-{len(engines)}")
        engines.append(engine_with_texts(config, scored))
        return engines[-1]

    yield made
    for engine in engines:
        engine.close()


@pytest.fixture
def engine(make: Callable[..., Engine]) -> Engine:
    return make()
