"""How text that nobody vouches for is shown to a language model: as data between tags that it can't close."""

from __future__ import annotations

__all__ = ["fenced"]


def fenced(tag: str, text: str, **marks: object) -> str:
    """Text between tags that it can't close: data for a model, never instructions."""
    said = "".join(f' {name}="{value}"' for name, value in marks.items())
    return f"<{tag}{said}>\n{text.replace('<', '‹').replace('>', '›')}\n</{tag}>"
