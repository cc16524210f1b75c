"""A run presented, for a projector: a slide a step, with one sentence and one picture; in the app and in exports."""

from __future__ import annotations

import base64
import io
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from PIL import Image

from crag.core.config import AppConfig
from crag.core.errors import CragError
from crag.core.trace import Round, Trace
from crag.core.types import Action, Chunk, Citation, Document, Rect, RetrievedChunk, ShortAnswer, Strip, WebPage
from crag.export.html import elements as h
from crag.export.html import evidence, words
from crag.export.html.elements import Html
from crag.export.html.passage import Passage, View, draw_passage
from crag.export.html.safe_text import excerpt, site
from crag.export.markdown import handed_over
from crag.generation.citations import MARK
from crag.ingest.reader import render_page
from crag.messages.answers import calculation_text, check_sentence, conflict_sentences
from crag.messages.slide_sentences import describe_slide, outcomes
from crag.messages.slides import Kind, Slide, build_slides, shown_sources, sift_strips, thresholds, used_pages
from crag.messages.wording import context_text
from crag.storage.library import Library
from crag.text.formats import format_score

_log = logging.getLogger(__name__)

DRAWN = ("pdf", "image")
"""The kinds of documents that are shown as pictures of their pages."""
_HIGH = 0.56
"""How high a cut of a page is, in its width: what a projector shows without scrolling."""
_ABOVE = 0.3
"""So much of the cut stands above the first marked words."""
_QUALITY = 72
"""Of the WebP: letters stay sharp at it, and a picture takes some 80 to 100 kB."""
_WIDTH = 1100
PageImage = Callable[[Library, str, int, Sequence[Rect], Sequence[Rect]], bytes]
"""Draws a page of a document in a library as PNG, with rectangles marked, some of them strongly."""


def held_document(library: Library, chunk: Chunk) -> Document | None:
    """What the chunk is of, if the library holds it still."""
    held = [] if chunk.elsewhere else library.documents.all([chunk.document_id])
    return held[0] if held else None


def draw_page(
    config: AppConfig, library: Library, document: str, page: int, rects: Sequence[Rect], strong: Sequence[Rect] = ()
) -> bytes:
    """A page as PNG with the rectangles marked, `_WIDTH` pixels wide. Raises NotFoundError, DocumentError."""
    data = library.documents.file(document)
    return render_page(data, page, config, highlights=rects, strong=strong, width=_WIDTH)


def is_drawn(document: Document | None, chunk: Chunk) -> bool:
    """Whether a chunk stands on a page that is shown as a picture: the properties of a document stand on none."""
    return document is not None and document.kind in DRAWN and chunk.page > 0


def find_marked(
    trace: Trace, chunk: Chunk, citation: Citation | None, leaf: int | None = None
) -> tuple[int, Sequence[Rect], Sequence[Rect]]:
    """The page to look at, which is `leaf` if given; what is marked on it, and over that the short answer."""
    rects = citation.rects if citation and citation.rects else chunk.rects()
    leaf = leaf or min((rect.page for rect in rects), default=chunk.page)
    strong = [rect for short in find_shorts(trace, citation) for rect in short.rects]
    return leaf, [rect for rect in rects if rect.page == leaf], strong


def find_shorts(trace: Trace, citation: Citation | None) -> list[ShortAnswer]:
    """The words of the short answer, or the cells of a result, that stand in what this citation quotes."""
    places = trace.answer.places if trace.answer and citation else ()
    return [each for each in places if citation and each.citation == citation.number]


def pictures(library: Library, trace: Trace, image: PageImage) -> dict[int, bytes]:
    """WebP images of the sources that a presentation shows, by number; none of one without pages, or that is gone.

    `image` draws a page.
    """
    found = {}
    for citation in shown_sources(trace):
        source = trace.sources.get(citation.source_id)
        if isinstance(source, Chunk) and (made := _picture(library, trace, source, citation, image)):
            found[citation.number] = made
    return found


def _picture(library: Library, trace: Trace, chunk: Chunk, citation: Citation, image: PageImage) -> bytes | None:
    document = held_document(library, chunk)
    if not is_drawn(document, chunk):
        return None
    page, here, strong = find_marked(trace, chunk, citation)
    try:
        png = image(library, chunk.document_id, page, here, strong)
    except CragError as error:  # the words of the citation are shown in its place
        _log.info("no picture of page %d of %s: %s", page, chunk.document_id, error)
        return None
    return cut(png, here)


def cut(png: bytes, rects: Sequence[Rect]) -> bytes:
    """The part of a page, drawn with its resolution, round the first of the rectangles, as WebP."""
    with Image.open(io.BytesIO(png)) as page:
        width, height = page.size
        pixels = page.info.get("dpi", (72.0, 72.0))[1] / 72
        tall = min(height, round(width * _HIGH))
        first = min((rect.top for rect in rects), default=0.0) * pixels
        top = round(min(max(0.0, first - _ABOVE * tall), height - tall))
        made = io.BytesIO()
        page.convert("RGB").crop((0, top, width, top + tall)).save(made, "webp", quality=_QUALITY, method=4)
    return made.getvalue()


STEP: dict[Kind, str] = {
    "question": "Question",
    "rephrased": "Rewrite",
    "found": "Retrieve",
    "graded": "Evaluate",
    "action": "Action",
    "kept": "Refine",
    "web": "Search",
    "answer": "Answer",
    "source": "Source",
    "checked": "Verify",
    "handed": "Hand over",
    "ended": "End",
}
_ROWS = 7
"""The most chunks, pages or sentences in one picture: what can be read from afar."""
_REASONS = 5
"""The most where each has a reason of its own."""
_CLOSING = tuple(".,;:!?")
"""What must not stand on the next line without the mark before it."""
_LONG_QUESTION, _LONG_ANSWER, _LONGEST_ANSWER = 140, 420, 1800
"""Characters from which on a text is set smaller, and after which an answer is cut off."""

Pictures = Mapping[int, bytes]
"""A WebP image of the cited place, by the number of the citation."""


_NOTHING = Html()


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnSlide:
    """What is shown at one time: the `step` that it is of, one sentence, and a picture.

    `charted`: its picture is a chart that the app lays over it.
    """

    step: str
    says: str
    picture: Html = _NOTHING
    charted: bool = False


def show_slides(trace: Trace, pictures: Pictures, *, name: str, app: bool = False) -> Html:
    """All slides of a run, as `show_drawn` has it."""
    slides = [
        DrawnSlide(step=STEP[slide.kind], says=describe_slide(slide, trace), picture=picture(slide, trace, pictures))
        for slide in build_slides(trace)
    ]
    return show_drawn(slides, "The run, step by step", trace.meant, name=name, app=app)


def show_drawn(slides: Sequence[DrawnSlide], label: str, topic: str, *, name: str, app: bool = False) -> Html:
    """Scenes over the whole window; present.js steps through them. `name` tells them from others on a page.

    In the `app` they are open, and the way back is a click that the script hears; elsewhere a button with data-present
    opens them.
    """
    drawn = [
        h.section(
            f"scene{' charted' if slide.charted else ''}{' shown' if not place else ''}",
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
        h.ol("rail", aria_hidden="true")[marks],
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


def list_reasons(rows: Sequence[tuple[str, str]], noun: str) -> Html:
    """The first of these, each with what is to be said of it; `noun`: what each is."""
    drawn = [
        h.li[h.span("rank")[number], h.span("what")[h.span("name")[what], h.span("peek")[excerpt(why, 320)]]]
        for number, (what, why) in enumerate(rows[:_REASONS], 1)
    ]
    return h.fragment(h.ul("rows reasons")[drawn], _more(len(rows), noun, _REASONS))


def opener(name: str) -> Html:
    """The button of an exported page that begins the presentation of this name; there only where scripts run."""
    return h.button(type="button", data_present=name, hidden="hidden")["Present"]


def picture(slide: Slide, trace: Trace, pictures: Pictures) -> Html:
    """What a slide shows below its sentence. `pictures`: the cited places, where they are at hand."""
    match slide.kind:
        case "question":
            return _question(trace)
        case "rephrased":
            return _query(trace.meant, trace.rounds[slide.place].query)
        case "found":
            return _found(trace.rounds[slide.place].chunks)
        case "graded":
            return _graded(trace, trace.rounds[slide.place])
        case "action":
            return _action(trace, trace.rounds[slide.place])
        case "kept":
            return _kept(trace)
        case "web":
            return _web(trace, slide.place)
        case "answer":
            return _answer(trace)
        case "source":
            return _source(trace, next(each for each in shown_sources(trace) if each.number == slide.place), pictures)
        case "checked":
            return _checked(trace)
        case "handed":
            return _handed(trace)
        case "ended":
            return h.p("of")[trace.failure.remedy if trace.failure else "What was found until then was shown."]
        case _:
            assert_never(slide.kind)


def _question(trace: Trace) -> Html:
    context = trace.context
    typed = bool(context and context.follows)
    shown = trace.question if typed else trace.meant
    above = ": ".join(context_text(context)) if context and typed else f"“{trace.question}”"
    asked = h.p("asked long" if len(shown) > _LONG_QUESTION else "asked")[shown]
    return h.fragment(trace.standalone and h.p("of typed")[above], asked)


def _query(question: str, query: str) -> Html:
    return h.fragment(
        h.span("query")[h.small["The question"], question],
        h.span("query")[h.small["What is searched for"], query],
    )


def _found(chunks: Sequence[RetrievedChunk]) -> Html:
    rows = [
        h.li[h.span("rank")[found.rank], h.span("what")[_named(found), h.span("peek")[excerpt(found.chunk.text, 150)]]]
        for found in chunks[:_ROWS]
    ]
    return h.fragment(h.ul("rows")[rows], _more(len(chunks), "passage"))


def _named(found: RetrievedChunk, *marks: object) -> Html:
    return h.span("name")[marks, f"{words.place(found.chunk)}  {found.chunk.source}"]


def _more(number: int, noun: str, shown: int = _ROWS) -> Html:
    return h.p("key")[f"and {words.count(number - shown, noun)} more"] if number > shown else Html()


def _graded(trace: Trace, here: Round) -> Html:
    upper, lower = thresholds(trace, here)
    view = View(upper=upper, lower=lower)
    if here.joint is not None and not here.grades:
        shown = evidence.score(here.joint, view, waiting=False)
        rows = [h.li[h.span("rank")[""], h.span("what")["All together"], shown]]
    else:
        deciding = here.decision.deciding_id if here.decision else None
        rows = []
        for found in _with(here.chunks, deciding):
            grade = here.grades.get(found.chunk.id)
            mark = found.chunk.id == deciding and (h.span("tag deciding")["decided"], " ")
            shown = evidence.score(grade, view, waiting=False)
            rows.append(h.li[h.span("rank")[found.rank], h.span("what")[_named(found, mark)], shown])
    lines = f"{lower:.2f} and {upper:.2f}" if lower < upper else f"{upper:.2f}"
    plural = "s" if lower < upper else ""
    key = h.p("key")[
        f"Scores from 0 to 1; the line{plural} mark{'' if plural else 's'} the threshold{plural}, {lines}."
    ]
    return h.fragment(h.ul("rows scored")[rows], _more(len(here.chunks), "passage"), key)


def _with(chunks: Sequence[RetrievedChunk], deciding: str | None) -> list[RetrievedChunk]:
    """The first chunks, the deciding one among them."""
    first, rest = list(chunks[:_ROWS]), chunks[_ROWS:]
    return [*first[:-1], *decided] if (decided := [each for each in rest if each.chunk.id == deciding]) else first


def _action(trace: Trace, here: Round) -> Html:
    """The action large, and the score's place on the scale with what each part of it leads to."""
    decision = here.decision
    assert decision is not None
    large = h.p(f"verdict-large {decision.action.lower()}")[
        h.span("icon", aria_hidden="true")[words.ICONS[decision.action]], decision.action
    ]
    if decision.score is None:
        return large
    leads = outcomes(trace)
    ends = {
        Action.INCORRECT: (0.0, decision.lower),
        Action.AMBIGUOUS: (decision.lower, decision.upper),
        Action.CORRECT: (decision.upper, 1.0),
    }
    zones = [
        h.span(f"{action.lower()}{' now' if action is decision.action else ''}", style=f"flex:{end - start:.4f} 1 0")[
            h.span("band"), h.span("to")[h.b[f"{words.ICONS[action]} {action.capitalize()}"], leads[action]]
        ]
        for action, (start, end) in ends.items()
        if end > start
    ]
    needle = h.div("needle", style=f"left:{min(0.97, max(0.03, decision.score)):.1%}")[
        format_score(decision.score, decision.upper, decision.lower)
    ]
    return h.fragment(large, h.div("scale")[needle, h.div("zones")[zones]])


def _kept(trace: Trace) -> Html:
    """The passage that shows the sifting best, with what was kept marked and the rest struck."""
    groups: dict[str, list[Strip]] = {}
    for strip in sift_strips(trace):
        groups.setdefault(strip.source_id, []).append(strip)
    deciding = trace.decision.deciding_id if trace.decision else None

    def informative(source: str) -> tuple[bool, bool, int]:
        kept = sum(strip.kept for strip in groups[source])
        return 0 < kept < len(groups[source]), source == deciding, kept

    source = max(groups, key=informative)
    chunk = trace.sources.get(source)
    if chunk is None:
        return Html()
    where = h.span("from")[_place(chunk) if isinstance(chunk, Chunk) else chunk.title]
    return h.div("paper", tabindex="0")[
        where, draw_passage(Passage(text=chunk.text, strips=groups[source]), View.of(trace))
    ]


def _web(trace: Trace, place: int) -> Html:
    search = trace.searches[place]
    sent = search.pages[0].query if search.pages else search.query
    used = {page.id for page in used_pages(trace, place)}
    rows = [
        h.li("" if page.id in used else "left")[
            h.span("rank")[page.rank],
            h.span("what")[
                h.span("name")[page.title or page.url],
                h.span("peek")[
                    h.span("tag web")["used" if page.id in used else "not used"],
                    " ",
                    " · ".join(filter(None, (site(page.url), page.published))),
                ],
            ],
        ]
        for page in search.pages[:_ROWS]
    ]
    query = h.span("query")[h.small[f"{words.web(search.provider)} was asked"], sent]
    return h.fragment(query, h.ul("rows")[rows], _more(len(search.pages), "page"))


def _answer(trace: Trace) -> Html:
    answer = trace.answer
    assert answer is not None
    known = {citation.number: citation for citation in answer.citations}
    short = answer.short and h.p("answer-large")[h.small[answer.short.cell], answer.short.value]
    if worked := answer.calculation:
        short = h.p("answer-large")[h.small[words.sentence(calculation_text(worked))], worked.result]
    brief = " brief" if short or len(answer.text) > _LONG_ANSWER else ""
    said = [h.p("conflict")[each] for each in conflict_sentences(answer)]
    return h.fragment(short, h.p(f"answer{brief}")[_cited(_opening(answer.text), known)], said)


def _opening(text: str) -> str:
    """What of an answer has room, cut at a word."""
    return text if len(text) <= _LONGEST_ANSWER else f"{text[:_LONGEST_ANSWER].rsplit(' ', 1)[0]} …"


def _cited(text: str, known: Mapping[int, Citation]) -> Html:
    parts: list[object] = []
    at = 0
    for mark in MARK.finditer(text):
        numbers = [int(number) for number in mark.group(1).replace(";", ",").split(",")]
        marks = [_mark(number, known.get(number)) for number in numbers]
        closing = text[mark.end() :][:1]
        closing = closing if closing in _CLOSING else ""
        parts += [text[at : mark.start()].rstrip(), h.nbsp, h.span("keep")[marks, closing] if closing else marks]
        at = mark.end() + len(closing)
    return h.fragment(parts, text[at:])


def _mark(number: int, citation: Citation | None) -> Html:
    if citation is None:
        return h.fragment(f"[{number}]")
    web = " web" if citation.origin == "external" or citation.from_web else ""
    return h.span(f"cite{web}")[number]


def _source(trace: Trace, citation: Citation, pictures: Pictures) -> Html:
    """The place on its page, as an image; as words where it has none."""
    if image := pictures.get(citation.number):
        address = f"data:image/webp;base64,{base64.b64encode(image).decode()}"
        return h.figure[h.img(src=address, alt=f"{_place(citation)}. Marked: “{excerpt(citation.quote, 300)}”")]
    web = citation.origin == "external" or citation.from_web
    named = h.p("of")[h.span("tag web")["WEB"], " ", excerpt(citation.source, 160), h.br, site(citation.url or "")]
    return h.fragment(h.blockquote[excerpt(citation.quote, 500)], named if web else "")


def _handed(trace: Trace) -> Html:
    found = handed_over(trace)
    rows = [
        h.li[h.span("rank")[number], h.span("what")[_whence(source), h.span("peek")[excerpt(said, 260)]]]
        for number, (source, said) in enumerate(found[:_ROWS], 1)
    ]
    return h.fragment(h.ul("rows")[rows], _more(len(found), "source"))


def _whence(source: Chunk | WebPage) -> Html:
    if isinstance(source, Chunk):
        return h.span("name")["  ".join(filter(None, (words.place(source), source.source)))]
    return h.span("name")[h.span("tag web")["WEB"], " ", source.title or site(source.url)]


def _place(found: Chunk | Citation) -> str:
    return ", ".join(filter(None, (found.source, found.where)))


def _checked(trace: Trace) -> Html:
    rows = []
    for check in trace.checks[:_ROWS]:
        kind, sign = {True: ("yes", "✓"), False: ("no", "✕"), None: ("", "?")}[check.supported]
        cites = ", ".join(str(number) for number in check.citations)
        why = f"cites {cites}" if check.supported else words.sentence(check_sentence(check))
        rows.append(
            h.li(kind)[
                h.span("icon", aria_hidden="true")[sign],
                h.span[h.span("flagged" if kind == "no" else "")[excerpt(check.sentence, 260)], h.span("peek")[why]],
            ]
        )
    return h.fragment(h.ul("rows sentences")[rows], _more(len(trace.checks), "sentence"))
