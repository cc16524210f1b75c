"""An answer as a message of a chat: its words as they come, then its footnotes. And such a message read back.

Programs that show chats read messages as Markdown. A word of a document must not make one of them load a picture,
follow a link or build a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from crag.core.makers import name_in_sentence
from crag.core.trace import Trace
from crag.core.types import Answer
from crag.export.markdown import UNSEEN, escape_markdown, place
from crag.export.wording import flag_text
from crag.generation.citations import MARK
from crag.messages.answers import disagreement_sentence
from crag.messages.wording import failure_sentence, short_text, unnamed_sentence

__all__ = ["Harmless", "closing", "extract_answer", "opening"]

_RULE = "\n\n---\n\n"
"""Stands between an answer and its footnotes."""
_OPENED = re.compile(r"\*\*((?:\\.|[^*\\\n])+)\*\* \[\d+\]\n\n")
_ESCAPED = re.compile(r"\\(?=[^\w\s])")


class Harmless:
    """Text, piece by piece, in which Markdown finds no link, picture or element. Where it is cut makes no difference.

    A backslash parts the characters that would begin one; all else stays as it is, marks like [1] too.
    """

    def __init__(self) -> None:
        self._before = ""

    def __call__(self, piece: str) -> str:
        """The next piece."""
        made = []
        for letter in UNSEEN.sub("", piece):
            if (self._before == "]" and letter in "(:") or (
                self._before == "<" and (letter.isalpha() or letter in "/!?")
            ):
                made.append("\\")
            made.append(letter)
            self._before = letter
        return "".join(made)


def opening(answer: Answer) -> str:
    """The few words that answer, which stand before the quotes that they are in; empty where there are none."""
    return f"**{escape_markdown(short_text(answer.short))}** [{answer.short.citation}]\n\n" if answer.short else ""


def closing(trace: Trace) -> str:
    """What stands under an answer: its sources by their numbers, and what is doubtful of it. Empty for neither."""
    answer = trace.answer
    if answer is None or answer.abstained:
        return ""
    lines = [f"[{each.number}] {place(each)}" for each in answer.citations]
    lines += [f"*{escape_markdown(said)}*" for said in _doubts(trace, answer)]
    return _RULE + "  \n".join(lines) if lines else ""


def extract_answer(message: str) -> str:
    """What a message that a chat sends back answers: the few words that it opens with, or all without its footnotes."""
    opened = _OPENED.match(message)
    said = opened.group(1) if opened else message.partition(_RULE)[0]
    return " ".join(MARK.sub("", _ESCAPED.sub("", said)).split())


def _doubts(trace: Trace, answer: Answer) -> Iterator[str]:
    yield from (failure_sentence(each, name_in_sentence) for each in trace.failures if each.instead == "quotes")
    if answer.unnamed:
        yield unnamed_sentence(answer.unnamed)
    if answer.low_confidence:
        yield "Low confidence: what was found is weak. Check the pages it cites."
    known = {each.number for each in answer.citations}
    for check in trace.checks:
        if flag := flag_text(check, known):
            yield f"{flag[0].upper()}{flag[1:]}: {check.sentence}"
    for each in answer.disagreements:
        yield disagreement_sentence(each)
