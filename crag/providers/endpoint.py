"""Where a model is served, with which key, and what it replied: its text, or the object that was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from langchain_core.messages import AIMessage, AIMessageChunk
from pydantic import BaseModel, SecretStr, ValidationError

from crag.core.errors import ReplyError
from crag.core.model_ids import Maker
from crag.core.protocols import Parsed
from crag.text.characters import WholePieces, read_json

OPENAI = "https://api.openai.com/v1"
"""Where OpenAI's own models are served, whatever the environment says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a model is served. `key` is not part of its text forms; many local servers want none.

    `file`: the model file that this process runs itself, with `threads` threads, 0 for all cores but one. `mark` is
    another where its content is.
    """

    provider: str
    model: str
    base_url: str | None = None
    key: SecretStr | None = None
    file: Path | None = None
    mark: str = ""
    threads: int = 0

    @property
    def line(self) -> tuple[str | None, int]:
        """Tells this address and key from others of the same name; of use to this process alone."""
        return self.base_url, hash(self.key.get_secret_value() if self.key else "")

    @property
    def id(self) -> str:
        """Names provider and model, and the server where it is not the provider's own: grades are kept by it.

        Of a model file the mark of its content stands where the server would.
        """
        host = self.mark or urlsplit(self.base_url or "").netloc
        return Maker(model=self.model, provider=self.provider, host=host).id


def read(schema: type[Parsed], reply: str) -> Parsed:
    """The object in a reply. Raises ReplyError, which says what is wrong with it."""
    begin, end = reply.find("{"), reply.rfind("}")
    if not 0 <= begin < end:
        raise ReplyError("it holds no JSON object")
    try:
        return schema.model_validate(read_json(reply[begin : end + 1]))
    except (ValueError, RecursionError) as error:  # JSON's and pydantic's; and objects in objects without end
        problem = "it is no valid JSON"
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False, include_input=False)[0]
            problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise ReplyError(problem) from error


def strict(schema: type[BaseModel]) -> dict[str, Any]:
    """The schema as servers of strict output want it: all properties required, no others allowed, no ranges."""
    form = schema.model_json_schema()
    for part in (form, *form.get("$defs", {}).values()):
        if "properties" in part:
            part["required"], part["additionalProperties"] = list(part["properties"]), False
            for each in part["properties"].values():
                for limit in ("minimum", "maximum", "maxLength", "minLength", "default", "title"):
                    each.pop(limit, None)
    return form


class ThoughtOnlyError(Exception):
    """A reply that ended at its limit with nothing said: the model was still thinking. `reply`: the message."""

    def __init__(self, reply: Any) -> None:
        self.reply = reply
        super().__init__("a reply of thoughts alone")


def extract_message(message: Any) -> Any:
    """The message. Raises ThoughtOnlyError where it holds nothing but thoughts, cut off."""
    cut = getattr(message, "response_metadata", {}).get("finish_reason") == "length"
    if cut and not text_of(message).strip():
        raise ThoughtOnlyError(message)
    return message


def text_of(message: Any) -> str:
    """What a message says, without the thoughts before it; of a piece of a stream, all."""
    if not isinstance(message, AIMessage):
        return ""
    return message.text if isinstance(message, AIMessageChunk) else Speech().heard(message.text, last=True)


class Speech:
    """A reply without the thoughts that some servers leave before it, between <think> tags; also piece by piece.

    A character that two pieces share comes with the second.
    """

    def __init__(self) -> None:
        self._pieces = WholePieces()
        self._held = ""
        """What may yet turn out to be thoughts or the end of them."""
        self._state: Literal["before", "thoughts", "after", "started"] = "before"

    def heard(self, piece: str, *, last: bool = False) -> str:
        """What of the reply is known now and was not before."""
        piece = self._pieces.heard(piece, last=last)
        if self._state == "started":
            return piece
        held, self._held = self._held + piece, ""
        if self._state == "before":
            held = held.lstrip()
            if held.startswith(_OPEN):
                self._state, held = "thoughts", held[len(_OPEN) :]
            elif _OPEN.startswith(held):  # it may yet become the tag
                self._held = held
                return ""
        if self._state == "thoughts":
            _, closed, rest = held.partition(_CLOSE)
            if not closed:
                self._held = held[-len(_CLOSE) :]
                return ""
            self._state, held = "after", rest
        if self._state == "after":
            held = held.lstrip()
        self._state = "started" if held else self._state
        return held


_OPEN, _CLOSE = "<think>", "</think>"
