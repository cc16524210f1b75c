"""Sentences about many runs: what the Monitor page says at its top, and changes on the time axis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from crag.analysis.intervals import Estimate, quantile
from crag.analysis.monitoring.figures import Chosen, failures, faithfulness, gaps, rewrites, spending, web_rate
from crag.core.runfacts import HERE, RunFacts
from crag.core.types import Action
from crag.providers.registry import title
from crag.text.formats import count, format_duration, money

MOST_REWRITES = 0.5
"""With more rewritten queries per question, the documents may not cover the questions."""
_POINTS = 0.05
"""A smaller difference of rates is no change."""
_SLOWER, _COMPARED = 1.5, 100
"""How many times slower is a change, and the runs of the weeks before that it needs at least."""


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence. `warns`: a person should look. `mark`: the runs that it is about, as `choice.behind` reads it."""

    text: str
    warns: bool = False
    mark: str = ""


def compose_sentences(found: Chosen) -> list[Said]:
    """Those that warn first; without runs, one that says so."""
    runs, before = found.runs, found.before
    if not runs:
        return [Said("No runs in this period. Choose a longer period or fewer filters.")]
    said = [
        _runs(runs),
        *_rate("Web rate {:.0%}", web_rate(runs), web_rate(before), "web"),
        _rewritten(runs),
        *_failures(runs),
        *_speed(runs, before),
        *_cost(runs),
        *_rate(
            "{:.0%} of checked sentences supported",
            faithfulness(runs),
            faithfulness(before),
            "faithful",
            rise_warns=False,
        ),
    ]
    if unanswered := gaps(runs):
        said.append(Said(f"{count(unanswered, 'run')} found no answer in the documents.", mark="gaps"))
    return sorted(said, key=lambda each: not each.warns)


def _runs(runs: Sequence[RunFacts]) -> Said:
    acted = Counter(run.action for run in runs if run.action)
    mix = ", ".join(f"{acted[name] / acted.total():.0%} {name}" for name in Action if acted)
    return Said(f"{count(len(runs), 'run')}: {mix or 'none took an action'}.", mark="runs")


def _rate(text: str, now: Estimate, before: Estimate, mark: str, *, rise_warns: bool = True) -> list[Said]:
    """A share, and that of the weeks before where it was another one by more than chance."""
    if now.value is None:
        return []
    moved = _moved(now, before)
    earlier = f"; in the weeks before, {before.value:.0%}" if moved else ""
    warns = moved and (rise_warns or now.value < (before.value or 0.0))
    return [Said(f"{text.format(now.value)}{earlier}.", warns, mark)]


def _rewritten(runs: Sequence[RunFacts]) -> Said:
    now = rewrites(runs).value or 0.0
    many = now > MOST_REWRITES
    why = f", more than {MOST_REWRITES}: your documents may not cover these questions" if many else ""
    return Said(f"{now:.2f} rewrites per question{why}.", many, "rewrites")


def _failures(runs: Sequence[RunFacts]) -> list[Said]:
    """The commonest failure."""
    table = failures(runs)
    if not table:
        return []
    who, reasons = next(iter(table.items()))
    reason = next(iter(reasons))
    hit = sum(f"{who}: {reason}" in run.refused for run in runs)
    name = "This machine" if who == HERE else title(who)
    return [Said(f"{name} failed in {count(hit, 'run')} ({reason}).", hit > 0.02 * len(runs), f"failed|{who}|{reason}")]


def _speed(runs: Sequence[RunFacts], before: Sequence[RunFacts]) -> list[Said]:
    now, earlier = (quantile([run.seconds for run in each], 0.95).value for each in (runs, before))
    if now is None:
        return []
    slower = bool(earlier) and len(before) >= _COMPARED and now > _SLOWER * (earlier or 0.0)
    than = f"; in the weeks before, {format_duration(earlier or 0.0)}" if slower else ""
    return [Said(f"95% of the runs took {format_duration(now)} or less{than}.", slower, "step|run|p95")]


def _cost(runs: Sequence[RunFacts]) -> list[Said]:
    whole = spending(runs)
    if not whole.calls:
        return []
    cost = "price unknown" if whole.unpriced and not whole.dollars else money(whole.dollars)
    least = "at least " if whole.unpriced and whole.dollars else ""
    return [Said(f"{count(whole.calls, 'outside call')}: {least}{cost}.", mark="calls")]


def change_sentence(kind: str, what: str) -> str:
    """What changed, for a mark on the time axis."""
    match kind:
        case "documents":
            return f"{count(int(what), 'document')} added"
        case "thresholds":
            *name, lower, upper = what.split()
            return f"thresholds {lower} and {upper} for {' '.join(name)}"
        case _:
            return f"{kind} {what}"


def _moved(now: Estimate, before: Estimate) -> bool:
    """Whether two shares differ by more than chance and by enough to matter."""
    if now.value is None or before.value is None or min(now.of, before.of) < 20:
        return False
    spread = sum((each.value or 0.0) * (1 - (each.value or 0.0)) / each.of for each in (now, before))
    difference = abs(now.value - before.value)
    return difference >= _POINTS and difference > 2.58 * sqrt(spread)
