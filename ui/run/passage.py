"""A text with its strips, drawn under a view: thresholds, what is kept under them, and what a comparison says of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Strip
from ui.kit import html as h
from ui.kit.html import Html

_WHOLE = 2500
"""Characters up to which a web page is shown whole."""
_BESIDE = 3
"""Strips shown before and after a kept one of a longer page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Under which thresholds a trace is looked at. `kept`: the strips kept then, by source; None: as in the run.

    `deciding_id` is the chunk that decides under these thresholds. `thumbs`: a person's labels by chunk id; None: they
    can't be given here. Beside other runs of the question: `notes` on chunks and pages by id, strips kept `alone`
    here, and strips `missed` here that another run keeps.
    """

    upper: float
    lower: float
    deciding_id: str | None = None
    kept: Mapping[str, Collection[str]] | None = None
    thumbs: Mapping[str, str] | None = None
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    alone: Collection[str] = ()
    missed: Collection[str] = ()

    @classmethod
    def of(cls, trace: Trace) -> View:
        """The run as it was."""
        decision = trace.decision
        bounds = decision or Settings.stored(trace.settings).settings
        return cls(
            upper=bounds.upper,
            lower=bounds.lower,
            deciding_id=decision.deciding_id if decision else None,
        )

    def keeps(self, strip: Strip) -> bool:
        return strip.kept if self.kept is None else strip.id in self.kept.get(strip.source_id, ())


def passage(whole: str, strips: Sequence[Strip], view: View, cited: str = "") -> Html:
    """A text with its kept strips highlighted and its dropped ones struck; score on hover. `cited` is framed."""
    parts: list[object] = []
    at = 0
    for strip in sorted(strips, key=lambda strip: strip.start):
        if strip.start < at:
            continue
        tag = h.mark if view.keeps(strip) else h.s
        shown = tag(_kinds(strip, view, cited) or None, title=_why(strip, view))[whole[strip.start : strip.end]]
        parts += [whole[at : strip.start], shown]
        at = strip.end
    return h.div("text")[parts, whole[at:]]


def _kinds(strip: Strip, view: View, cited: str) -> str:
    """How a strip stands out, as classes."""
    held = {"cited": strip.id == cited, "alone": strip.id in view.alone, "missed": strip.id in view.missed}
    return " ".join(kind for kind, so in held.items() if so)


def _why(strip: Strip, view: View) -> str:
    """A strip's score, what became of it, and what a language model said of it."""
    score = "not scored" if strip.score is None else f"score {strip.score:.2f}"
    word = "kept" if view.keeps(strip) else "dropped"
    said = {None: "", True: ", chosen by the language model", False: ", not chosen by the language model"}
    alone = ", kept in this run alone" if strip.id in view.alone else ""
    missed = ", picked out in another run" if strip.id in view.missed else ""
    return f"{score}, {word}{said[strip.selected]}{alone}{missed}"


def surroundings(whole: str, strips: Sequence[Strip], view: View, cited: str = "") -> Html:
    """A page's text; a long one cut to what was kept, each with the strips beside it."""
    if len(whole) <= _WHOLE:
        return passage(whole, strips, view, cited)
    ordered = sorted(strips, key=lambda strip: strip.start)
    wanted = [place for place, strip in enumerate(ordered) if view.keeps(strip)] or list(range(len(ordered)))[:_BESIDE]
    shown = sorted({near for place in wanted for near in range(place - _BESIDE, place + _BESIDE + 1)})
    groups: list[list[Strip]] = []
    for place in shown:
        if not 0 <= place < len(ordered):
            continue
        if groups and ordered[place - 1] is groups[-1][-1]:
            groups[-1].append(ordered[place])
        else:
            groups.append([ordered[place]])
    parts = []
    for group in groups:
        start, end = group[0].start, max(strip.end for strip in group)
        moved = [replace(strip, start=strip.start - start, end=strip.end - start) for strip in group]
        parts.append(passage(whole[start:end], moved, view, cited))
    return h.joined(h.p("small")["…"], parts) if parts else passage(whole[:_WHOLE], (), view)
