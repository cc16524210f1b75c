"""What tests that are coroutines run on."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """The loop that the servers run on."""
    return "asyncio"
