"""What a message of a chat model says, without the thoughts before it; whole or piece by piece."""

from __future__ import annotations

from typing import Any, Literal

from langchain_core.messages import AIMessage, AIMessageChunk

from crag.text.characters import WholePieces


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
