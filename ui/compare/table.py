"""What differs between the runs of a comparison, as a table, as a list, and as files."""

from __future__ import annotations

from collections.abc import Sequence

from crag.analysis.comparison import HANDED, Differences, Figure, Item, Value
from crag.core.types import Action
from crag.text.formats import money
from ui.compare.run_columns import Lane
from ui.components import html as h
from ui.components import words
from ui.components.html import Html
from ui.components.safe_text import excerpt
from ui.run.path import chip

_LIVE = ("action", "score", "chunks_used", "words", "answer", "seconds")
"""The columns while runs are under way."""
_KINDS = {
    "chunk": "Chunk",
    "page": "Web page",
    "strip": "Strip",
    "source": "Source",
    "sentence": "Sentence",
}
_LISTED = 60


def summary(figures: Sequence[Figure], lanes: Sequence[Lane], *, whole: bool) -> Html:
    """A row a lane with the figures that differ; beneath, what is the same in all.

    Until the runs are over, `whole` is False: then the columns are always the same few.
    """
    apart = [each for each in figures if (each.name == "action" or each.differs if whole else each.name in _LIVE)]
    head = [h.th(scope="col")[each.label] for each in apart]
    rows = [_row(lane, [(each, each.values[place]) for each in apart]) for place, lane in enumerate(lanes)]
    return h.div("cx")[
        h.table("grid cmp-table")[h.thead[h.tr[h.th(scope="col")["What differs"], head]], h.tbody[rows]],
        _alike(figures, apart) if whole else "",
    ]


def _row(lane: Lane, values: Sequence[tuple[Figure, Value]]) -> Html:
    letter = lane.letter and (h.span("cmp-letter")[lane.letter], " ")
    cells = [h.td(data_label=each.label)[h.span[_cell(each, value)]] for each, value in values]
    return h.tr[h.th(scope="row")[letter, lane.name], cells]


def _alike(figures: Sequence[Figure], apart: Sequence[Figure]) -> Html:
    same = [
        f"{each.label.lower()} {_cell_text(each, each.values[0])}"
        for each in figures
        if each not in apart and each.values[0]
    ]
    said = f"The same in all columns: {'; '.join(same)}. " if same else ""
    if any(each.name == "remembered" and any(each.values) for each in figures):
        said += "Times can't be compared: grades and searches remembered from earlier runs take no time. "
    return h.p("legend")[
        f"{said}Marked in the columns: ",
        h.span("alone")["sentences"],
        ", strips, chunks and sources that are not in every column.",
    ]


def _cell(each: Figure, value: Value) -> Html:
    if each.name in ("action", "scores_say"):
        return chip(Action(str(value)) if value else None)
    return h.span("quiet")["–"] if value is None else h.fragment(_cell_text(each, value))


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


def lead(found: Differences) -> Html:
    """The comparison in two plain sentences: answers, then evidence."""
    return h.div("cx")[h.p("cmp-lead")[" ".join([_answers(found), _evidence(found)])]]


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


def items(found: Differences) -> Html:
    """Everything that the lanes treat differently, folded; the export has all of it."""
    if not found.items:
        return Html()
    head = [h.th[name] for name in found.names]
    rows = [_item(item, found.names) for item in found.items[:_LISTED]]
    more = h.p("small")[f"And {len(found.items) - _LISTED:,} more: the export has all."]
    return h.div("cx")[
        h.details("fold", data_keep="differences")[
            h.summary[f"All {words.count(len(found.items), 'difference')}"],
            h.table("grid cmp-table cmp-items")[h.thead[h.tr[h.th["What"], head]], h.tbody[rows]],
            more if len(found.items) > _LISTED else "",
        ]
    ]


def _item(item: Item, names: Sequence[str]) -> Html:
    return h.tr[
        h.th(scope="row")[h.span("tag")[_KINDS[item.kind]], f" {excerpt(item.what, 140)}", h.span("small")[item.where]],
        (
            h.td(data_label=name, class_="" if state in ("used", "kept", "cited", "said") else "quiet")[h.span[state]]
            for name, state in zip(names, item.states, strict=True)
        ),
    ]
