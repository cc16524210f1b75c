"""A run presented, for a projector: its parts one at a time, each under one sentence; in the app and in exports."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from crag.core.trace import Trace
from crag.core.types import Chunk, Citation, Decision, Strip
from crag.export.html import answer, evidence, marks, words
from crag.export.html import elements as h
from crag.export.html.elements import Html
from crag.export.html.page_pictures import Pictures, shown_sources
from crag.export.html.passage import Passage, View, draw_passage
from crag.export.html.rail import picture_rail
from crag.export.html.safe_text import excerpt, site
from crag.messages import slides as sentences
from crag.messages.answers import ending_sentence, state_text
from crag.messages.wording import context_text, decision_sentence, source_text

_LONG_QUESTION = 140
"""Characters from which on a question is set smaller."""

_NOTHING = Html()


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnSlide:
    """What is shown at one time: the `step` that it is of, one sentence, and a picture."""

    step: str
    says: str
    picture: Html = _NOTHING


def run_slides(trace: Trace, pictures: Pictures) -> Iterator[DrawnSlide]:
    """A run as far as it came, in its order: the parts of its page, as each was when its step ended."""
    yield DrawnSlide(step="Question", says=sentences.question_sentence(trace), picture=_question(trace))
    for number, here in enumerate(trace.rounds, 1):
        moment = replace(trace, rounds=trace.rounds[:number], strips={})
        drawn = evidence.chunks(moment, replace(View.of(moment), opens=False))
        step = "Evaluate" if here.made else "Retrieve"
        yield DrawnSlide(step=step, says=sentences.chunks_sentence(moment), picture=drawn)
        if here.decision:
            drawn = _action(moment, here.decision)
            yield DrawnSlide(step="Action", says=decision_sentence(here.decision), picture=drawn)
    if strips := sift_strips(trace):
        yield DrawnSlide(step="Refine", says=sentences.kept_sentence(strips), picture=_kept(trace, strips))
    if trace.searches:
        drawn = evidence.web(trace, View.of(trace))
        said = f"{evidence.sent_sentence(trace.searches[-1])} {sentences.came_sentence(trace)}"
        yield DrawnSlide(step="Search", says=said, picture=drawn)
    if trace.answer or trace.handed_over:
        step, said, drawn = "Hand over", ending_sentence(trace), answer.sources(trace)
        if trace.answer:
            step, said, drawn = "Answer", f"{state_text(trace)}.", answer.answer(trace, opens=False)
        yield DrawnSlide(step=step, says=said, picture=drawn)
    for citation in shown_sources(trace):
        drawn = _source(citation, pictures)
        said = f"Source {citation.number}: {excerpt(source_text(citation), _LONG_QUESTION)}."
        yield DrawnSlide(step="Source", says=said, picture=drawn)
    if trace.failure or trace.cancelled:
        yield DrawnSlide(step="End", says=ending_sentence(trace))


def sift_strips(trace: Trace) -> tuple[Strip, ...]:
    """The strips of the library's chunks, kept and dropped; none where texts were taken as they are."""
    strips = [strip for strip in trace.all_strips if strip.origin == "internal"]
    return () if all(strip.why == "whole" for strip in strips) else tuple(strips)


def show_slides(trace: Trace, pictures: Pictures, *, name: str, app: bool = False) -> Html:
    """All slides of a run, as `draw_slides` has it."""
    return draw_slides(list(run_slides(trace, pictures)), "The run, step by step", trace.meant, name=name, app=app)


def draw_slides(slides: Sequence[DrawnSlide], label: str, topic: str, *, name: str, app: bool = False) -> Html:
    """Slides over the whole window; present.js steps through them. `name` tells them from others on a page.

    In the `app` they are open, and the way back is a click that the script hears; elsewhere a button with data-present
    opens them.
    """
    drawn = [
        h.section(
            "scene" if place else "scene shown",
            aria_label=f"{place + 1} of {len(slides)}",
        )[h.div("says")[h.span("step")[slide.step], h.h2[slide.says]], h.div("picture")[slide.picture]]
        for place, slide in enumerate(slides)
    ]
    marks = [h.li("now" if not place else "") for place in range(len(slides))]
    return h.div(
        "cx slideshow app" if app else "cx slideshow",
        data_slideshow=name,
        role="dialog",
        aria_modal="true",
        aria_label=label,
        tabindex="-1",
        hidden=None if app else "hidden",
    )[
        h.ol("marks", aria_hidden="true")[marks],
        h.div("scenes")[drawn],
        h.div("toolbar")[
            h.button(type="button", data_step="back", disabled="disabled")["Back"],
            h.button(type="button", data_step="on")["Next"],
            h.span("place")[f"1 of {len(slides)}"],
            h.span("unseen", role="status"),
            h.span("topic")[excerpt(topic, 200)],
            h.span("hint", aria_hidden="true")["← →  step · Esc  end"],
            h.button(type="button", data_step="fill", hidden="hidden")["Full screen"],
            h.button(type="button", data_step="close", data_pick="present:close" if app else None)["Close"],
        ],
    ]


def opener(name: str) -> Html:
    """The button of an exported page that begins the presentation of this name; there only where scripts run."""
    return h.button(type="button", data_present=name, hidden="hidden")["Present"]


def _question(trace: Trace) -> Html:
    context = trace.context
    typed = bool(context and context.follows)
    shown = trace.question if typed else trace.meant
    above = ": ".join(context_text(context)) if context and typed else f"“{trace.question}”"
    asked = h.p("asked long" if len(shown) > _LONG_QUESTION else "asked")[shown]
    return h.fragment(trace.standalone and h.p("of typed")[above], asked)


def _action(moment: Trace, decision: Decision) -> Html:
    """The action large, and where the scores lie between the lines."""
    large = h.p(f"verdict-large {decision.action.lower()}")[
        h.span("icon", aria_hidden="true")[words.ICONS[decision.action]], decision.action
    ]
    return h.fragment(large, picture_rail(moment))


def _kept(trace: Trace, strips: Iterable[Strip]) -> Html:
    """The passage that shows the sifting best, with what was kept marked and the rest struck."""
    groups: dict[str, list[Strip]] = {}
    for strip in strips:
        groups.setdefault(strip.source_id, []).append(strip)
    deciding = trace.decision.deciding_id if trace.decision else None

    def informative(source: str) -> tuple[bool, bool, int]:
        kept = sum(strip.kept for strip in groups[source])
        return 0 < kept < len(groups[source]), source == deciding, kept

    source = max(groups, key=informative)
    chunk = trace.sources.get(source)
    if chunk is None:
        return Html()
    where = h.span("from")[source_text(chunk) if isinstance(chunk, Chunk) else chunk.title]
    return h.div("paper", tabindex="0")[
        where, draw_passage(Passage(text=chunk.text, strips=groups[source]), View.of(trace))
    ]


def _source(citation: Citation, pictures: Pictures) -> Html:
    """The place on its page, as an image; as words where it has none."""
    if image := pictures.get(citation.number):
        address = f"data:image/webp;base64,{base64.b64encode(image).decode()}"
        return h.figure[h.img(src=address, alt=f"{source_text(citation)}. Marked: “{excerpt(citation.quote, 300)}”")]
    web = citation.origin == "external" or citation.from_web
    named = h.p("of")[marks.WEB, " ", excerpt(citation.source, 160), h.br, site(citation.url or "")]
    return h.fragment(h.blockquote[excerpt(citation.quote, 500)], named if web else "")
