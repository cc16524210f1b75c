"""What a run handed over to the program that asked, in place of an answer: the kept strips, with where they stand."""

from __future__ import annotations

from crag.core.trace import Trace
from crag.core.types import Chunk, WebPage
from crag.export.markdown import handed_over
from ui.components import html as h
from ui.components import words
from ui.components.html import Html
from ui.components.safe_text import link, site
from ui.run import saved_pages
from ui.run.passage import recognised
from ui.run.saved_pages import SavedPages


def sources(trace: Trace, held: SavedPages | None = None) -> Html:
    """Each source with its kept words; those of chunks open their page. Nothing of a run that handed nothing over."""
    drawn = [
        h.li[_chunk(number, source, said) if isinstance(source, Chunk) else _page(number, source, said, held)]
        for number, (source, said) in enumerate(handed_over(trace), 1)
    ]
    return h.div("cx")[h.h3["Handed over"], h.ol("sources")[drawn]] if drawn else Html()


def _chunk(number: int, chunk: Chunk, said: str) -> Html:
    where = h.span("where")[
        saved_pages.tag(chunk),
        (place := words.place(chunk)) and h.span("page")[place],
        h.span("name")[chunk.source],
        recognised(chunk.recognised),
    ]
    return h.button(data_pick=f"chunk:{chunk.id}")[h.span("n num")[number], where, h.span, h.span("quote whole")[said]]


def _page(number: int, page: WebPage, said: str, held: SavedPages | None) -> Html:
    name = page.title or page.url
    opener = (
        h.a(href=page.url, target="_blank", rel="noopener noreferrer")[f"Open {site(page.url)} in a new tab"]
        if link(page.url)
        else ""
    )
    beneath = h.joined(" ", [each for each in (opener, saved_pages.keeper(page.id, held)) if each])
    return h.fragment(
        h.div("source")[
            h.span("n num")[number],
            h.span("where")[h.span("tag web")["WEB"], " ", h.span("name")[name]],
            h.span,
            h.span("quote whole")[said],
        ],
        h.div("beneath")[beneath] if beneath else "",
    )
