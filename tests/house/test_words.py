"""Plain words: a short list of archaic words stays out of the engine's names and texts, and its guides."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.product import ROOT

BANNED = ("told", "anew", "begun", "whoever", "whosoever", "lest", "thereof", "therein", "purse", "reckon")
TEXT = re.compile(rf"\b(?:{'|'.join(BANNED)})\b", re.IGNORECASE)
NAME = re.compile(rf"(?:^|_)(?:{'|'.join(BANNED)})(?:_|$)", re.IGNORECASE)

QUOTED = {"crag/text/forms.py", "crag/text/injection.py"}
"""The forms of words that hostile texts use."""


def modules() -> list[Path]:
    return [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py")), *sorted((ROOT / "crag").rglob("*.py"))]


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def found_in(path: Path) -> Iterator[str]:
    """Each banned word in a module's names, comments and strings, with its line."""
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        pattern = {tokenize.NAME: NAME, tokenize.COMMENT: TEXT, tokenize.STRING: TEXT}.get(token.type)
        for match in pattern.finditer(token.string) if pattern else ():
            line = token.start[0] + token.string.count("\n", 0, match.start())
            yield f"{path.relative_to(ROOT)}:{line}: {match.group()}"


def test_no_name_or_text_of_the_engine_has_one() -> None:
    found = [each for path in modules() if str(path.relative_to(ROOT)) not in QUOTED for each in found_in(path)]
    assert found == []


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_page_has_one(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [f"{number}: {match.group()}" for number, line in enumerate(lines, 1) for match in TEXT.finditer(line)]
    assert found == []


def test_whole_words_are_found_in_names_and_texts() -> None:
    assert NAME.search("is_told") and NAME.search("anew") and not NAME.search("untold")
    assert TEXT.search("Whoever asks.") and not TEXT.search("totold")
