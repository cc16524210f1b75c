"""Figures of an answer that stand nowhere in what is cited, marked where they are."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence

from crag.core.types import Answer, FigureCheck, SentenceCheck
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.elements import Html
from crag.export.html.passage import Layer
from crag.generation.citations import MARK
from crag.messages.answers import (
    contradiction_parts,
    disagreement_parts,
    figure_sentence,
    figures_sentences,
    remarkable,
)

_SIGN = "?"
"""Beside the figure, since a line below it alone is easily overlooked."""


def figures_layer(answer: str, sentences: Iterable[tuple[int, int, SentenceCheck]]) -> Layer:
    """Marks each figure that is to be marked; `sentences` as `locate_checks` gives them.

    A check's sentence has other spaces and no marks, so that letters are counted.
    """
    bare = MARK.sub(lambda mark: " " * len(mark.group()), answer)
    found: list[tuple[int, int, FigureCheck]] = []
    for start, end, check in sentences:
        marked = remarkable([check])
        if not marked:
            continue
        letters = [place for place in range(start, end) if not bare[place].isspace()]
        own = [place for place, letter in enumerate(check.sentence) if not letter.isspace()]
        for figure in marked:
            first, last = bisect_left(own, figure.start), bisect_left(own, figure.end) - 1
            if first <= last < len(letters):
                found.append((letters[first], letters[last] + 1, figure))
    return sorted(found, key=lambda each: each[:2]), _draw_figure


def _draw_figure(figure: FigureCheck, inside: Html, *place: int) -> Html:
    sign = h.span("sign", aria_hidden="true")[_SIGN]
    return h.span(f"figure {figure.state}", title=words.sentence(figure_sentence(figure)))[inside, sign]


def remarks(checks: Sequence[SentenceCheck]) -> list[Html]:
    """What is remarked of each marked figure, in words under the answer."""
    return [h.fragment(h.span("tag")["Figure"], " ", words.sentence(said)) for said in figures_sentences(checks)]


def disagreements(whole: Answer, button: Callable[[int], Html]) -> Html:
    """What a table says otherwise and the sources disagree on, each value with its source's button; else nothing."""
    against = _note("Contradiction.", contradiction_parts(whole), button)
    return h.fragment(
        against, [_note("Disagreement.", disagreement_parts(each), button) for each in whole.disagreements]
    )


def _note(head: str, parts: Sequence[str | int], button: Callable[[int], Html]) -> Html:
    if not parts:
        return Html()
    said = [h.fragment(" ", button(part)) if isinstance(part, int) else part for part in parts]
    return h.div("note disagree", role="note")[h.b[head], " ", said]
