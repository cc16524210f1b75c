"""What differs between the runs of a comparison, as a table, as a list, and as files."""

from __future__ import annotations

from collections.abc import Sequence

from crag.comparing.differences import Differences, Figure, Item, Value
from crag.core.types import Action
from crag.spending.prices import money
from ui.compare.lanes import Lane
from ui.kit import words
from ui.kit.safe import excerpt, text
from ui.run.path import chip

__all__ = ["items", "lead", "summary"]

_LIVE = ("action", "score", "chunks_used", "characters", "answer", "seconds")
"""The columns while runs are under way."""
_KINDS = {
    "chunk": "Chunk",
    "page": "Web page",
    "strip": "Strip",
    "source": "Source",
    "sentence": "Sentence",
}
_LISTED = 60


def summary(figures: Sequence[Figure], lanes: Sequence[Lane], *, whole: bool) -> str:
    """A row a lane with the figures that differ; beneath, what is the same in all.

    Until the runs are over, `whole` is False: then the columns are always the same few.
    """
    apart = [each for each in figures if (each.name == "action" or each.differs if whole else each.name in _LIVE)]
    head = "".join(f'<th scope="col">{text(each.label)}</th>' for each in apart)
    rows = "".join(_row(lane, [(each, each.values[place]) for each in apart]) for place, lane in enumerate(lanes))
    return (
        '<div class="cx"><table class="grid cmp-table"><thead><tr><th scope="col">What differs</th>'
        f"{head}</tr></thead><tbody>{rows}</tbody></table>{_alike(figures, apart) if whole else ''}</div>"
    )


def _row(lane: Lane, values: Sequence[tuple[Figure, Value]]) -> str:
    letter = f'<span class="cmp-letter">{lane.letter}</span> ' if lane.letter else ""
    cells = "".join(
        f'<td data-label="{text(each.label)}"><span>{_cell(each, value)}</span></td>' for each, value in values
    )
    return f'<tr><th scope="row">{letter}{text(lane.name)}</th>{cells}</tr>'


def _alike(figures: Sequence[Figure], apart: Sequence[Figure]) -> str:
    same = [
        f"{each.label.lower()} {_cell_text(each, each.values[0])}"
        for each in figures
        if each not in apart and each.values[0]
    ]
    said = f"The same in all lanes: {'; '.join(same)}. " if same else ""
    return (
        f'<p class="legend">{text(said)}Marked in the lanes: <span class="alone">sentences</span> and strips, '
        "chunks and sources that not all have.</p>"
    )


def _cell(each: Figure, value: Value) -> str:
    if each.name in ("action", "scores_say"):
        return chip(Action(str(value)) if value else None)
    return '<span class="quiet">–</span>' if value is None else text(_cell_text(each, value))


def _cell_text(each: Figure, value: Value) -> str:
    """A value as a person reads it."""
    if value is None or isinstance(value, str):
        return value or "none"
    if each.unit == "s":
        return words.duration(value)
    if each.unit == "$":
        return money(value)
    if each.unit == "share":
        return f"{value:.0%}"
    return f"{value:.2f}" if isinstance(value, float) else f"{value:,}"


def lead(found: Differences) -> str:
    """The comparison in two plain sentences: answers, then evidence."""
    return f'<div class="cx"><p class="cmp-lead">{text(" ".join([_answers(found), _evidence(found)]))}</p></div>'


def _answers(found: Differences) -> str:
    ended = next(each.values for each in found.figures if each.name == "answer")
    spoken = next(each.values for each in found.figures if each.name == "sentences")
    apart = [item for item in found.items if item.kind == "sentence"]
    if not any(spoken):
        return "No lane gives an answer." if set(ended) != {None} else ""
    if not apart:
        return "The answers say the same."
    silent = [name for name, number in zip(found.names, spoken, strict=True) if not number]
    alone = sum(1 for item in apart if item.states.count("said") == 1)
    if silent:
        return f"{' and '.join(silent)} {'gives' if len(silent) == 1 else 'give'} no answer where others do."
    return (
        f"The answers differ: {words.count(alone, 'sentence')} {'stands' if alone == 1 else 'stand'} in one lane alone."
    )


def _evidence(found: Differences) -> str:
    chunks = [item for item in found.items if item.kind in ("chunk", "page")]
    if not chunks:
        return "All lanes use the same chunks and web pages."
    used = [item for item in chunks if "used" in item.states]
    missing = [item for item in chunks if "not found" in item.states]
    more = f"; {_counted(missing)} {'was' if len(missing) == 1 else 'were'} found in some lanes only" if missing else ""
    return f"{_counted(used)} {'is' if len(used) == 1 else 'are'} used in some lanes only{more}."


def _counted(items: Sequence[Item]) -> str:
    """Chunks and web pages, each kind that there is."""
    kinds = {"chunk": "chunk", "page": "web page"}
    numbers = {noun: sum(1 for item in items if item.kind == kind) for kind, noun in kinds.items()}
    return " and ".join(words.count(number, noun) for noun, number in numbers.items() if number) or "No chunk"


def items(found: Differences) -> str:
    """Everything that the lanes treat differently, folded; the export has all of it."""
    if not found.items:
        return ""
    head = "".join(f"<th>{text(name)}</th>" for name in found.names)
    rows = "".join(_item(item, found.names) for item in found.items[:_LISTED])
    more = f'<p class="small">And {len(found.items) - _LISTED:,} more: the export has all.</p>'
    return (
        f'<div class="cx"><details class="fold" data-keep="differences"><summary>'
        f"All {words.count(len(found.items), 'difference')}</summary>"
        f'<table class="grid cmp-table cmp-items"><thead><tr><th>What</th>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table>{more if len(found.items) > _LISTED else ''}</details></div>"
    )


def _item(item: Item, names: Sequence[str]) -> str:
    cells = "".join(
        f'<td data-label="{text(name)}" class="{"" if state in ("used", "kept", "cited", "said") else "quiet"}">'
        f"<span>{text(state)}</span></td>"
        for name, state in zip(names, item.states, strict=True)
    )
    return (
        f'<tr><th scope="row"><span class="tag">{_KINDS[item.kind]}</span> {text(excerpt(item.what, 140))}'
        f'<span class="small">{text(item.where)}</span></th>{cells}</tr>'
    )
