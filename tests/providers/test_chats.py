"""The chat contract, kept by the real client over a loopback server and by the fake that other tests rely on."""

import re
from collections.abc import Iterator

import pytest

from crag.core.protocols import Chat
from crag.providers.chat import ChatModel
from crag.providers.endpoint import Endpoint
from crag.runtime.usage import UsageTracker
from crag.testing.contracts import GRADE, ChatContract
from crag.testing.fakes import FakeChat
from tests.support.model_server import serving


class TestFakeChat(ChatContract):
    @pytest.fixture
    def chat(self) -> Chat:
        return FakeChat(lambda messages: GRADE)


class TestMeteredChat(ChatContract):
    @pytest.fixture
    def chat(self) -> Iterator[Chat]:
        with serving() as server:
            server.words = re.findall(r"\S+\s*", GRADE)
            place = Endpoint(provider="openai-compatible", model="ok", base_url=server.address)
            yield ChatModel(place).metered(UsageTracker())
