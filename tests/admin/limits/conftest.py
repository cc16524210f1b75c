"""A store of each kind, a clock that stands where it is put, and an engine with both."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from crag.core.config import AppConfig
from crag.engine import Engine
from crag.testing.fakes import ScriptedEvaluator
from tests.support.small_library import WordEmbedder, fill, spread


class StillClock:
    """Tells the time that it is given."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 23, 18, 30, 15, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue("database") if request.param == "postgresql" else ""


@pytest.fixture
def engine_with(tmp_path: Path, clock: StillClock) -> Iterator[Callable[..., Engine]]:
    """An engine with four chunks in its library, and these settings."""
    made: list[Engine] = []

    def make(database_url: str = "", **settings: object) -> Engine:
        config = AppConfig.of(data=tmp_path, database_url=database_url, **settings)
        engine = Engine(config, embedder=WordEmbedder(), evaluator=ScriptedEvaluator(score=spread))
        engine.teams.quotas.spending.now = clock
        if not engine.library().exists:
            fill(engine)
        made.append(engine)
        return engine

    yield make
    for each in made:
        each.close()
