"""What a question names, and where that stands: in the sentence that answers, in its heading, or only around it. Pure.

A model that reads a passage as a whole finds every word of the question somewhere in it. So the figures and the names
of the question are looked for in the sentence itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from crag.text.names import Names, names_in
from crag.text.numerals import numbers_in

PLACES = ("sentence", "heading", "elsewhere", "absent")
"""Where what is asked for stands: the first of the places that has it."""

Figure = tuple[str, float | str]
"""Its kind, and its value: figures of one kind can stand for one another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """The shares of the question's figures and names, 0..1, that stand at each of `PLACES`; zeros where it has none.

    `missed`: a figure of the question that is not in the sentence, and the one of its kind that it has; empty for none.
    """

    figures: tuple[float, ...]
    names: tuple[float, ...]
    missed: tuple[str, str] | tuple[()] = ()


def bind(question: str, sentence: str, heading: str, around: str) -> Binding:
    """Look for what the question names. `around`: the rest of the passage that holds the sentence."""
    asked, here = _figures(question), _figures(sentence)
    rivals = ((asked[figure], here[other]) for figure in asked for other in _rivals(figure, here, asked))
    return Binding(
        figures=_shares(
            [[figure in place for place in (here, _figures(heading), _figures(around))] for figure in asked]
        ),
        names=_bind_names(question, [sentence, heading, around]),
        missed=next(rivals, ()),
    )


def share_figures(question: str, text: str) -> float:
    """The share of the question's figures that a text has, 0..1; 0 where it has none."""
    asked = _figures(question)
    return len(asked.keys() & _figures(text).keys()) / len(asked) if asked else 0.0


def _figures(text: str) -> dict[Figure, str]:
    """The figures of a text in digits, and its ordinals, each as it is written."""
    found: dict[Figure, str] = {}
    for number in numbers_in(text):
        if number.kind == "code":
            found["code", number.text.casefold()] = number.text
        elif number.kind != "words" and number.values:
            value = number.values[0]
            year = number.kind == "digits" and len(number.text) == 4 and 1500 <= value < 2100
            found["year" if year else number.kind, value] = number.text
    return found


def _rivals(figure: Figure, here: Collection[Figure], asked: Collection[Figure]) -> Iterator[Figure]:
    """The sentence's figures that could be meant in its place."""
    if figure not in here:
        yield from (other for other in here if other[0] == figure[0] and other not in asked)


def _bind_names(question: str, texts: Sequence[str]) -> tuple[float, ...]:
    asked = names_in(question)
    places = [Names(text) for text in texts] if asked else []
    return _shares([[place.holds(name) for place in places] for name in asked])


def _shares(held: Sequence[Sequence[bool]]) -> tuple[float, ...]:
    """Of what each of the places holds, by the first that does: the share at each of `PLACES`."""
    first = [places.index(True) if any(places) else len(PLACES) - 1 for places in held]
    return tuple(first.count(at) / len(first) if first else 0.0 for at in range(len(PLACES)))
