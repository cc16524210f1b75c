"""A text with its strips, drawn under a view: thresholds, what is kept under them, and what a comparison says of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import InjectionSpan, KeepReason, Strip
from crag.messages.wording import injection_reason, injection_text, kept_reason, kept_word, recognised_text
from ui.components import html as h
from ui.components import words
from ui.components.html import Html
from ui.run.saved_pages import SavedPages

_WHOLE = 2500
"""Characters up to which a web page is shown whole."""
_BESIDE = 3
"""Strips shown before and after a kept one of a longer page."""


def recognised(confidence: float | None) -> Html:
    """The mark of a text that stands in a picture and was read by text recognition, as sure as that is (0..1)."""
    said = recognised_text(confidence)
    if not said or confidence is None:
        return Html()
    about = f"Text recognition is {confidence:.0%} sure of this text: check it against the page."
    return h.span("tag", title=about)[said]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Under which thresholds a trace is looked at.

    `kept`: the strips kept then and why, by source; None: as in the run. `room`: how many words of strips may be kept,
    of documents and of the web each; 0: any number.
    `deciding_id` is the chunk that decides under these thresholds. `thumbs`: a person's labels by chunk id; None: they
    can't be given here. Beside other runs of the question: `notes` on chunks and pages by id, strips kept `alone`
    here, and strips `missed` here that another run keeps. `stale`: what is out of date of documents, by their ids.
    `saved`: what can be kept and verified; None: nothing here.
    """

    upper: float
    lower: float
    deciding_id: str | None = None
    room: int = 0
    kept: Mapping[str, Mapping[str, KeepReason]] | None = None
    thumbs: Mapping[str, str] | None = None
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    alone: Collection[str] = ()
    missed: Collection[str] = ()
    stale: Mapping[str, Sequence[str]] = field(default_factory=dict)
    saved: SavedPages | None = None

    @classmethod
    def of(cls, trace: Trace) -> View:
        """The run as it was."""
        decision = trace.decision
        settings = Settings.stored(trace.settings).settings
        bounds = decision or settings
        return cls(
            upper=bounds.upper,
            lower=bounds.lower,
            room=settings.strip_words,
            deciding_id=decision.deciding_id if decision else None,
        )

    def keeps(self, strip: Strip) -> bool:
        return strip.kept if self.kept is None else strip.id in self.kept.get(strip.source_id, ())

    def why(self, strip: Strip) -> KeepReason:
        """Why a strip is kept; empty for a dropped one, and where that is not known."""
        if self.kept is None:
            return strip.why if strip.kept else ""
        return self.kept.get(strip.source_id, {}).get(strip.id, "")


def passage(
    whole: str,
    strips: Sequence[Strip],
    view: View,
    cited: str = "",
    short: tuple[int, int] | None = None,
    spoken: Sequence[InjectionSpan] = (),
) -> Html:
    """A text with its kept strips highlighted and its dropped ones struck; score on hover. `cited` is framed.

    What is kept for something else than its score says so before it, once for all that follow one another. `short`:
    where the words of the short answer stand, which are marked. `spoken`: what speaks to a model, which is underlined.
    """
    parts: list[object] = []
    at, last = 0, ""
    before: Strip | None = None
    for strip in sorted(strips, key=lambda strip: strip.start):
        if strip.start < at:
            continue
        word = _word(strip, before, view)
        because = word and word != last and h.span("because", title=words.sentence(kept_reason(view.why(strip))))[word]
        tag = h.mark if view.keeps(strip) else h.s
        parts += [apart(whole, at, strip.start, spoken), because]
        for start, end, heard in _pieces(strip.start, strip.end, spoken):
            if (heard and heard.erased) or not whole[start:end].strip():
                parts.append(apart(whole, start, end, spoken))
                continue
            said = _mark_short(whole, start, end, short)
            kinds, why = _kinds(strip, view, cited) or None, _why(strip, view, word)
            drawn = tag(kinds, title=why)[said]
            parts.append(_marked(drawn, heard, spoken, whole, start) if heard else drawn)
        at, last, before = strip.end, word, strip
    return h.div("text")[parts, apart(whole, at, len(whole), spoken)]


def apart(whole: str, start: int, end: int, spoken: Sequence[InjectionSpan]) -> Html:
    """The characters [start, end), what of them speaks to a model behind a tag and with the reason on hover."""
    parts: list[object] = []
    for first, last, heard in _pieces(start, end, spoken):
        parts.append(_marked(whole[first:last], heard, spoken, whole, first) if heard else whole[first:last])
    return h.fragment(parts)


def _marked(said: object, heard: InjectionSpan, spoken: Sequence[InjectionSpan], whole: str, start: int) -> Html:
    """What speaks to a model, `start` of the text on, underlined; before the first of such neighbours a tag says so."""
    follows = any(each.end <= heard.start and not whole[each.end : heard.start].strip() for each in spoken)
    tag = h.span("because")[injection_text([heard])] if start == heard.start and not follows else ""
    return h.fragment(tag, h.span("spoken", title=injection_reason(heard))[said])


def _pieces(start: int, end: int, spoken: Sequence[InjectionSpan]) -> Iterator[tuple[int, int, InjectionSpan | None]]:
    """The characters [start, end) in pieces, each with what speaks to a model there."""
    for each in spoken:
        first, last = max(each.start, start), min(each.end, end)
        if first < last:
            if start < first:
                yield start, first, None
            yield first, last, each
            start = last
    if start < end:
        yield start, end, None


def _mark_short(whole: str, start: int, end: int, short: tuple[int, int] | None) -> Html:
    """A strip's words, those of the short answer marked."""
    first, last = (max(start, short[0]), min(end, short[1])) if short else (0, 0)
    if first >= last:
        return h.fragment(whole[start:end])
    return h.fragment(whole[start:first], h.span("answering")[whole[first:last]], whole[last:end])


def _word(strip: Strip, before: Strip | None, view: View) -> str:
    """What keeps a strip, in a word. One that the line before announces goes with that, any other with what follows."""
    announced = before is not None and view.keeps(before) and before.text.rstrip().endswith(":")
    return kept_word(view.why(strip), below=not announced)


def _kinds(strip: Strip, view: View, cited: str) -> str:
    """How a strip stands out, as classes."""
    held = {
        "along": view.why(strip) in ("context", "neighbour"),
        "cited": strip.id == cited,
        "alone": strip.id in view.alone,
        "missed": strip.id in view.missed,
    }
    return " ".join(kind for kind, so in held.items() if so)


def _why(strip: Strip, view: View, kept: str) -> str:
    """A strip's score, what became of it, what else than that `kept` it, and what a language model said of it."""
    score = "not scored" if strip.score is None else f"score {strip.score:.2f}"
    word = "kept" if view.keeps(strip) else "dropped"
    because = f" ({kept})" if kept else ""
    said = {None: "", True: ", chosen by the language model", False: ", not chosen by the language model"}
    alone = ", kept in this run alone" if strip.id in view.alone else ""
    missed = ", picked out in another run" if strip.id in view.missed else ""
    return f"{score}, {word}{because}{said[strip.selected]}{alone}{missed}"


def surroundings(
    whole: str,
    strips: Sequence[Strip],
    view: View,
    cited: str = "",
    short: tuple[int, int] | None = None,
    spoken: Sequence[InjectionSpan] = (),
) -> Html:
    """A page's text; a long one cut to what was kept, each with the strips beside it."""
    if len(whole) <= _WHOLE:
        return passage(whole, strips, view, cited, short, spoken)
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
        there = (short[0] - start, short[1] - start) if short else None
        heard = [replace(each, start=each.start - start, end=each.end - start) for each in spoken]
        parts.append(passage(whole[start:end], moved, view, cited, there, heard))
    return h.joined(h.p("small")["…"], parts) if parts else passage(whole[:_WHOLE], (), view, spoken=spoken)
