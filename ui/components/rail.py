"""The rail: an axis from 0 to 1 with three zones, dots on it, and two lines that are dragged in the browser."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from crag.analysis.whatif.lines import Decided, LineTable
from crag.core.policy import searches_web, uses_documents
from crag.core.settings import Settings
from crag.core.types import Action
from crag.messages.tuning import unknown_sentence
from crag.messages.wording import VERDICTS
from crag.text.formats import count
from ui.components.drawing import asset_text

_ROUTES = {(True, False): "documents", (True, True): "both", (False, True): "web", (False, False): "nothing"}
"""What an answer is made from, by whether an action uses documents and searches the web."""


Point = dict[str, Any]
"""A point as the browser takes it: `id` and `title`, with a `score`, or a `table` over the outcomes."""


class Outcomes:
    """What runs come to under the lines, each once; a table names them by their places here."""

    def __init__(self, settings: Settings, digits: int, web: bool = True) -> None:
        """`digits` of a score are told apart; `web`: whether it can be searched."""
        self.found: list[dict[str, Any]] = []
        self._settings, self._digits, self._web = settings, digits, web
        self._places: dict[tuple[Any, ...], int] = {}

    def place(self, decided: Decided | None) -> int | None:
        """The place of an outcome; None of none."""
        if decided is None:
            return None
        decision, number, reason = decided
        action, score = (decision.action, decision.score) if decision else (None, None)
        made = {
            "action": action,
            "round": number,
            "score": None if score is None else round(score, self._digits),
            "route": "" if reason else route(action, self._settings, self._web),
            "note": _note(decided),
        }
        if (key := tuple(made.values())) not in self._places:
            self._places[key] = len(self.found)
            self.found.append(made)
        return self._places[key]

    def table(self, table: LineTable) -> tuple[Any, ...]:
        """A table as the browser takes it."""
        return table.lowers, table.uppers, tuple(tuple(map(self.place, row)) for row in table.cells)


def route(action: Action | None, settings: Settings, web: bool = True) -> str:
    """What an answer is made from: documents, both, web or nothing."""
    return _ROUTES[uses_documents(action, settings), web and searches_web(action, settings)]


def _note(decided: Decided) -> str:
    """What decides beside the lines, in a sentence; nothing where the score alone does."""
    decision, _, reason = decided
    if decision is None:
        return unknown_sentence(reason) if reason else ""
    if decision.instead_of:
        return f"Forced: the scores say {VERDICTS[decision.instead_of]}."
    if decision.doubt:
        return "Near the line: within the margin of doubt, so your documents stay."
    return f"{count(decision.unknown, 'grade')} failed and might have changed it." if decision.unknown else ""


def draw_rail(
    key: str,
    settings: Settings,
    start: Settings,
    points: Sequence[Point],
    outcomes: Sequence[Mapping[str, Any]],
    moved: Callable[..., object],
    *,
    run: str = "",
    live: bool = False,
    web: bool = True,
) -> None:
    """Draw the rail with its lines as `settings` have them; `moved` is called with the `lower` and `upper`
    threshold where a hand has put them.

    `start`: where the lines stand without that. `run`: the run whose passages the points are; "" where
    each is a run. `live`: more points will come. `web`: whether it can be searched.
    """

    def keep() -> None:
        match getattr(st.session_state.get(key), "moved", None):
            case [of, int() | float() as lower, int() | float() as upper] if of == run and 0 <= lower <= upper <= 100:
                moved(lower=lower / 100, upper=upper / 100)

    again = settings.loop_on if settings.max_rewrites else ()
    signs = {action: " ↻" if action in again else "" for action in Action}
    data = {
        "run": run,
        "live": live,
        "lower": _hundredths(settings.lower),
        "upper": _hundredths(settings.upper),
        "start": [_hundredths(start.lower), _hundredths(start.upper)],
        "binary": settings.binary,
        "doubt": _hundredths(settings.ambiguity_margin),
        "zones": {action: [VERDICTS[action], f"→ {route(action, settings)}{signs[action]}"] for action in Action},
        "verdicts": VERDICTS,
        "unit": "passage" if run else "run",
        "web": "the web" if web else "the web (off)",
        "hint": f"Drag a line to see what it would change.{' ↻ searches again first.' if any(signs.values()) else ''}",
        "points": points,
        "outcomes": outcomes,
    }
    style, script = asset_text("rail.css"), asset_text("rail.js")
    draw = st.components.v2.component("crag_rail", css=style, js=script, isolate_styles=False)
    draw(key=key, data=data, on_moved_change=keep)


def _hundredths(threshold: float) -> float:
    return round(threshold * 100, 6)
