"""The rail: an axis from 0 to 1 with three zones, dots on it, and two lines that are dragged in the browser.

What it is drawn from, as rail.js takes it: nothing is decided there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

from crag.analysis.whatif.entries import Entry
from crag.analysis.whatif.lines import Decided, LineTable, tabulate
from crag.analysis.whatif.replay_plan import Planner
from crag.core.policy import searches_web, uses_documents
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Action, Aggregation
from crag.evaluation.trigger import verdict
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.elements import Html
from crag.export.html.safe_text import excerpt
from crag.messages.tuning import unknown_sentence
from crag.messages.wording import VERDICTS
from crag.text.formats import count

_ROUTES = {(True, False): "documents", (True, True): "both", (False, True): "web", (False, False): "nothing"}
"""What an answer is made from, by whether an action uses documents and searches the web."""
_MARKS = {Aggregation.ANY: "best", Aggregation.WORST: "worst", Aggregation.MEAN: "average"}
"""What the score that is compared with the lines is called."""

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


def describe_rail(
    settings: Settings,
    start: Settings,
    points: Sequence[Point],
    outcomes: Sequence[Mapping[str, Any]],
    *,
    run: str = "",
    live: bool = False,
    web: bool = True,
) -> dict[str, Any]:
    """The rail with its lines as `settings` have them, and where they stand without that, as `start` has them.

    `run`: the run whose passages the points are; "" where each is a run. `live`: more points will come. `web`: whether
    it can be searched.
    """
    again = settings.loop_on if settings.max_rewrites else ()
    signs = {action: " ↻" if action in again else "" for action in Action}
    return {
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


def describe_run(trace: Trace, settings: Settings, start: Settings, *, web: bool) -> dict[str, Any] | None:
    """The rail of a run: its passages, their score together, and what it would come to under other lines.

    None of a run without grades. The rest as in `describe_rail`.
    """
    if start.evaluator == "none" or (trace.finished and trace.decision is None):
        return None
    web = web or bool(trace.searches)
    points, outcomes = _passages(trace), Outcomes(settings, 4, web)
    if trace.decision is not None:
        entry = Entry.of(trace)
        mark: Point = {"id": "", "kind": "mark", "title": _MARKS.get(settings.aggregation, "together")}
        was = {"was": trace.action, "round": len(trace.rounds) - 1}
        here = outcomes.place(Planner(entry).decision(settings))
        points.append(mark | was | {"here": here, "table": outcomes.table(tabulate(entry, settings))})
    live = not trace.finished
    return describe_rail(settings, start, points, outcomes.found, run=trace.run_id, live=live, web=web)


def picture_rail(trace: Trace) -> Html:
    """The rail of a run as a picture that nothing moves; nothing of a run without grades."""
    settings = Settings.stored(trace.settings).settings
    data = describe_run(trace, settings, settings, web=True)
    if data is None or trace.decision is None or trace.decision.score is None:
        return Html()
    zones = [
        h.div(f"zone {each.lower()}")[h.span("verdict-word")[said], h.span("leads")[leads]]
        for each, (said, leads) in data["zones"].items()
    ]
    passages = [point["score"] for point in data["points"] if "kind" not in point]
    upper, lower = settings.upper, settings.lower
    dots = [
        h.i(f"dot {verdict(score, upper=upper, lower=lower).lower()}", style=f"left:{score:.1%};margin-top:{step}rem")
        for score, step in zip(passages, cycle((0, 0.7, -0.7)), strict=False)
    ]
    mark = h.i(f"mark {trace.decision.action.lower()}", style=f"left:{trace.decision.score:.1%}")
    lines = [h.div(f"line {which}")[h.i] for which in ("lower", "upper")]
    label = h.span("label")[f"together {trace.decision.score:.2f}"]
    places = f"--lower:{lower};--upper:{upper};--mark:{trace.decision.score}"
    return h.div("cx rail", style=places, aria_hidden="true")[
        h.div("scale")[h.div("axis")[zones, h.div("field")[dots, mark], label, lines]]
    ]


def _passages(trace: Trace) -> list[Point]:
    """The passages that have a score, and what each earlier search of the library came to."""
    here = trace.round
    if here is None:
        return []
    scored = [(found.chunk, here.grades.get(found.chunk.id)) for found in here.chunks]
    deciding = trace.decision.deciding_id if trace.decision else None
    points: list[Point] = [
        {
            "id": chunk.id,
            "title": words.place(chunk) or excerpt(chunk.source, 60),
            "score": grade.score,
            "deciding": chunk.id == deciding,
            "pick": f"chunk:{chunk.id}",
        }
        for chunk, grade in scored
        if grade is not None and grade.score is not None
    ]
    for number, round in enumerate(trace.rounds[:-1], 1):
        if round.decision and round.decision.score is not None:
            title = f"search {number}: {VERDICTS[round.decision.action]}"
            points.append({"id": f"search-{number}", "kind": "earlier", "title": title, "score": round.decision.score})
    return points


def _hundredths(threshold: float) -> float:
    return round(threshold * 100, 6)
