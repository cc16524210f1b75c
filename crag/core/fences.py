"""How text that nobody vouches for is shown to a language model: as data between tags that it can't close."""

from __future__ import annotations

__all__ = ["fenced", "sendable"]


def fenced(tag: str, text: str, **marks: object) -> str:
    """Text between tags that it can't close: data for a model, never instructions."""
    said = "".join(f' {name}="{value}"' for name, value in marks.items())
    return f"<{tag}{said}>\n{sendable(text).replace('<', '‹').replace('>', '›')}\n</{tag}>"


def sendable(text: str) -> str:
    """Text that has a form in UTF-8: half a character becomes a question mark."""
    return text.encode("utf-8", "replace").decode()
