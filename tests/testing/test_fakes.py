"""The fakes that ship keep to the contract suites that ship, and need no test framework."""

import pytest

from crag.core.protocols import AnswerReader, Chat
from crag.testing.contracts import GRADE, AnswerReaderContract, ChatContract
from crag.testing.fakes import FakeChat, ScriptedReader


class TestFakeChat(ChatContract):
    @pytest.fixture
    def chat(self) -> Chat:
        return FakeChat(reply=lambda messages: GRADE)


class TestScriptedReader(AnswerReaderContract):
    def make(self) -> AnswerReader:
        return ScriptedReader(words={"March 1889": 0.9})
