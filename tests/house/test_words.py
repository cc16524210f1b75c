"""Plain words: a short list of archaic or private words stays out of names, comments, docstrings, messages and docs.

The list stands here alone.
"""

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.support.product import ROOT

WORDS = {
    r"told": "say, report, show, distinguish",
    r"anew": "again, rebuild",
    r"begun": "start",
    r"whoever|whosoever": "anyone who, the person who",
    r"lest|thereof|therein|whereof": "so that … not, of it, in it",
    r"reckon(?:s|ed|ing)?": "count, compute, measure",
    r"lacks?": "has no, does not have, without",
    r"held to": "limited to, checked against",
    r"as (?:it|they) stands?": "unchanged",
    r"purses?": "budget",
    r"decks?": "segment",
    r"floods?": "burst, too many",
    r"(?-i:Whose)|(?:says?|said|known?|without|where|is) whose": "name the thing that it is of",
}
"""Words of texts, as patterns, each with what to write instead."""

NAMES = {
    "told": "describe, notify",
    "telling": "informative",
    "anew": "again",
    "begun": "started",
    "purse": "budget",
    "deck": "segment",
    "decks": "segments",
    "flood": "burst",
    "floods": "bursts",
    "shelf": "storage_root",
    "outlet": "emitter",
    "wiring": "provider_plan",
    "wired": "resolved",
    "party": "tenant",
    "lending": "released",
    "addressed": "injections",
    "scene": "slide",
    "scenes": "slides",
    "flips": "changes",
}
"""Words of names, between underscores, each with the field's own."""

TEXT = re.compile(rf"\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)
NAME = re.compile(rf"(?:^|_)(?:{'|'.join(NAMES)})(?=_|$)", re.IGNORECASE)

QUOTED = {"crag/text/forms.py", "crag/text/injection.py", "docs/words.md"}
"""The forms of words that hostile texts use, and the page of this list."""


def find_words(paths: Iterable[Path]) -> list[str]:
    """Each listed word, with its file and line: in a module's names, comments and strings, or in a page's lines."""
    found = []
    for path in paths:
        name = str(path.relative_to(ROOT))
        if name not in QUOTED:
            read = read_module if path.suffix == ".py" else read_page
            found += [f"{name}:{line}: {word}" for line, word in read(path.read_text(encoding="utf-8"))]
    return found


def read_module(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        pattern = {tokenize.NAME: NAME, tokenize.COMMENT: TEXT, tokenize.STRING: TEXT}.get(token.type)
        for match in pattern.finditer(token.string) if pattern else ():
            yield token.start[0] + token.string.count("\n", 0, match.start()), match.group()


def read_page(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        yield from ((number, match.group()) for match in TEXT.finditer(line))


def modules(*folders: str) -> list[Path]:
    return [path for name in folders for path in sorted((ROOT / name).rglob("*.py"))]


def test_the_engine_has_none() -> None:
    assert find_words(modules("crag")) == []


def test_the_docs_have_none() -> None:
    assert find_words([ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]) == []


def test_the_app_has_none() -> None:
    assert find_words([ROOT / "app.py", *modules("ui", "pages")]) == []


def test_whole_words_are_found_in_names_and_texts() -> None:
    assert NAME.search("is_told") and NAME.search("_flips") and not NAME.search("untold")
    assert TEXT.search("Whoever asks.") and TEXT.search("It says whose it is.")
    assert not TEXT.search("totold") and not TEXT.search("a page whose address is known")
