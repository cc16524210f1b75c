"""What the check of an answer's sentences found wanting: which sentence stands where, and what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from crag.core.makers import named
from crag.core.types import SentenceCheck
from crag.core.wording import check_sentence
from crag.generate.citations import MARK
from ui.kit import words

__all__ = ["Flag", "flag", "placed"]

_BEHIND = re.compile(rf"(?:\s*{MARK.pattern})*")


@dataclass(frozen=True, slots=True)
class Flag:
    """A sentence's fault: `name` is what its tag says, `kind` how it looks, `why` the whole reason."""

    name: str
    kind: str
    why: str


def flag(check: SentenceCheck, known: Collection[int]) -> Flag | None:
    """What is wrong with a sentence, if anything; `known` are the numbers that stand for a source."""
    if check.supported:
        return None
    if not check.citations:
        return Flag("no citation", "unchecked", "This sentence names no source, so nothing can be checked.")
    if any(number not in known for number in check.citations):
        note = check_sentence(check) if check.note == "invented" else "it cites what is no source"
        return Flag("invented citation", "flagged", words.sentence(note))
    note = words.sentence(check_sentence(check, named))
    if check.supported is None:
        return Flag("not checked", "unchecked", note or "The check did not come to a result.")
    score = f" Score {check.score:.2f}." if check.score is not None else ""
    return Flag("unsupported", "flagged", f"No cited text supports this sentence.{score} {note}".strip())


def placed(answer: str, checks: Sequence[SentenceCheck]) -> Iterator[tuple[int, int, SentenceCheck]]:
    """Each check with start and end of its sentence, marks behind it included, in order; those not found left out.

    A check's sentence is without its marks, which stand before or behind the stop in the answer, and its spaces are
    other ones: so only what is neither is compared.
    """
    kept = [place for place, letter in enumerate(MARK.sub(_blank, answer)) if not letter.isspace()]
    letters = "".join(answer[place] for place in kept)
    at = 0
    for check in checks:
        wanted = "".join(check.sentence.split())
        found = letters.find(wanted, at) if wanted else -1
        if found < 0:
            continue
        at = found + len(wanted)
        behind = _BEHIND.match(answer, kept[at - 1] + 1)
        yield kept[found], behind.end() if behind else kept[at - 1] + 1, check


def _blank(mark: re.Match[str]) -> str:
    return " " * len(mark.group())
