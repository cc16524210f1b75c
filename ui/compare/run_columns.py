"""The lanes of a comparison, drawn as on the Ask page and followed live together, and what differs between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from crag.analysis.comparison import HANDED, Differences, Figure, Item, Marks, Value
from crag.core.events import Event
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Action
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.answer import state_chip
from crag.export.html.elements import Html
from crag.export.html.passage import View
from crag.export.html.safe_text import markdown
from crag.messages.answers import STATES, origin_text, origin_word
from crag.messages.wording import VERDICTS, stored_sentence
from crag.runtime.jobs import Job
from crag.text.formats import money
from ui.app.session import Session
from ui.components import problems
from ui.components.drawing import draw
from ui.run import approval
from ui.run.parts import Part, RunParts


@dataclass(kw_only=True)
class Lane:
    """One run of a comparison. `trace` is what is known of it; `following` says that more will come.

    `letter` is its short name where there are more than two; `opened` the number of the citation whose source is open.
    """

    run: str
    trace: Trace
    job: Job[Event] | None
    following: bool
    name: str = ""
    letter: str = ""
    opened: int | None = None


def load_lane(session: Session, run: str, opened: int | None) -> Lane:
    """The run as it is now. Raises NotFoundError."""
    job = session.job(run)
    running = job is not None and job.running  # before its events are read: if it is over now, these are all
    trace = session.trace(run)
    if job is not None and not running and not trace.finished:
        trace = replace(trace, finished=True)  # it broke off: nothing more will come
    return Lane(run=run, trace=trace, job=job, following=running, opened=opened)


def name_lanes(lanes: Sequence[Lane], called: Callable[[str, Settings], str]) -> None:
    """Give each lane a name that tells it from the others. `called`: see `Session.called`. Raises StorageError."""
    plain = [_name(each.trace, called) for each in lanes]
    for number, (each, name) in enumerate(zip(lanes, plain, strict=True)):
        each.name = f"{name} ({plain[: number + 1].count(name)})" if plain.count(name) > 1 else name
        each.letter = "ABCD"[number] if len(lanes) > 2 else ""


def _name(trace: Trace, called: Callable[[str, Settings], str]) -> str:
    forced = trace.settings.get("forced")
    title = words.strategy(called(trace.strategy, Settings.stored(trace.settings).settings))
    return f"{title}, as if {forced}" if forced else title


def heads(lanes: Sequence[Lane]) -> Html:
    """The lanes' names above their columns, which stay in view."""
    return h.div("cx cmp-heads")[[_head(each) for each in lanes]]


def _head(each: Lane) -> Html:
    trace = each.trace
    state = words.format_duration(trace.seconds) if trace.finished else "running…"
    stored, via = Settings.stored(trace.settings), origin_word(trace.via)
    changed, lost = words.changed(trace.strategy, stored.settings.changed(forced="")), stored_sentence(stored)
    return h.div("cmp-head")[
        each.letter and h.span("tag deciding")[each.letter],
        h.b[each.name],
        state_chip(trace.outcome),
        h.span("small num")[state],
        via and h.span("tag", title=origin_text(trace.via, trace.client))[via],
        changed and h.span("small", title=", ".join(changed))[f"{words.count(len(changed), 'setting')} changed"],
        lost and h.span("small", title=lost)["another version's settings"],
        h.button("more", data_pick=f"open:{each.run}")["Open in Ask"],
    ]


def show(session: Session, each: Lane, parts: RunParts, number: int) -> None:
    """Draw one lane in its column; why it failed, or what it waits for, stands first."""
    with st.container(key=f"cmp-head-{number}"):
        draw(heads([each]))
    with st.container(key=f"cmp-approval-{number}"):
        if each.job is not None and each.job.problem:
            problems.show(each.job.problem)
        approval.ask(session, each.job if session.may("ask") else None, each.trace, f"-{number}")
    names: Sequence[Part] = ("path", "action", "answer", "sources", "chunks", "web", "meter")
    for name in names:
        with st.container(key=f"cmp-{name}-{number}"):
            parts.draw(name)


def parts_of(lanes: Sequence[Lane], labels: Mapping[str, str] | None, found: Differences | None) -> list[RunParts]:
    """What is drawn of each lane: as far as it has come, or, of runs that are over, with what stands out in each."""
    if found is None:
        views = [replace(View.of(each.trace), thumbs=labels) for each in lanes]
        return [_parts(each, view) for each, view in zip(lanes, views, strict=True)]
    names = [each.letter or each.name for each in lanes]
    drawn = []
    for each, marks in zip(lanes, found.marks, strict=True):
        view = View.of(each.trace)
        view = replace(view, thumbs=labels, notes=_notes(marks, names), alone=marks.strips)
        notes = {number: _lacking(places, names) for number, places in marks.sources.items()}
        drawn.append(replace(_parts(each, view), alone=marks.sentences, notes=notes))
    return drawn


def _parts(each: Lane, view: View) -> RunParts:
    return RunParts(trace=each.trace, view=view, opened=each.opened, scope=each.run)


def _notes(marks: Marks, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """What to say of chunks and pages, by id."""
    notes: dict[str, tuple[str, ...]] = {}
    for id, places in marks.found.items():
        notes[id] = (_lacking(places, names),)
    for id, places in marks.used.items():
        alone = len(places) == len(names) - 1
        notes[id] = (*notes.get(id, ()), "used only here" if alone else f"not used in {_joined(places, names)}")
    for id, places in marks.unused.items():
        notes[id] = (*notes.get(id, ()), f"used in {_joined(places, names)}")
    return notes


def _lacking(places: Sequence[int], names: Sequence[str]) -> str:
    return "only here" if len(places) == len(names) - 1 else f"not in {_joined(places, names)}"


def _joined(places: Sequence[int], names: Sequence[str]) -> str:
    return ", ".join(names[place] for place in places)


_LIVE = ("action", "score", "chunks_used", "words", "answer", "seconds")
"""The columns while runs are under way."""


def summary(figures: Sequence[Figure], names: Sequence[str], *, whole: bool) -> list[dict[str, str]]:
    """A row for each figure that differs, a column for each run. Until the runs are over, always the same few."""
    heads = [markdown(name) for name in names]
    shown = [each for each in figures if (each.name == "answer" or each.differs if whole else each.name in _LIVE)]
    rows = [zip(heads, map(partial(_cell, each), each.values), strict=True) for each in shown]
    return [{"What differs": each.label, **dict(cells)} for each, cells in zip(shown, rows, strict=True)]


def alike(figures: Sequence[Figure]) -> str:
    """What is the same in all lanes, and what is marked in them."""
    same = [
        f"{each.label.lower()} {_cell_text(each, each.values[0])}"
        for each in figures
        if not each.differs and each.name != "answer" and each.values[0]
    ]
    said = f"The same in all columns: {'; '.join(same)}. " if same else ""
    if any(each.name == "remembered" and any(each.values) for each in figures):
        said += "Times can't be compared: grades and searches remembered from earlier runs take no time. "
    return markdown(f"{said}Marked below: sentences, strips, chunks and sources that are not in every column.")


def _cell(each: Figure, value: Value) -> str:
    if each.name == "answer":
        return f"**{STATES[value or '']}**"  # type: ignore[index]
    return "–" if value is None else markdown(_cell_text(each, value))


def _cell_text(each: Figure, value: Value) -> str:
    """A value as a person reads it."""
    if isinstance(value, Action):
        return f"{words.ICONS[value]} {VERDICTS[value]}"
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
