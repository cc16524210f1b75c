"""Sentences about many runs: what the Monitor page says at its top."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from crag.analysis.intervals import Mean
from crag.analysis.monitoring.figures import Chosen, mark
from crag.core.runfacts import HERE
from crag.core.types import Action
from crag.providers.registry import title
from crag.text.formats import count, format_duration, money

MOST_REWRITES = 0.5
"""With more rewritten queries per question, the documents may not cover the questions."""
_POINTS = 0.05
"""A smaller difference of rates is no change."""
_SLOWER, _COMPARED = 1.5, 100
"""How many times slower is a change, and the runs of the weeks before that it needs at least."""
_OFTEN = 0.02
"""The share of runs from which on a failure warns."""


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence. `warns`: a person should look. `mark`: the runs that it is about, as `behind` reads it."""

    text: str
    warns: bool = False
    mark: str = ""


def compose_sentences(found: Chosen) -> list[Said]:
    """Those that warn first; without runs, one that says so."""
    if not found.span.runs:
        return [Said("No runs in this period. Choose a longer period or fewer filters.")]
    said = [
        _runs(found),
        *_rate(found, "web", "Web rate {:.0%}"),
        _rewritten(found),
        *_failures(found),
        *_speed(found),
        *_cost(found),
        *_rate(found, "faithfulness", "{:.0%} of checked sentences supported", rise_warns=False),
    ]
    if unanswered := len(found.span.behind("gaps")):
        said.append(Said(f"{count(unanswered, 'run')} found no answer in the documents.", mark=mark("span", "gaps")))
    return sorted(said, key=lambda each: not each.warns)


def _runs(found: Chosen) -> Said:
    shares = {name: found.span[name].value for name in Action}
    mix = ", ".join(f"{value:.0%} {name}" for name, value in shares.items() if value is not None)
    return Said(f"{count(len(found.span.runs), 'run')}: {mix or 'none took an action'}.", mark=mark("span", "runs"))


def _rate(found: Chosen, measure: str, text: str, *, rise_warns: bool = True) -> list[Said]:
    """A share, and that of the weeks before where it was another one by more than chance."""
    now, before = found.span[measure], found.before[measure]
    if now.value is None:
        return []
    moved = _moved(now, before)
    earlier = f"; in the weeks before, {before.value:.0%}" if moved else ""
    warns = moved and (rise_warns or now.value < (before.value or 0.0))
    return [Said(f"{text.format(now.value)}{earlier}.", warns, mark("span", measure))]


def _rewritten(found: Chosen) -> Said:
    now = found.span["rewrites"].value or 0.0
    many = now > MOST_REWRITES
    why = f", more than {MOST_REWRITES}: your documents may not cover these questions" if many else ""
    return Said(f"{now:.2f} rewrites per question{why}.", many, mark("span", "rewrites"))


def _failures(found: Chosen) -> list[Said]:
    """The commonest failure."""
    for name, group in found.groups["failure"].items():
        who, _, reason = name.rpartition(": ")
        who, hit = "This machine" if who == HERE else title(who), len(group.runs)
        often = hit > _OFTEN * len(found.span.runs)
        return [Said(f"{who} failed in {count(hit, 'run')} ({reason}).", often, mark("failure", "runs", name))]
    return []


def _speed(found: Chosen) -> list[Said]:
    now, earlier = found.span["run p95"].value, found.before["run p95"].value
    if now is None:
        return []
    slower = bool(earlier) and len(found.before.runs) >= _COMPARED and now > _SLOWER * (earlier or 0.0)
    than = f"; in the weeks before, {format_duration(earlier or 0.0)}" if slower else ""
    return [Said(f"95% of the runs took {format_duration(now)} or less{than}.", slower, mark("span", "run p95"))]


def _cost(found: Chosen) -> list[Said]:
    calls, unpriced, dollars = (found.span.total(each) for each in ("calls", "unpriced", "dollars"))
    if not calls:
        return []
    cost = "price unknown" if unpriced and not dollars else money(dollars)
    least = "at least " if unpriced and dollars else ""
    return [Said(f"{count(int(calls), 'outside call')}: {least}{cost}.", mark=mark("span", "calls"))]


def _moved(now: Mean, before: Mean) -> bool:
    """Whether two shares differ by more than chance and by enough to matter."""
    if now.value is None or before.value is None or min(now.known, before.known) < 20:
        return False
    spread = sum((each.value or 0.0) * (1 - (each.value or 0.0)) / each.known for each in (now, before))
    difference = abs(now.value - before.value)
    return difference >= _POINTS and difference > 2.58 * sqrt(spread)
