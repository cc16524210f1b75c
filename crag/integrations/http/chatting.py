"""What a chat completion is asked with, and what of it is a question to the documents.

What would change the form of the reply and can't be had here is refused (tools, several choices, log probabilities,
schemas, pictures). What steers how a model writes (temperature, max_tokens, stop, seed, …) is passed over, as are
fields that are not known here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pydantic import ConfigDict, Field

from crag.core.exchanges import Exchange
from crag.export.chat import extract_answer
from crag.generation.conversation.history import EXCHANGES, QUESTION_CHARS
from crag.generation.conversation.rules import RuleContextualizer
from crag.integrations.http.bodies import Body
from crag.integrations.http.problems import Problem

_LOOKED_AT = 2 * EXCHANGES
"""So many of the latest exchanges of a chat are read; a run looks at the last few of them."""
_MOST_READ = 20_000
"""Characters of an earlier answer that are looked at."""


class Part(Body):
    """One part of a message. Only text is read: pictures, sounds and files are refused."""

    type: str
    text: str = ""


class Message(Body):
    """One message of a chat.

    The last one of a user is the question; those of users and assistants before it are the conversation that it
    follows on. System and tool messages are accepted and not followed.
    """

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        """Its words; those of several parts joined by line breaks."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.type == "text")
        return self.content or ""


class StreamOptions(Body):
    include_usage: bool = Field(False, description="Send the counts of tokens in a chunk of their own at the end.")


class ResponseFormat(Body):
    type: str = "text"


class ChatExtension(Body):
    """What else can be asked of this server in a chat completion."""

    model_config = ConfigDict(extra="forbid")

    footnotes: bool = Field(default=True, description="List the sources, and what is doubtful, under the answer.")
    strategy: str = Field(default="", description="The strategy, in place of the one that the model's name means.")
    settings: dict[str, Any] = Field(
        default={}, description="Settings of the run by name, in place of the strategy's own."
    )


class ChatRequest(Body):
    """A question in OpenAI's form."""

    model: str = Field(description="crag: the default strategy. crag-NAME: another one; GET /v1/models lists them.")
    messages: list[Message] = Field(min_length=1, description="Oldest first; one of them has to be a user's.")
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: int | None = Field(1, description="One choice is made; another number is refused.")
    logprobs: bool | None = Field(False, description="Refused where true: there are none.")
    top_logprobs: int | None = Field(None, description="Refused where not 0: there are none.")
    response_format: ResponseFormat | None = Field(None, description="Text; schemas are refused.")
    modalities: list[str] | None = Field(None, description="Text; others are refused.")
    tools: list[Any] | None = Field(None, description="Refused where not empty: no tools are called.")
    functions: list[Any] | None = Field(None, description="Refused where not empty: no functions are called.")
    crag: ChatExtension = Field(default_factory=ChatExtension)

    @property
    def question(self) -> str:
        """The last message of a user; empty where there is none."""
        return next((each.text for each in reversed(self.messages) if each.role == "user"), "")

    def history(self) -> list[Exchange]:
        """The exchanges before the question, oldest first, each question as it stands alone."""
        known: list[Exchange] = []
        rules = RuleContextualizer()
        for question, answer in list(_exchanges(self.messages))[-_LOOKED_AT:]:
            alone = rules.standalone(question[:QUESTION_CHARS].strip(), known).question
            known.append(Exchange(question=alone, answer=extract_answer(answer[:_MOST_READ])))
        return known

    def check(self) -> None:
        """Raises Problem for what is asked and can't be had."""
        for field, given, why in (
            ("tools", self.tools, "No tools are called here: ask without tools."),
            ("functions", self.functions, "No functions are called here: ask without functions."),
            ("n", self.n not in (None, 1), "One choice is made of each question: set n to 1."),
            ("logprobs", self.logprobs or self.top_logprobs, "There are no log probabilities here."),
            ("response_format", self._formed, "Answers are text with citations: schemas are not followed here."),
            ("modalities", set(self.modalities or ()) - {"text"}, "Answers are text."),
        ):
            if given:
                raise Problem(400, "unsupported_parameter", f"{field}: {why}", param=field)
        if not any(each.role == "user" for each in self.messages):
            raise Problem(400, "no_question", "messages: none is a user's, so there is no question.", param="messages")
        for place, each in enumerate(self.messages):
            if each.role == "user" and isinstance(each.content, list) and any(it.type != "text" for it in each.content):
                said = "Only text can be read here: pictures, sounds and files are not looked at."
                raise Problem(400, "unsupported_content", said, param=f"messages.{place}.content")

    @property
    def _formed(self) -> bool:
        return self.response_format is not None and self.response_format.type != "text"


def _exchanges(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Each earlier message of a user with what was answered to it, nothing where nothing was."""
    last = max((place for place, each in enumerate(messages) if each.role == "user"), default=0)
    asked = ""
    for each in messages[:last]:
        if each.role == "user":
            if asked:
                yield asked, ""
            asked = each.text
        elif each.role == "assistant" and asked:
            yield asked, each.text
            asked = ""
    if asked:
        yield asked, ""
