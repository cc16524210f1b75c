"""The HTTP application over a small library, in this process."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from crag.admin.access import Access
from crag.core.config import AppConfig
from crag.engine import Engine
from crag.integrations.http.app import app
from crag.integrations.http.serving import Limits
from crag.testing.fakes import ScriptedEvaluator
from tests.support.chat_server import ChatServer, chat_server
from tests.support.http_server import OTHER, TOKEN
from tests.support.small_library import WordEmbedder, fill, spread

LIMITS = Limits(rate=0, json_bytes=100_000, upload_bytes=200_000)


def score(text: str) -> float | None:
    """As `spread`; a text that says so can't be graded."""
    return None if "ungradable" in text else spread(text)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Workspace alpha has four chunks, beta none."""
    data = tmp_path_factory.mktemp("served")
    with Engine(AppConfig.of(data=data), embedder=WordEmbedder(), evaluator=ScriptedEvaluator(score=score)) as made:
        fill(made, workspace="alpha")
        yield made


@pytest.fixture(scope="module")
def client(engine: Engine) -> Iterator[TestClient]:
    """With the token of alpha."""
    made = app(engine, Access([(TOKEN, "alpha"), (OTHER, "beta")]), LIMITS)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with TestClient(made, headers=headers, raise_server_exceptions=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChatServer]:
    """The whole server at a port, over fast parts and a writer that does what the question says."""
    with chat_server(tmp_path_factory.mktemp("chat"), Limits(rate=0, at_once=4, grace_seconds=0)) as server:
        yield server
