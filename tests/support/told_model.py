"""A chat model for agents that says what it is given to say, at once, and remembers all that it was told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatResult
from pydantic import Field


class ToldModel(GenericFakeChatModel):
    """`told` are the messages of each call, in order."""

    told: list[list[BaseMessage]] = Field(default_factory=list)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.told.append(messages)
        return super()._generate(messages, stop, run_manager, **kwargs)

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> ToldModel:
        return self

    def system(self, call: int = -1) -> str:
        """The system message of a call; empty where it had none."""
        first = self.told[call][0]
        return str(first.text) if first.type == "system" else ""


def told_model(replies: Iterable[str | AIMessage] = ()) -> ToldModel:
    """A model that gives these replies, then always the same."""
    return ToldModel(messages=_replies(replies))


def calling(tool: str, number: int = 1, **arguments: Any) -> AIMessage:
    """A reply that calls a tool."""
    return AIMessage("", tool_calls=[{"name": tool, "args": arguments, "id": f"call-{number}"}])


def _replies(replies: Iterable[str | AIMessage]) -> Iterator[AIMessage]:
    for each in replies:
        yield AIMessage(each) if isinstance(each, str) else each
    number = 0
    while True:
        number += 1
        yield AIMessage(f"Reply {number}.")
