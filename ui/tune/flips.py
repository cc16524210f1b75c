"""What the runs would become, drawn: a sentence, the flow from was to would be, a matrix to click, what it saves."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from crag.core.types import Action
from crag.spending.prices import money
from crag.whatif.entries import Entry
from crag.whatif.flips import Becomes, Outcome
from ui.kit import words
from ui.kit.safe import text
from ui.run.path import chip

__all__ = ["cell_of", "figures", "flow", "listed", "matrix", "named", "summary", "unknowns"]

_WAS: tuple[Becomes, ...] = (*Action, "none")
_FATES: tuple[Becomes, ...] = (*Action, "none", "unknown")
_LISTED = 50
"""Questions of a cell that are shown; all are in the export."""
_BETWEEN = 2.5
"""Percent of the height between two parts of a bar."""
_LABEL = 10.0
"""Percent of the height that a label takes."""
_STEPS = 10
"""Points of each side of a band."""


def named(becomes: Becomes) -> str:
    """A becomes in words."""
    return {"none": "no action", "unknown": "unknown"}.get(becomes, str(becomes))


def _chip(becomes: Becomes) -> str:
    if becomes == "unknown":
        return '<span class="verdict none">? unknown</span>'
    return chip(None if becomes == "none" else Action(becomes))


def summary(outcome: Outcome, *, in_use: bool) -> str:
    """How many flip, from what to what, and of how many it can't be known. `in_use`: Ask has the same settings."""
    total, flips = len(outcome.rows), len(outcome.flips)
    unknown = sum(row.becomes == "unknown" for row in outcome.rows)
    if all(row.becomes == "none" for row in outcome.rows):
        lead = f"<b>Nothing would be graded</b>: {words.count(total, 'run')} would take no action."
    elif not flips:
        lead = f"<b>No action would change</b> among {words.count(total - unknown, 'run')} that can be decided anew."
    else:
        kinds = [
            f"{len(ids)} {_chip(was)} → {_chip(becomes)}"
            for (was, becomes), ids in sorted(outcome.matrix.items(), key=lambda cell: -len(cell[1]))
            if was != becomes and becomes not in ("unknown", "none")
        ]
        lead = f"<b>{flips:,} of {words.count(total, 'run')} would flip</b>: {', '.join(kinds)}."
    tail = f" Of <b>{unknown:,}</b> only a new run could tell." if unknown else ""
    note = "" if not in_use else ' <span class="quiet">The sliders stand as Ask has them.</span>'
    return f'<div class="cx"><p class="tune-says" role="status">{lead}{tail}{note}</p></div>'


# ---- the flow --------------------------------------------------------------------------------------------------------


def flow(outcome: Outcome) -> str:
    """All runs as two bars, by what they were and would be, with a band from each part to each part."""
    cells = {cell: len(ids) for cell, ids in outcome.matrix.items()}
    before = _parts({was: sum(n for (a, _), n in cells.items() if a == was) for was in _WAS})
    after = _parts({becomes: sum(n for (_, b), n in cells.items() if b == becomes) for becomes in _FATES})
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
    return (
        '<div class="cx"><div class="tune-flow heads"><span>Was</span><span>Would be</span></div>'
        f'<div class="tune-flow">{_labels(before, left, total)}{_bar(left)}'
        f'<div class="bands" aria-hidden="true">{"".join(bands)}</div>{_bar(right)}{_labels(after, right, total)}'
        "</div></div>"
    )


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


def _band(was: Becomes, becomes: Becomes, number: int, start: float, end: float, width: float) -> str:
    """One band, a click on which lists its runs; the same as the matrix's cell, which the keyboard reaches."""
    upper = [(x / _STEPS, start + (end - start) * _eased(x / _STEPS)) for x in range(_STEPS + 1)]
    lower = [(x, y + width) for x, y in reversed(upper)]
    shape = ",".join(f"{x * 100:.0f}% {y:.2f}%" for x, y in [*upper, *lower])
    kind = "same" if was == becomes else str(becomes).lower()
    title = f"{number:,}: {named(was)} → {named(becomes)}"
    return (
        f'<button tabindex="-1" class="{kind}" data-pick="{_pick(was, becomes)}" title="{text(title)}" '
        f'style="clip-path:polygon({shape})"></button>'
    )


def _eased(x: float) -> float:
    return x * x * (3 - 2 * x)


def _bar(places: Mapping[Becomes, tuple[float, float]]) -> str:
    parts = "".join(
        f'<i class="{str(becomes).lower()}" style="top:{top:.2f}%;height:{bottom - top:.2f}%"></i>'
        for becomes, (top, bottom) in places.items()
        if bottom > top
    )
    return f'<div class="bar-side" aria-hidden="true">{parts}</div>'


def _labels(counts: Mapping[Becomes, int], places: Mapping[Becomes, tuple[float, float]], total: int) -> str:
    """A label at the middle of each part, moved apart where they would cover one another."""
    tops: list[float] = []
    for becomes in counts:
        top, bottom = places[becomes]
        tops.append(max((top + bottom - _LABEL) / 2, tops[-1] + _LABEL if tops else 0.0))
    limit = 100.0
    for place in range(len(tops) - 1, -1, -1):
        limit = tops[place] = min(tops[place], limit - _LABEL)
    labels = "".join(
        f'<span style="top:{top:.2f}%">{_chip(becomes)} <b class="num">{number:,}</b> '
        f'<span class="small">{number / total:.0%}</span></span>'
        for (becomes, number), top in zip(counts.items(), tops, strict=True)
    )
    return f'<div class="labels">{labels}</div>'


# ---- the matrix ------------------------------------------------------------------------------------------------------


def matrix(outcome: Outcome, opened: tuple[Becomes, Becomes] | None) -> str:
    """Was by would be, each number a button that lists its runs."""
    cells = {cell: len(ids) for cell, ids in outcome.matrix.items()}
    rows = [was for was in _WAS if isinstance(was, Action) or any(a == was for a, _ in cells)]
    columns = [becomes for becomes in _FATES if isinstance(becomes, Action) or any(b == becomes for _, b in cells)]
    head = "".join(f'<th scope="col">{_chip(becomes)}</th>' for becomes in columns)
    body = "".join(
        f'<tr><th scope="row">{_chip(was)}</th>'
        + "".join(_cell(was, becomes, cells.get((was, becomes), 0), opened == (was, becomes)) for becomes in columns)
        + "</tr>"
        for was in rows
    )
    return (
        '<div class="cx"><table class="tune-matrix"><caption>Down: what they were. Across: what they would be. '
        f"A number lists its questions.</caption><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>"
        "</div>"
    )


def _cell(was: Becomes, becomes: Becomes, number: int, opened: bool) -> str:
    if not number:
        return '<td class="nil">·</td>'
    kind = "same" if was == becomes else str(becomes).lower()
    said = f"{words.count(number, 'run')}: was {named(was)}, would be {named(becomes)}"
    return (
        f'<td><button class="{kind}" data-pick="{_pick(was, becomes)}" aria-expanded="{str(opened).lower()}" '
        f'aria-label="{text(said)}">{number:,}</button></td>'
    )


def _pick(was: Becomes, becomes: Becomes) -> str:
    return f"tune-cell:{was}:{becomes}"


def cell_of(picked: str) -> tuple[Becomes, Becomes] | None:
    """The cell that a click named; None for anything else."""
    kind, _, rest = picked.partition(":")
    was, _, becomes = rest.partition(":")
    fates: dict[str, Becomes] = {str(each): each for each in _FATES}
    return (fates[was], fates[becomes]) if kind == "tune-cell" and was in fates and becomes in fates else None


def listed(outcome: Outcome, entries: Mapping[str, Entry], cell: tuple[Becomes, Becomes], key: str) -> str:
    """The questions of a cell, each a link that opens its run in Ask. `key`: of a private library, else empty."""
    was, becomes = cell
    ids = outcome.matrix.get(cell, ())
    reasons = {row.run_id: row.reason.sentence for row in outcome.rows if row.reason}
    items = "".join(_item(entries[id], reasons.get(id, ""), key) for id in ids[:_LISTED])
    more = f'<p class="small">And {len(ids) - _LISTED:,} more: the export has all.</p>' if len(ids) > _LISTED else ""
    close = f'<button class="more" data-pick="{_pick(was, becomes)}">Close</button>'
    about = f'<span class="small">{words.count(len(ids), "run")}; a question opens its run in Ask</span>'
    lead = f"<h3>{_chip(was)} → {_chip(becomes)} {about} {close}</h3>"
    empty = "<p>No run is here any more.</p>" if not ids else ""
    return f'<div class="cx tune-list">{lead}{empty}<ul>{items}</ul>{more}</div>'


def _item(entry: Entry, reason: str, key: str) -> str:
    address = urlencode(({"w": key} if key else {}) | {"run": entry.run_id})
    why = f'<br><span class="small">{text(reason)}</span>' if reason else ""
    return (
        f'<li><a href="./?{text(address)}" data-pick="tune-run:{text(entry.run_id)}">{text(entry.question)}</a> '
        f'<span class="small">{text(entry.strategy)}, {words.ago(entry.started_at)}</span>{why}</li>'
    )


# ---- what it saves ---------------------------------------------------------------------------------------------------


def figures(outcome: Outcome, cost: Outcome | None) -> str:
    """Calls, searches, seconds and cost that would not be spent; strips kept; what would come on top, unknown.

    `cost`: the same runs with dollars for seconds; None where no run made an outside call.
    """
    saved, kept = outcome.saved, outcome.kept
    shown = [
        '<span class="lead">Saved</span>',
        _figure(f"{saved.calls:,}", "outside call" + "s" * (saved.calls != 1), least=bool(saved.uncounted)),
        _figure(f"{saved.searches:,}", "web search" + "es" * (saved.searches != 1)),
        _figure(words.duration(saved.seconds) if saved.seconds else "0 s", ""),
        _cost(cost),
        _figure(f"{kept.before:,} → {kept.after:,}", f"strips kept, over {words.count(kept.runs, 'run')} where known"),
    ]
    added = [
        (outcome.searches_added, "would search the web that did not"),
        (outcome.refinements_added, "would cut and score chunks that did not"),
    ]
    extra = [f"<b>{number:,}</b> {said}" for number, said in added if number]
    on_top = f'<p class="plain">{"; ".join(extra)}: what that takes is unknown without a run.</p>' if extra else ""
    return f'<div class="cx"><div class="figures">{"".join(shown)}</div>{on_top}</div>'


def _figure(value: str, label: str, *, least: bool = False) -> str:
    return f"<span>{'at least ' if least else ''}<b>{value}</b> {label}</span>"


def _cost(cost: Outcome | None) -> str:
    if cost is None:
        return "<span>nothing paid for: local models</span>"
    saved = cost.saved
    if saved.uncounted and not saved.seconds:
        return "<span>cost unknown: no price or no count of tokens</span>"
    return _figure(money(saved.seconds), "", least=bool(saved.uncounted))


def unknowns(outcome: Outcome) -> str:
    """What can't be known without a call, with the number of runs; nothing where all is known."""
    groups = (("Their action", outcome.reasons), ("Their action is known, but not everything else", outcome.open))
    rows = "".join(
        f'<tr><th colspan="2">{title}</th></tr>'
        + "".join(
            f'<tr><td class="r">{number:,}</td><td>{text(why.sentence)}</td></tr>' for why, number in reasons.items()
        )
        for title, reasons in groups
        if reasons
    )
    if not rows:
        return ""
    return (
        '<div class="cx"><details class="fold" data-keep="tune-unknown"><summary>What only a new run could tell'
        f'</summary><table class="grid tune-why"><tbody>{rows}</tbody></table></details></div>'
    )
