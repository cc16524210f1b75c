"""The style sheet and the scripts of pages, by their files' names."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from crag.export.html.elements import Html

_FOLDER = Path(__file__).parent / "static"


@cache
def asset(name: str) -> Html:
    """A style sheet or script of the program's own, by its file's name."""
    return Html((_FOLDER / name).read_text(encoding="utf-8"))
