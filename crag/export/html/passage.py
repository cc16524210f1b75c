"""A text with its strips, drawn under a view: thresholds, what is kept under them, and what a comparison says of it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter
from typing import Any

from crag.core.trace import Trace
from crag.core.types import InjectionSpan, KeepReason, Strip
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.elements import Html
from crag.export.html.marks import SavedPages
from crag.messages.wording import injection_reason, injection_text, kept_reason, kept_word, recognised_text

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
    here. `stale`: what is out of date of documents, by their ids.
    `saved`: what can be kept and verified; None: nothing here. `explains`: whether a score can be asked for its cause;
    `opens`: whether a chunk can be shown on its page.
    """

    upper: float
    lower: float
    deciding_id: str | None = None
    room: int = 0
    kept: Mapping[str, Mapping[str, KeepReason]] | None = None
    thumbs: Mapping[str, str] | None = None
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    alone: Collection[str] = ()
    stale: Mapping[str, Sequence[str]] = field(default_factory=dict)
    saved: SavedPages | None = None
    explains: bool = False
    opens: bool = True

    @classmethod
    def of(cls, trace: Trace) -> View:
        """The run as it was."""
        decision = trace.decision
        settings = trace.run_settings
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


Layer = tuple[Sequence[tuple[int, int, Any]], Callable[[Any, Html, int, int], object]]
"""Spans [start, end), each with its value, and what draws one: given that, its drawn inside, and where."""

MOST_MARKS = 1000
"""Marks that are drawn of one text. A page of the web may hold any number, and a browser would stall on them."""


class Sweep:
    """A text drawn from left to right, the spans of the first layer round those of the next; each is looked at once.

    What lies only partly in a span of an outer layer is drawn in pieces. Of two spans of a layer that overlap the
    second begins where the first ends. Of all layers in order, the first `MOST_MARKS` spans are drawn, and `rest`
    counts the others.
    """

    def __init__(self, text: str, *layers: Layer) -> None:
        self._text, self._left = text, 0
        self._layers = []
        room = MOST_MARKS
        for spans, drawn in layers:
            self._layers.append((sorted(spans, key=itemgetter(0, 1))[:room], drawn))
            self._left += max(0, len(spans) - room)
            room = max(0, room - len(spans))
        self._next = [0] * len(layers)
        """The place of the first span of each layer that is not over yet."""

    def draw(self, start: int, end: int, depth: int = 0) -> Html:
        """The characters [start, end), which begin where those of the last call end or behind that.

        `depth`: the layer that is drawn here, round all behind it.
        """
        if depth == len(self._layers):
            return h.fragment(self._text[start:end])
        (spans, drawn), parts, at = self._layers[depth], list[object](), start
        while self._next[depth] < len(spans):
            first, stop, value = spans[self._next[depth]]
            begin, last = max(first, at), min(stop, end)
            if begin < last:
                parts.append(self.draw(at, begin, depth + 1))
                parts.append(drawn(value, self.draw(begin, last, depth + 1), begin, last))
                at = last
            if stop > end:  # it goes on behind this piece, or begins there
                break
            self._next[depth] += 1
        return h.fragment(parts, self.draw(at, end, depth + 1))

    def rest(self) -> Html:
        """That marks were left out, and how many; nothing where all are drawn."""
        if not self._left:
            return Html()
        return h.p("small")[f"There are too many marks to show: {words.count(self._left, 'mark')} left out."]


def annotate(text: str, *layers: Layer) -> Html:
    """A whole text, drawn as a `Sweep` does."""
    sweep = Sweep(text, *layers)
    return h.fragment(sweep.draw(0, len(text)), sweep.rest())


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text to draw, with its strips. All places are characters of `text`.

    `cited`: the id of the strip that is framed. `short`: the words [start, end) of the short answer, which are marked.
    `spoken`: what speaks to a model, which is underlined.
    """

    text: str
    strips: Sequence[Strip] = ()
    cited: str = ""
    short: tuple[int, int] | None = None
    spoken: Sequence[InjectionSpan] = ()


def draw_passage(passage: Passage, view: View) -> Html:
    """A text with its kept strips highlighted and its dropped ones struck; score on hover.

    What is kept for something else than its score says so before it, once for all that follow one another.
    """
    ordered = sorted(passage.strips, key=lambda strip: strip.start)
    return _draw_parts(passage, [(0, len(passage.text), ordered)], view)


def _draw_parts(passage: Passage, parts: Sequence[tuple[int, int, Sequence[Strip]]], view: View) -> Html:
    """The parts [start, end) of a text, in order, each with those of its strips that are in it."""
    whole, spoken = passage.text, passage.spoken
    erased = sorted((each.start, each.end) for each in spoken if each.erased)
    reasons = dict[Strip, tuple[str, bool]]()
    for _, _, strips in parts:
        last, before = "", None
        for strip in strips:
            if before is not None and strip.start < before.end:
                continue
            word = _word(strip, before, view)
            reasons[strip] = (word, bool(word) and word != last)
            last, before = word, strip

    def blank(start: int, end: int) -> bool:
        """Whether there is nothing to be seen, or only what the run did not read."""
        place = bisect_right(erased, (start, len(whole))) - 1
        return not whole[start:end].strip() or (place >= 0 and start < erased[place][1])

    def drawn(strip: Strip, inside: Html, start: int, end: int) -> object:
        word, said = reasons[strip]
        why = words.sentence(kept_reason(view.why(strip)))
        because = said and start == strip.start and h.span("tag", title=why)[word]
        if blank(start, end):
            return because, inside
        tag = h.mark if view.keeps(strip) else h.s
        return because, tag(_kinds(strip, view, passage.cited) or None, title=_why(strip, view, word))[inside]

    cut = [(strip.start, strip.end, strip) for strip in reasons]
    sweep = Sweep(whole, spoken_layer(whole, spoken), (cut, drawn), short_layer(passage.short))
    shown = [h.div("text")[sweep.draw(start, end)] for start, end, _ in parts]
    return h.fragment(h.joined(h.p("small")["…"], shown), sweep.rest())


def short_layer(short: tuple[int, int] | None) -> Layer:
    """Marks the words of the short answer."""
    return ([(*short, None)] if short else []), lambda _, inside, *place: h.span("answering")[inside]


def spoken_layer(whole: str, spoken: Sequence[InjectionSpan]) -> Layer:
    """Underlines what speaks to a model, with the reason on hover; before the first of neighbours a tag says so."""
    ordered = sorted(spoken, key=lambda each: each.start)
    follows = {each.start for before, each in pairwise(ordered) if not whole[before.end : each.start].strip()}

    def drawn(heard: InjectionSpan, inside: Html, start: int, end: int) -> object:
        first = start == heard.start and start not in follows
        tag = h.span("tag")[injection_text([heard])] if first else ""
        return tag, h.span("spoken", title=injection_reason(heard))[inside]

    return [(each.start, each.end, each) for each in ordered], drawn


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
    }
    return " ".join(kind for kind, so in held.items() if so)


def _why(strip: Strip, view: View, kept: str) -> str:
    """A strip's score, what became of it, what else than that `kept` it, and what a language model said of it."""
    score = "not scored" if strip.score is None else f"score {strip.score:.2f}"
    word = "kept" if view.keeps(strip) else "dropped"
    because = f" ({kept})" if kept else ""
    said = {None: "", True: ", chosen by the language model", False: ", not chosen by the language model"}
    alone = ", kept in this run alone" if strip.id in view.alone else ""
    return f"{score}, {word}{because}{said[strip.selected]}{alone}"


def draw_surroundings(page: Passage, view: View) -> Html:
    """A page's text; a long one cut to what was kept, each with the strips beside it."""
    if len(page.text) <= _WHOLE:
        return draw_passage(page, view)
    ordered = sorted(page.strips, key=lambda strip: strip.start)
    wanted = [place for place, strip in enumerate(ordered) if view.keeps(strip)] or range(len(ordered))[:_BESIDE]
    ranges: list[tuple[int, int]] = []
    for place in wanted:
        first, stop = max(0, place - _BESIDE), place + _BESIDE + 1
        if ranges and first <= ranges[-1][1]:
            first = ranges.pop()[0]
        ranges.append((first, stop))
    groups = [ordered[first:stop] for first, stop in ranges]
    parts = [(each[0].start, max(strip.end for strip in each), each) for each in groups]
    return _draw_parts(page, parts or [(0, _WHOLE, ())], view)
