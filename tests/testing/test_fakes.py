"""The fakes that ship keep to the contract suites that ship, and need no test framework."""

import subprocess
import sys

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


def test_the_fakes_load_no_test_framework() -> None:
    program = "import sys, crag.testing.fakes; sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
