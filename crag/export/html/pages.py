"""Runs as one page of HTML that replays and presents them anywhere: pre-drawn states, each piece kept once."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from crag.core import events as ev
from crag.core.policy import searches_web
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.export.html import answer, evidence, marks, meter, path, slides
from crag.export.html import elements as h
from crag.export.html.elements import Html, asset
from crag.export.html.page_pictures import Pictures
from crag.export.html.rail import describe_run
from crag.messages.progress import OVER, progress_sentence
from crag.providers.prices import PRICES, Prices

BUDGET = 1_200_000
"""Bytes that the states may take in a page; a longer run skips some of its moments."""

_CARDS = re.compile(r"(?=<details )|(?<=</details>)")
"""Where a section is cut into pieces: one graded chunk then renews one card and not the whole list."""


def sections(trace: Trace, prices: Prices = PRICES, stale: marks.Stale = MappingProxyType({})) -> list[Html]:
    """What a run looks like at one moment, from the question down to the meter with its costs at these prices.

    `stale`: what is out of date of documents when it is drawn.
    """
    view = replace(evidence.View.of(trace), stale=stale)
    return [
        answer.question(trace),
        marks.approval_card(trace),
        path.path(trace),
        path.action(trace),
        answer.answer(trace),
        answer.nearest(trace, live=False),
        answer.sources(trace),
        marks.stale_note(trace, stale),
        evidence.chunks(trace, view),
        evidence.web(trace, view),
        meter.meter(trace, prices) if trace.finished else Html(),
    ]


def states(
    trace: Trace,
    events: Sequence[ev.Event],
    budget: int = BUDGET,
    prices: Prices = PRICES,
    stale: marks.Stale = MappingProxyType({}),
) -> Html:
    """JSON of `pieces` of HTML, and `frames`: what is shown (`parts`, the pieces of each section), when, and in words.

    `trace` is the run as a whole, which is the last frame. Where not even the first and the last fit into `budget`
    bytes, there are no frames.
    """
    moments, seen, shared = list[_Moment](), Trace(), dict[str, str]()

    def drawn(moment: Trace) -> list[list[str]]:
        """Its sections in pieces; a piece that was drawn before is the same object, for there are many moments."""
        return [
            [shared.setdefault(piece, piece) for piece in _CARDS.split(section) if piece]
            for section in sections(moment, prices, stale)
        ]

    said = "The run begins."
    for event in events:
        seen = seen.apply(event)
        said = progress_sentence(event, seen) or said
        moments.append((drawn(seen), event.at, said))
    end = (drawn(trace), moments[-1][1] if moments else trace.seconds, OVER)
    stride = 1
    while stride == 1 or stride < 2 * len(moments):
        made = _encoded(_frames([*moments[::stride], end]))
        if len(made.encode()) <= budget:
            return made
        stride *= 2
    return _encoded(_frames([]))


_Moment = tuple[list[list[str]], float, str]
"""A moment of a run: its sections in pieces, when it was, and what happened."""


def _frames(moments: Sequence[_Moment]) -> dict[str, Any]:
    """The moments that differ from the one before, and each piece of HTML that they are made of, once."""
    known: dict[str, int] = {}
    frames: list[dict[str, Any]] = []
    for drawn, at, said in moments:
        parts = [[known.setdefault(piece, len(known)) for piece in section] for section in drawn]
        if frames and frames[-1]["parts"] == parts:
            continue
        frames.append({"parts": parts, "at": round(at, 3), "said": said})
    return {"pieces": list(known), "frames": frames}


def _encoded(made: dict[str, Any]) -> Html:
    """As JSON that can stand in a script element, whatever it says: nothing in it opens or closes a tag."""
    return Html(json.dumps(made, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"))


_ACTION, _FOLDED = 3, 7
"""The section that says what was decided; from which one on a turn of a conversation is folded: chunks, web, meter."""

_PAGE = Html(
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-{digest}'; """
    """style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'">"""
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    "<title>{title}</title><style>{style}</style></head>"
    '<body class="{kind}"><main>{body}</main><p class="cx small">CRAG Explorer{foot}</p>'
    '<script type="module">{script}</script></body></html>'
)

_DATA = Html('<script type="application/json" class="{}">{}</script>')


def file_name(trace: Trace, ending: str) -> str:
    """A name made of the question's first words."""
    stem = "-".join(re.findall(r"[a-z0-9]+", trace.meant.lower())[:6])[:50] or "run"
    return f"crag-{stem}.{ending}"


def page(
    trace: Trace,
    events: Sequence[ev.Event] = (),
    prices: Prices = PRICES,
    stale: marks.Stale = MappingProxyType({}),
    pictures: Pictures = MappingProxyType({}),
    home: str = "",
) -> Html:
    """The whole run as one HTML document, which replays its `events` and presents it: it loads nothing.

    Without script it shows the whole run; the only script that may run is its own, by its hash. `stale`: what is
    out of date of its documents by now. `pictures` of what its answer cites. `home`: the page that lists it.
    """
    played = states(trace, events, prices=prices, stale=stale)
    above = home and h.nav("cx small")[h.a(href=home)["All runs"]]
    body = h.fragment(above, _run(trace, sections(trace, prices, stale), played, pictures))
    return document(trace.meant, body, "one", f", {trace.strategy} strategy, {trace.started_at}")


def _run(
    trace: Trace,
    drawn: Sequence[Html],
    played: Html,
    pictures: Pictures,
    *,
    name: str = "run",
    folded: bool = False,
) -> Html:
    """One run with its replay and its presentation; `folded`: its evidence opens on demand."""
    parts = [h.div("part", data_part=str(place))[section] for place, section in enumerate(drawn)]
    parts[_ACTION] = h.fragment(parts[_ACTION], _rail(trace))
    if folded:
        behind = h.details("evidence")[h.summary["Evidence"], parts[_FOLDED:]]
        parts = [parts[0], _controls(name), *parts[1:_FOLDED], behind]
    else:
        parts = [_controls(name), *parts]
    slideshow = slides.show_slides(trace, pictures, name=name)
    return h.section("run", id=name, aria_label=trace.meant)[parts, slideshow, _DATA.format("states", played)]


def _rail(trace: Trace) -> Html:
    """Where the scores lie between the lines, which can be dragged; nothing of a run without grades."""
    settings = Settings.stored(trace.settings).settings
    # A run that was to search the web and did not had none.
    data = describe_run(trace, settings, settings, web=not searches_web(trace.action, settings))
    return _DATA.format("railed", _encoded(data)) if data else Html()


def _controls(name: str) -> Html:
    """What steps through the moments of a run, and what presents it; there only where scripts run."""
    return h.div("cx replay toolbar", role="group", aria_label="Replay of the run", hidden="hidden")[
        slides.opener(name),
        h.button("play", type="button")["Replay"],
        h.button("back", type="button")["Back"],
        h.button("step", type="button")["Step"],
        h.slider("at", type="range", min="0", value="0", aria_label="Moment of the run"),
        h.output("label"),
    ]


def document(title: str, body: Html, kind: str, foot: str) -> Html:
    """A page of HTML that loads nothing; only the program's own script may run. `kind`: "one" or "several" runs."""
    script = h.fragment(map(asset, ("replay.js", "present.js", "rail.js")))
    return _PAGE.format(
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        title=title,
        style=h.fragment(map(asset, ("style.css", "rail.css", "present.css", "page.css"))),
        kind=kind,
        body=body,
        foot=foot,
        script=script,
    )


# A conversation

_WHOLE, _PICTURED = 60, 12
"""How many of its last turns hold their evidence and replay, and how many of these hold pictures of what they cite."""
_TOTAL = 6_000_000
"""Bytes that the states of all its turns may take."""
_BRIEF = slice(0, _FOLDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What an exported conversation needs of a run beside its record; each is asked for when its turn has come."""

    trace: Trace
    events: Callable[[], Sequence[ev.Event]]
    stale: marks.Stale
    pictures: Callable[[], Pictures]


def conversation(turns: Iterable[Turn], number: int, prices: Prices = PRICES) -> Html:
    """All `number` turns of a conversation as one HTML document, as `page` makes one of a run.

    Of more than sixty turns the earlier ones are there without their evidence, which the page says.
    """
    whole = min(number, _WHOLE)
    drawn, asked = [], []
    for place, turn in enumerate(turns):
        left, name = number - place, f"turn-{place + 1}"
        asked.append(h.li[h.a(href=f"#{name}")[turn.trace.question]])
        shown = sections(turn.trace, prices, turn.stale)
        if left > whole:
            drawn.append(h.section("run", id=name, aria_label=turn.trace.question)[shown[_BRIEF]])
            continue
        played = states(turn.trace, turn.events(), min(BUDGET, _TOTAL // whole), prices, turn.stale)
        pictures = turn.pictures() if left <= _PICTURED else {}
        drawn.append(_run(turn.trace, shown, played, pictures, name=name, folded=True))
    note = f"The last {whole} hold their evidence." if number > whole else ""
    head = h.header("cx contents")[h.h1["Conversation"], note and h.p("small")[note], h.nav[h.ol[asked]]]
    return document("Conversation", h.fragment(head, drawn), "several", f", {number} turns")
