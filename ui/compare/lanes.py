"""The lanes of a comparison: each run drawn as on the Ask page, followed live together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from crag.comparing.differences import Differences, Marks
from crag.core.events import Event
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.wording import stored_sentence
from crag.strategies import STRATEGIES
from ui.app.jobs import Job
from ui.app.session import Session
from ui.kit import problems, words
from ui.kit.look import draw
from ui.kit.safe import text
from ui.run import approval
from ui.run.passage import View
from ui.run.path import chip
from ui.run.slots import Slots

__all__ = ["Lane", "heads", "lane", "named", "place", "together", "write_all"]

_BEAT = 0.05
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


def lane(session: Session, run: str, opened: int | None) -> Lane:
    """The run as it is now. Raises NotFoundError."""
    job = session.job(run)
    running = job is not None and job.running  # before its events are read: if it is over now, these are all
    trace = session.trace(run)
    if job is not None and not running and not trace.finished:
        trace = replace(trace, finished=True)  # it broke off: nothing more will come
    return Lane(run=run, trace=trace, job=job, following=running, slots=Slots(opened, run))


def named(lanes: Sequence[Lane]) -> None:
    """Give each lane a name that tells it from the others."""
    plain = [_name(each.trace) for each in lanes]
    for number, (each, name) in enumerate(zip(lanes, plain, strict=True)):
        each.name = f"{name} ({plain[: number + 1].count(name)})" if plain.count(name) > 1 else name
        each.letter = "ABCD"[number] if len(lanes) > 2 else ""


def _name(trace: Trace) -> str:
    known = STRATEGIES.get(trace.strategy)
    title = known.title if known else trace.strategy
    forced = trace.settings.get("forced")
    return f"{title}, as if {forced}" if forced else title


def heads(lanes: Sequence[Lane]) -> str:
    """The lanes' names above their columns, which stay in view."""
    return f'<div class="cx cmp-heads">{"".join(_head(each) for each in lanes)}</div>'


def _head(each: Lane) -> str:
    trace = each.trace
    state = words.duration(trace.seconds) if trace.finished else "running…"
    stored = Settings.stored(trace.settings)
    changed, lost = _changed(trace.strategy, stored.settings), stored_sentence(stored)
    note = f'<span class="small" title="{text(changed)}">your settings</span>' if changed else ""
    note += f'<span class="small" title="{text(lost)}">another version\'s settings</span>' if lost else ""
    letter = f'<span class="cmp-letter">{each.letter}</span>' if each.letter else ""
    return (
        f'<div class="cmp-head">{letter}<span class="name">{text(each.name)}</span>{chip(trace.action)}'
        f'<span class="small num">{state}</span>{note}'
        f'<button class="more" data-pick="{text(f"open:{each.run}")}">Open in Ask</button></div>'
    )


def _changed(strategy: str, settings: Settings) -> str:
    """The settings in which a run differs from its strategy, in words."""
    known = STRATEGIES.get(strategy)
    if known is None:
        return ""
    own, held = known.settings.model_dump(), settings.model_dump()
    return ", ".join(f"{name} {held[name]}" for name in own if name != "forced" and held[name] != own[name])


def place(each: Lane, number: int) -> None:
    """Lay out one lane's fixed places in its column."""

    def slot(part: str) -> Any:
        with st.container(key=f"cmp-{part}-{number}"):
            return st.empty()

    draw(heads([each]), slot("head"))
    with st.container(key=f"cmp-approval-{number}"):
        if each.job is not None and each.job.problem:
            problems.show(each.job.problem)
        approval.ask(each.job, each.trace, f"-{number}")
    for part in ("path", "action", "answer", "sources", "chunks", "web", "meter"):
        setattr(each.slots, part, slot(part))


def write(each: Lane, labels: Mapping[str, str]) -> None:
    """Draw a lane as far as it has come."""
    each.slots.write(each.trace, replace(View.of(each.trace), thumbs=labels))


def write_all(lanes: Sequence[Lane], labels: Mapping[str, str], found: Differences) -> None:
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


def together(lanes: Sequence[Lane], labels: Mapping[str, str], beat: Any) -> None:
    """Draw all lanes as their events come, until all are over or one waits for another word than is on the page.

    `beat` is called after every round of the lanes. Any touch of a widget interrupts here and harms nothing.
    """
    asked = [approval.pending(each.trace) for each in lanes]
    following = [(each, each.job.follow(_BEAT)) for each in lanes if each.job is not None and each.following]
    for each, _ in following:
        each.trace = Trace()
    for each in lanes:
        if not each.following:
            write(each, labels)
    while following:
        for each, events in list(following):
            fresh = next(events, None)
            if fresh is None:
                following.remove((each, events))
                continue
            for event in fresh:
                each.trace = each.trace.apply(event)
            if fresh:
                write(each, labels)
        beat()
        if [approval.pending(each.trace) for each in lanes] != asked:
            return  # buttons come or go: only the script can draw those
