"""Real model servers: one for all tests, and one for each test that ends it."""

from collections.abc import Iterator

import pytest

from tests.support.real_server import RealServer, model_file, serving_model


@pytest.fixture(scope="session")
def installed() -> None:
    """Skips where the server or its model is not installed."""
    try:
        model_file()
    except LookupError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def real_server(installed: None) -> Iterator[RealServer]:
    with serving_model() as server:
        yield server


@pytest.fixture
def doomed_server(installed: None) -> Iterator[RealServer]:
    with serving_model() as server:
        yield server
