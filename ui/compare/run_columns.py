"""The lanes of a comparison: each run drawn as on the Ask page, followed live together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import streamlit as st

from crag.analysis.comparison import Differences, Marks
from crag.core.events import Event
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.elements import Html
from crag.export.html.passage import View
from crag.export.html.path import chip
from crag.messages.answers import origin_text, origin_word
from crag.messages.wording import stored_sentence
from crag.runtime.jobs import Job
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
        view = replace(view, thumbs=labels, notes=_notes(marks, names), alone=marks.strips, missed=marks.missed)
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
