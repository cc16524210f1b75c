"""The lanes of a comparison: each run drawn as on the Ask page, followed live together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from crag.analysis.comparison import Differences, Marks
from crag.core.events import Event
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.messages.answers import origin_text, origin_word
from crag.messages.wording import stored_sentence
from crag.runtime.jobs import Job
from ui.app.session import Session
from ui.components import html as h
from ui.components import problems, words
from ui.components.drawing import draw
from ui.components.html import Html
from ui.run import approval
from ui.run.passage import View
from ui.run.path import chip
from ui.run.slots import Slots

_INTERVAL = 0.05
"""Seconds that each lane's events are waited for in turn."""


@dataclass(kw_only=True)
class Lane:
    """One run of a comparison. `trace` is what is known of it; `following` says that more will come.

    `letter` is its short name where there are more than two.
    """

    run: str
    trace: Trace
    job: Job[Event] | None
    following: bool
    name: str = ""
    letter: str = ""
    slots: Slots = field(default_factory=Slots)
    asking: Any = None


def load_lane(session: Session, run: str, opened: int | None) -> Lane:
    """The run as it is now. Raises NotFoundError."""
    job = session.job(run)
    running = job is not None and job.running  # before its events are read: if it is over now, these are all
    trace = session.trace(run)
    if job is not None and not running and not trace.finished:
        trace = replace(trace, finished=True)  # it broke off: nothing more will come
    return Lane(run=run, trace=trace, job=job, following=running, slots=Slots(opened, run))


def name_lanes(lanes: Sequence[Lane]) -> None:
    """Give each lane a name that tells it from the others."""
    plain = [_name(each.trace) for each in lanes]
    for number, (each, name) in enumerate(zip(lanes, plain, strict=True)):
        each.name = f"{name} ({plain[: number + 1].count(name)})" if plain.count(name) > 1 else name
        each.letter = "ABCD"[number] if len(lanes) > 2 else ""


def _name(trace: Trace) -> str:
    forced, title = trace.settings.get("forced"), words.strategy(trace.strategy)
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
        each.letter and h.span("cmp-letter")[each.letter],
        h.span("name")[each.name],
        chip(trace.action),
        h.span("small num")[state],
        via and h.span("tag", title=origin_text(trace.via, trace.client))[via],
        changed and h.span("small", title=", ".join(changed))[f"{words.count(len(changed), 'setting')} changed"],
        lost and h.span("small", title=lost)["another version's settings"],
        h.button("more", data_pick=f"open:{each.run}")["Open in Ask"],
    ]


def lay_out(session: Session, each: Lane, number: int) -> None:
    """Lay out one lane's fixed places in its column."""

    def slot(part: str) -> Any:
        with st.container(key=f"cmp-{part}-{number}"):
            return st.empty()

    draw(heads([each]), slot("head"))
    with st.container(key=f"cmp-approval-{number}"):
        each.asking = st.empty()
    with each.asking.container():
        if each.job is not None and each.job.problem:
            problems.show(each.job.problem)
        approval.ask(session, each.job if session.may("ask") else None, each.trace, f"-{number}")
    for part in ("path", "action", "answer", "sources", "chunks", "web", "meter"):
        setattr(each.slots, part, slot(part))


def finish(session: Session, each: Lane) -> None:
    """Know the lane's run as it is now that it is over, and say why where it failed. Raises NotFoundError."""
    trace = session.trace(each.run)
    each.trace, each.following = trace if trace.finished else replace(trace, finished=True), False
    each.asking.empty()
    if each.job is not None and each.job.problem:
        with each.asking.container():
            problems.show(each.job.problem)


def draw_lane(each: Lane, labels: Mapping[str, str] | None) -> None:
    """Draw a lane as far as it has come."""
    each.slots.write(each.trace, replace(View.of(each.trace), thumbs=labels))


def draw_all(lanes: Sequence[Lane], labels: Mapping[str, str] | None, found: Differences) -> None:
    """Draw the lanes with what stands out in each."""
    names = [each.letter or each.name for each in lanes]
    for each, marks in zip(lanes, found.marks, strict=True):
        view = View.of(each.trace)
        view = replace(view, thumbs=labels, notes=_notes(marks, names), alone=marks.strips, missed=marks.missed)
        notes = {number: _lacking(places, names) for number, places in marks.sources.items()}
        each.slots.write(each.trace, view, alone=marks.sentences, notes=notes)


def _notes(marks: Marks, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """What to say of chunks and pages, by id."""
    notes: dict[str, tuple[str, ...]] = {}
    for id, places in marks.found.items():
        notes[id] = (_lacking(places, names),)
    for id, places in marks.used.items():
        alone = len(places) == len(names) - 1
        notes[id] = (*notes.get(id, ()), "used here alone" if alone else f"not used in {_joined(places, names)}")
    for id, places in marks.unused.items():
        notes[id] = (*notes.get(id, ()), f"used in {_joined(places, names)}")
    return notes


def _lacking(places: Sequence[int], names: Sequence[str]) -> str:
    return "only here" if len(places) == len(names) - 1 else f"not in {_joined(places, names)}"


def _joined(places: Sequence[int], names: Sequence[str]) -> str:
    return ", ".join(names[place] for place in places)


def follow_all(lanes: Sequence[Lane], labels: Mapping[str, str] | None, redraw: Any) -> None:
    """Draw all lanes as their events come, until all are over or one waits for another word than is on the page.

    `redraw` is called after every round of the lanes. Any touch of a widget interrupts here and harms nothing.
    """
    asked = [approval.pending(each.trace) for each in lanes]
    following = [(each, each.job.follow(_INTERVAL)) for each in lanes if each.job is not None and each.following]
    for each, _ in following:
        each.trace = Trace()
    for each in lanes:
        if not each.following:
            draw_lane(each, labels)
    while following:
        for each, events in list(following):
            fresh = next(events, None)
            if fresh is None:
                following.remove((each, events))
                continue
            for event in fresh:
                each.trace = each.trace.apply(event)
            if fresh:
                draw_lane(each, labels)
        redraw()
        if [approval.pending(each.trace) for each in lanes] != asked:
            return  # buttons come or go: only the script can draw those
