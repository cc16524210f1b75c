"""A recorded run over the sample that plays by itself on the first page: no model is loaded and nothing is asked."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import streamlit as st
from pydantic import ValidationError

from crag.core.events import Event, StepFinished, events_from_jsonl
from crag.core.sample import RECORDING
from crag.core.trace import Trace
from crag.messages.slides import Kind, build_slides, describe_slide
from ui.components import html as h
from ui.components.drawing import apply_more, draw
from ui.components.html import Html
from ui.run import path, slides

_log = logging.getLogger(__name__)

_SHOWN: tuple[Kind, ...] = ("question", "graded", "action", "kept", "web", "answer")
"""The slides of the run that are played; tour.css gives each its share of the time."""


def play() -> None:
    """Draw the run with its states in turn; nothing where the recording is missing or can't be read."""
    if drawn := _drawn():
        apply_more("present.css")
        apply_more("tour.css")
        draw(drawn)


@st.cache_resource(show_spinner=False)
def _drawn() -> Html:
    try:
        return draw_states(events_from_jsonl(RECORDING.read_text(encoding="utf-8")))
    except (OSError, ValidationError) as error:
        _log.warning("the recorded run of the first page is not shown: %s", error)
        return Html()


def draw_states(events: Sequence[Event]) -> Html:
    """The states of a run on top of each other: its path as far as it has come, one sentence and one picture."""
    whole = Trace.from_events(events)
    shown = [slide for slide in build_slides(whole) if slide.kind in _SHOWN]
    states = [
        h.li(style=f"--at:{place}")[
            path.path(_until(events, slide.kind)),
            h.p("says")[h.span("step")[slides.STEP[slide.kind]], describe_slide(slide, whole)],
            h.div("picture")[slides.picture(slide, whole, {})],
        ]
        for place, slide in enumerate(shown)
    ]
    return h.figure("cx tour", aria_label="A recorded run, step by step")[
        h.div("about")[
            "A recorded run over the sample",
            h.span("still")["Scroll for the next step"],
            h.details("pause")[h.summary[h.span("off")["Pause"], h.span("on")["Play"]]],
        ],
        h.ol("states", tabindex="0")[states],
    ]


def _until(events: Sequence[Event], kind: Kind) -> Trace:
    """The run as it was when a slide of this kind could be shown."""
    if kind == "answer":
        return Trace.from_events(events)
    if kind == "question":
        return Trace.from_events(events[:1])
    step = {"graded": "evaluate", "action": "act", "kept": "refine", "web": "refine"}[kind]
    ends = [at for at, event in enumerate(events, 1) if isinstance(event, StepFinished) and event.step == step]
    return Trace.from_events(events[: ends[0] if kind == "kept" else ends[-1]])
