"""What every Chat keeps to. Inherit `ChatContract` and give a `chat` fixture that replies `GRADE` to everything."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, Field

from crag.core.errors import ProviderError
from crag.core.protocols import Chat

GRADE = '{"reason": "it says so", "score": 0.7}'
ASKED = [("system", "Reply with JSON."), ("human", "How good is it?")]


class Score(BaseModel):
    reason: str
    score: float = Field(ge=0, le=1)


class Count(BaseModel):
    count: int


class ChatContract:
    """Text, objects and pieces say the same; what is no object of the schema is a failure, each one's own."""

    @pytest.fixture
    def chat(self) -> Chat:
        raise NotImplementedError

    def test_it_is_named(self, chat: Chat) -> None:
        assert chat.id

    def test_text_and_pieces_say_the_same(self, chat: Chat) -> None:
        assert chat.text(ASKED, max_tokens=50) == "".join(chat.written(ASKED, max_tokens=50)).strip() == GRADE

    def test_an_object_is_one_of_the_schema(self, chat: Chat) -> None:
        assert chat.parsed(Score, ASKED, max_tokens=50) == Score(reason="it says so", score=0.7)

    def test_another_object_is_a_failure(self, chat: Chat) -> None:
        with pytest.raises(ProviderError) as caught:
            chat.parsed(Count, ASKED, max_tokens=50)
        assert caught.value.message and caught.value.remedy

    def test_of_many_conversations_each_has_one_outcome(self, chat: Chat) -> None:
        found = list(chat.parsed_each(Score, [ASKED] * 5, max_tokens=50))
        assert sorted(place for place, _, _ in found) == list(range(5))
        assert all(outcome == Score(reason="it says so", score=0.7) and took >= 0 for _, outcome, took in found)

    def test_a_failing_conversation_is_its_own_failure(self, chat: Chat) -> None:
        assert all(
            isinstance(outcome, ProviderError) for _, outcome, _ in chat.parsed_each(Count, [ASKED] * 2, max_tokens=9)
        )

    def test_no_conversations_no_outcomes(self, chat: Chat) -> None:
        assert list(chat.parsed_each(Score, [], max_tokens=50)) == []
