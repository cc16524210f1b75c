"""What the runs would become, drawn: a sentence, the flow from was to would be, a matrix to click, what it saves."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from crag.analysis.whatif.entries import Becomes, Entry, Outcome
from crag.core.types import Action
from crag.messages.answers import FAR, origin_text
from crag.messages.tuning import unknown_sentence
from crag.text.formats import money
from ui.components import html as h
from ui.components import words
from ui.components.html import Html
from ui.run.path import chip

_BEFORE: tuple[Becomes, ...] = (*Action, "none")
_AFTER: tuple[Becomes, ...] = (*Action, "none", "unknown")
_LISTED = 50
"""Questions of a cell that are shown; all are in the export."""
_BETWEEN = 2.5
"""Percent of the height between two parts of a bar."""
_LABEL = 10.0
"""Percent of the height that a label takes."""
_STEPS = 10
"""Points of each side of a band."""


def becomes_text(becomes: Becomes) -> str:
    """What a run was, or would become, in words."""
    return {"none": "no action", "unknown": "unknown"}.get(becomes, str(becomes))


def _chip(becomes: Becomes) -> Html:
    if becomes == "unknown":
        return h.span("verdict none")["? unknown"]
    return chip(None if becomes == "none" else Action(becomes))


def summary(outcome: Outcome, *, in_use: bool) -> Html:
    """How many flip, from what to what, and of how many it can't be known. `in_use`: Ask has the same settings."""
    total, flips = len(outcome.rows), len(outcome.changed_runs)
    unknown = sum(row.becomes == "unknown" for row in outcome.rows)
    if all(row.becomes == "none" for row in outcome.rows):
        lead = h.fragment(h.b["Nothing would be graded"], f": {words.count(total, 'run')} would take no action.")
    elif not flips:
        lead = h.fragment(
            h.b["No action would change"], f" among {words.count(total - unknown, 'run')} that can be decided again."
        )
    else:
        kinds = [
            h.fragment(f"{len(ids)} ", _chip(was), " → ", _chip(becomes))
            for (was, becomes), ids in sorted(outcome.matrix.items(), key=lambda cell: -len(cell[1]))
            if was != becomes and becomes not in ("unknown", "none")
        ]
        lead = h.fragment(h.b[f"{flips:,} of {words.count(total, 'run')} would flip"], ": ", h.joined(", ", kinds), ".")
    tail = h.fragment(" Of ", h.b[f"{unknown:,}"], " only a new run could tell.") if unknown else ""
    note = "" if not in_use else h.fragment(" ", h.span("quiet")["The sliders match Ask."])
    return h.div("cx")[h.p("tune-says", role="status")[lead, tail, note]]


# ---- the flow --------------------------------------------------------------------------------------------------------


def flow(outcome: Outcome) -> Html:
    """All runs as two bars, by what they were and would be, with a band from each part to each part."""
    cells = {cell: len(ids) for cell, ids in outcome.matrix.items()}
    before = _parts({was: sum(n for (a, _), n in cells.items() if a == was) for was in _BEFORE})
    after = _parts({becomes: sum(n for (_, b), n in cells.items() if b == becomes) for becomes in _AFTER})
    scale = _scale(before, after, sum(cells.values()))
    left, right = _places(before, scale), _places(after, scale)
    bands, leaves, enters = [], {k: v[0] for k, v in left.items()}, {k: v[0] for k, v in right.items()}
    for was in before:
        for becomes in after:
            number = cells.get((was, becomes), 0)
            if number:
                bands.append(_band(was, becomes, number, leaves[was], enters[becomes], number * scale))
                leaves[was] += number * scale
                enters[becomes] += number * scale
    total = sum(cells.values()) or 1
    return h.div("cx")[
        h.div("tune-flow heads")[h.span["Was"], h.span["Would be"]],
        h.div("tune-flow")[
            _labels(before, left, total),
            _bar(left),
            h.div("bands", aria_hidden="true")[bands],
            _bar(right),
            _labels(after, right, total),
        ],
    ]


def _parts(counts: Mapping[Becomes, int]) -> dict[Becomes, int]:
    """The three actions always, the others where there are any."""
    return {becomes: number for becomes, number in counts.items() if number or isinstance(becomes, Action)}


def _scale(before: Mapping[Becomes, int], after: Mapping[Becomes, int], total: int) -> float:
    """Percent of the height for one run, so that the bar of more parts just fits."""
    return (100 - _BETWEEN * (max(len(before), len(after)) - 1)) / (total or 1)


def _places(counts: Mapping[Becomes, int], scale: float) -> dict[Becomes, tuple[float, float]]:
    """From and to of each part, in percent of the height."""
    found, at = {}, 0.0
    for becomes, number in counts.items():
        found[becomes] = at, at + number * scale
        at += number * scale + _BETWEEN
    return found


def _band(was: Becomes, becomes: Becomes, number: int, start: float, end: float, width: float) -> Html:
    """One band, a click on which lists its runs; the same as the matrix's cell, which the keyboard reaches."""
    upper = [(x / _STEPS, start + (end - start) * _eased(x / _STEPS)) for x in range(_STEPS + 1)]
    lower = [(x, y + width) for x, y in reversed(upper)]
    shape = ",".join(f"{x * 100:.0f}% {y:.2f}%" for x, y in [*upper, *lower])
    kind = "same" if was == becomes else str(becomes).lower()
    title = f"{number:,}: {becomes_text(was)} → {becomes_text(becomes)}"
    band = h.button(tabindex="-1", class_=kind, data_pick=_pick(was, becomes), title=title)
    return band(style=f"clip-path:polygon({shape})")[()]


def _eased(x: float) -> float:
    return x * x * (3 - 2 * x)


def _bar(places: Mapping[Becomes, tuple[float, float]]) -> Html:
    parts = [
        h.i(str(becomes).lower(), style=f"top:{top:.2f}%;height:{bottom - top:.2f}%")
        for becomes, (top, bottom) in places.items()
        if bottom > top
    ]
    return h.div("bar-side", aria_hidden="true")[parts]


def _labels(counts: Mapping[Becomes, int], places: Mapping[Becomes, tuple[float, float]], total: int) -> Html:
    """A label at the middle of each part, moved apart where they would cover one another."""
    tops: list[float] = []
    for becomes in counts:
        top, bottom = places[becomes]
        tops.append(max((top + bottom - _LABEL) / 2, tops[-1] + _LABEL if tops else 0.0))
    limit = 100.0
    for place in range(len(tops) - 1, -1, -1):
        limit = tops[place] = min(tops[place], limit - _LABEL)
    labels = [
        h.span(style=f"top:{top:.2f}%")[
            _chip(becomes), " ", h.b("num")[f"{number:,}"], " ", h.span("small")[f"{number / total:.0%}"]
        ]
        for (becomes, number), top in zip(counts.items(), tops, strict=True)
    ]
    return h.div("labels")[labels]


# ---- the matrix ------------------------------------------------------------------------------------------------------


def matrix(outcome: Outcome, opened: tuple[Becomes, Becomes] | None) -> Html:
    """Was by would be, each number a button that lists its runs."""
    cells = {cell: len(ids) for cell, ids in outcome.matrix.items()}
    rows = [was for was in _BEFORE if isinstance(was, Action) or any(a == was for a, _ in cells)]
    columns = [becomes for becomes in _AFTER if isinstance(becomes, Action) or any(b == becomes for _, b in cells)]
    head = [h.th(scope="col")[_chip(becomes)] for becomes in columns]
    body = [
        h.tr[
            h.th(scope="row")[_chip(was)],
            [_cell(was, becomes, cells.get((was, becomes), 0), opened == (was, becomes)) for becomes in columns],
        ]
        for was in rows
    ]
    return h.div("cx")[
        h.table("tune-matrix")[
            h.caption["Down: what they were. Across: what they would be. A number lists its questions."],
            h.thead[h.tr[h.td, head]],
            h.tbody[body],
        ]
    ]


def _cell(was: Becomes, becomes: Becomes, number: int, opened: bool) -> Html:
    if not number:
        return h.td("nil")["·"]
    kind = "same" if was == becomes else str(becomes).lower()
    said = f"{words.count(number, 'run')}: was {becomes_text(was)}, would be {becomes_text(becomes)}"
    return h.td[
        h.button(kind, data_pick=_pick(was, becomes), aria_expanded=str(opened).lower(), aria_label=said)[f"{number:,}"]
    ]


def _pick(was: Becomes, becomes: Becomes) -> str:
    return f"tune-cell:{was}:{becomes}"


def cell_of(picked: str) -> tuple[Becomes, Becomes] | None:
    """The cell that a click named; None for anything else."""
    kind, _, rest = picked.partition(":")
    was, _, becomes = rest.partition(":")
    known: dict[str, Becomes] = {str(each): each for each in _AFTER}
    return (known[was], known[becomes]) if kind == "tune-cell" and was in known and becomes in known else None


def listed(
    outcome: Outcome, entries: Mapping[str, Entry], cell: tuple[Becomes, Becomes], here: Mapping[str, str]
) -> Html:
    """The questions of a cell, each a link that opens its run in Ask. `here`: what its address must say."""
    was, becomes = cell
    ids = outcome.matrix.get(cell, ())
    reasons = {row.run_id: unknown_sentence(row.reason) for row in outcome.rows if row.reason}
    items = [_item(entries[id], reasons.get(id, ""), here) for id in ids[:_LISTED]]
    more = h.p("small")[f"And {len(ids) - _LISTED:,} more: the export has all."] if len(ids) > _LISTED else ""
    close = h.button("more", data_pick=_pick(was, becomes))["Close"]
    about = h.span("small")[f"{words.count(len(ids), 'run')}; a question opens its run in Ask"]
    lead = h.h3[_chip(was), " → ", _chip(becomes), " ", about, " ", close]
    return h.div("cx tune-list")[lead, not ids and h.p["No run is here any more."], h.ul[items], more]


def _item(entry: Entry, reason: str, here: Mapping[str, str]) -> Html:
    address = urlencode({**here, "run": entry.run_id})
    return h.li[
        h.a(href=f"./?{address}", data_pick=f"tune-run:{entry.run_id}")[entry.question],
        " ",
        h.span("small")[", ".join(filter(None, (entry.strategy, words.ago(entry.started_at), origin_text(entry.via))))],
        reason and (h.br, h.span("small")[reason]),
    ]


# ---- what it saves ---------------------------------------------------------------------------------------------------


def figures(outcome: Outcome, cost: Outcome | None) -> Html:
    """Calls, searches, seconds and cost that would not be spent; strips kept; what would come on top, unknown.

    `cost`: the same runs with dollars for seconds; None where no run made an outside call.
    """
    saved, kept = outcome.saved, outcome.kept
    shown = [
        h.span("lead")["Saved"],
        _figure(f"{saved.calls:,}", "outside call" + "s" * (saved.calls != 1), least=bool(saved.uncounted)),
        _figure(f"{saved.searches:,}", "web search" + "es" * (saved.searches != 1)),
        _figure(words.format_duration(saved.seconds) if saved.seconds else "0 s", ""),
        _cost(cost),
        _figure(f"{kept.before:,} → {kept.after:,}", f"strips kept, over {words.count(kept.runs, 'run')} where known"),
    ]
    added = [
        (outcome.searches_added, "would search the web that did not"),
        (outcome.refinements_added, "would cut and score chunks that did not"),
    ]
    extra = [h.fragment(h.b[f"{number:,}"], " ", said) for number, said in added if number]
    on_top = h.p("plain")[h.joined("; ", extra), ": what that takes is unknown without a run."] if extra else ""
    return h.div("cx")[h.div("figures")[shown], on_top]


def _figure(value: str, label: str, *, least: bool = False) -> Html:
    return h.span["at least " if least else "", h.b[value], " ", label]


def _cost(cost: Outcome | None) -> Html:
    if cost is None:
        return h.span["nothing paid for: local models"]
    saved = cost.saved
    if saved.uncounted and not saved.seconds:
        return h.span["cost unknown: no price or no count of tokens"]
    return _figure(money(saved.seconds), "", least=bool(saved.uncounted))


def unknowns(outcome: Outcome, entries: Mapping[str, Entry]) -> Html:
    """What can't be known without a call, with the number of runs; nothing where all is known."""
    groups = (("Their action", outcome.reasons), ("Their action is known, but not everything else", outcome.open))
    rows = [
        h.fragment(
            h.tr[h.th(colspan="2")[title]],
            [h.tr[h.td("r")[f"{number:,}"], h.td[unknown_sentence(why)]] for why, number in reasons.items()],
        )
        for title, reasons in groups
        if reasons
    ]
    if not rows:
        return Html()
    lost = sum(entries[row.run_id].elsewhere for row in outcome.rows if row.reason or row.open)
    return h.div("cx")[
        h.details("fold", data_keep="tune-unknown")[
            h.summary["What only a new run could tell"],
            h.table("grid tune-why")[h.tbody[rows]],
            lost and h.p("small")[f"{words.count(lost, 'run')} of these searched another store, {FAR}."],
        ]
    ]
