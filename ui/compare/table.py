"""What differs between the runs of a comparison, as a table and in words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from crag.analysis.comparison import HANDED, Differences, Figure, Item, Value
from crag.core.types import Action
from crag.export.html import words
from crag.export.html.safe_text import markdown
from crag.text.formats import money

_LIVE = ("action", "score", "chunks_used", "words", "answer", "seconds")
"""The columns while runs are under way."""


def summary(figures: Sequence[Figure], names: Sequence[str], *, whole: bool) -> list[dict[str, str]]:
    """A row for each figure that differs, a column for each run. Until the runs are over, always the same few."""
    heads = [markdown(name) for name in names]
    shown = [each for each in figures if (each.name == "action" or each.differs if whole else each.name in _LIVE)]
    rows = [zip(heads, map(partial(_cell, each), each.values), strict=True) for each in shown]
    return [{"What differs": each.label, **dict(cells)} for each, cells in zip(shown, rows, strict=True)]


def alike(figures: Sequence[Figure]) -> str:
    """What is the same in all lanes, and what is marked in them."""
    same = [
        f"{each.label.lower()} {_cell_text(each, each.values[0])}"
        for each in figures
        if not each.differs and each.name != "action" and each.values[0]
    ]
    said = f"The same in all columns: {'; '.join(same)}. " if same else ""
    if any(each.name == "remembered" and any(each.values) for each in figures):
        said += "Times can't be compared: grades and searches remembered from earlier runs take no time. "
    return markdown(f"{said}Marked below: sentences, strips, chunks and sources that are not in every column.")


def _cell(each: Figure, value: Value) -> str:
    if each.name in ("action", "scores_say"):
        return f"**{words.ICONS[Action(str(value))]} {value}**" if value else "no action"
    return "–" if value is None else markdown(_cell_text(each, value))


def _cell_text(each: Figure, value: Value) -> str:
    """A value as a person reads it."""
    if value is None or isinstance(value, str):
        return value or "none"
    if each.unit == "s":
        return words.format_duration(value)
    if each.unit == "$":
        return money(value)
    if each.unit == "share":
        return f"{value:.0%}"
    return f"{value:.2f}" if isinstance(value, float) else f"{value:,}"


def lead(found: Differences) -> str:
    """The comparison in two plain sentences: answers, then evidence."""
    return markdown(" ".join([_answers(found), _evidence(found)]))


def _handing(found: Differences, ended: Sequence[Value]) -> str:
    names = [name for name, how in zip(found.names, ended, strict=True) if how == HANDED]
    return f"{' and '.join(names)} returned the evidence alone"


def _answers(found: Differences) -> str:
    ended = next(each.values for each in found.figures if each.name == "answer")
    spoken = next(each.values for each in found.figures if each.name == "sentences")
    apart = [item for item in found.items if item.kind == "sentence"]
    if not any(spoken):
        if HANDED in ended:
            return f"{_handing(found, ended)}; no column has an answer."
        return "No column has an answer." if set(ended) != {None} else ""
    if sum(number is not None for number in spoken) == 1:
        return f"{_handing(found, ended)}: one answer, and nothing to compare it with."
    if not apart:
        return "The answers say the same."
    silent = [name for name, number in zip(found.names, spoken, strict=True) if number == 0]
    alone = sum(1 for item in apart if item.states.count("said") == 1)
    if silent:
        return f"{' and '.join(silent)} {'gives' if len(silent) == 1 else 'give'} no answer where others do."
    stand = "stands" if alone == 1 else "stand"
    return f"The answers differ: {words.count(alone, 'sentence')} {stand} in one column only."


def _evidence(found: Differences) -> str:
    chunks = [item for item in found.items if item.kind in ("chunk", "page")]
    if not chunks:
        return "All columns use the same chunks and web pages."
    used = [item for item in chunks if "used" in item.states]
    missing = [item for item in chunks if "not found" in item.states]
    more = (
        f"; {_counted(missing)} {'was' if len(missing) == 1 else 'were'} found in some columns only" if missing else ""
    )
    return f"{_counted(used)} {'is' if len(used) == 1 else 'are'} used in some columns only{more}."


def _counted(items: Sequence[Item]) -> str:
    """Chunks and web pages, each kind that there is."""
    kinds = {"chunk": "chunk", "page": "web page"}
    numbers = {noun: sum(1 for item in items if item.kind == kind) for kind, noun in kinds.items()}
    return " and ".join(words.count(number, noun) for noun, number in numbers.items() if number) or "No chunk"
