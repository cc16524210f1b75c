"""Sentences about many runs: what the Monitor page says at its top, and changes on the time axis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from crag.analysis.intervals import Estimate, quantile
from crag.analysis.monitoring.figures import Chosen, failures, faithfulness, gaps, rewrites, spending, web_rate
from crag.core.runfacts import HERE, RunFacts
from crag.providers.registry import title
from crag.text.formats import count, format_day, format_duration, money

MOST_REWRITES = 0.5
"""With more rewritten queries per question, the documents may not cover the questions."""
_POINTS = 0.05
"""A smaller difference of rates is no change."""
_SLOWER, _COMPARED = 1.5, 100
"""So many times slower is a change, against at least so many runs of the weeks before."""


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence. `warns`: a person should look. `mark`: the runs that it is about, as `choice.behind` reads it."""

    text: str
    warns: bool = False
    mark: str = ""


def compose_sentences(found: Chosen) -> list[Said]:
    """Those that warn first; without runs, one that says so."""
    runs = found.runs
    if not runs:
        return [Said("No runs in this period. Choose a longer period or fewer filters.")]
    made = [
        _runs(runs),
        _web(found),
        _rewritten(found),
        *_failure_sentences(found),
        _speed(found),
        *_cost(runs),
        *_faithful(found),
        *_gaps(runs),
    ]
    return sorted(made, key=lambda each: not each.warns)


def _runs(runs: Sequence[RunFacts]) -> Said:
    acted = Counter(run.action for run in runs if run.action)
    whole = acted.total()
    mix = ", ".join(f"{acted[name] / whole:.0%} {name}" for name in ("CORRECT", "AMBIGUOUS", "INCORRECT") if whole)
    asked = count(len(runs), "run")
    return Said(f"{asked}: {mix}." if mix else f"{asked}. None took an action.", mark="runs")


def _web(found: Chosen) -> Said:
    now, before = web_rate(found.runs), web_rate(found.before)
    if now.value is None:
        return Said("Web rate unknown: no run finished.")
    moved = _moved(now, before)
    text = f"Web rate {now.value:.0%}"
    if before.value is None:
        return Said(f"{text}.", mark="web")
    if not moved:
        return Said(f"{text}, about the same as in the weeks before ({before.value:.0%}).", mark="web")
    points = round(100 * abs(now.value - before.value))
    way = "above" if now.value > before.value else "below"
    return Said(f"{text}, {points} points {way} the weeks before ({before.value:.0%}).", True, "web")


def _rewritten(found: Chosen) -> Said:
    now = rewrites(found.runs).value or 0.0
    text = f"{now:.2f} rewrites per question"
    if now > MOST_REWRITES:
        return Said(
            f"{text}, more than {MOST_REWRITES}: your documents may not cover these questions.", True, "rewrites"
        )
    return Said(f"{text}.", mark="rewrites")


def _failure_sentences(found: Chosen) -> list[Said]:
    table = failures(found.runs)
    if not table:
        return [Said("Nothing failed.")]
    who = next(iter(table))
    reason = next(iter(table[who]))
    hit = [run for run in found.runs if f"{who}: {reason}" in run.refused]
    days = Counter(run.started_at[:10] for run in hit)
    day, most = days.most_common(1)[0]
    name = "This machine" if who == HERE else title(who)
    share = "all" if most == len(hit) else f"{most:,} of them"
    where = f", {share} on {format_day(day)}" if len(days) <= 1 or most > 1 else ""
    text = f"{name} failed in {count(len(hit), 'run')} ({reason}){where}."
    return [Said(text[:1].upper() + text[1:], len(hit) > 0.02 * len(found.runs), f"failed|{who}|{reason}")]


def _speed(found: Chosen) -> Said:
    took, before = ([run.seconds for run in runs] for runs in (found.runs, found.before))
    half, most = quantile(took, 0.5).value, quantile(took, 0.95).value
    if half is None or most is None:
        return Said("No run recorded its time.")
    text = f"Half of the runs took {format_duration(half)} or less, 95% took {format_duration(most)} or less"
    earlier = quantile(before, 0.95).value
    if earlier and len(before) >= _COMPARED and most > _SLOWER * earlier:
        return Said(f"{text}; in the weeks before, {format_duration(earlier)}.", True, "step|run|p95")
    return Said(f"{text}.", mark="step|run|p95")


def _cost(runs: Sequence[RunFacts]) -> list[Said]:
    whole = spending(runs)
    if not whole.calls:
        return []
    cost = f"{'at least ' if whole.unpriced and whole.dollars else ''}{money(whole.dollars)}"
    cost = "price unknown" if whole.unpriced and not whole.dollars else cost
    failed = f", {whole.failed:,} failed" if whole.failed else ""
    return [Said(f"{count(whole.calls, 'outside call')}{failed}: {cost}.", mark="calls")]


def _faithful(found: Chosen) -> list[Said]:
    now, before = faithfulness(found.runs), faithfulness(found.before)
    if now.value is None:
        return []
    text = f"{now.value:.0%} of the sentences in checked answers are supported by their sources"
    if before.value is not None and _moved(now, before) and now.value < before.value:
        return [Said(f"{text}; in the weeks before, {before.value:.0%}.", True, "faithful")]
    return [Said(f"{text}.", mark="faithful")]


def _gaps(runs: Sequence[RunFacts]) -> list[Said]:
    unanswered = gaps(runs)
    if not unanswered:
        return []
    return [Said(f"{count(unanswered, 'run')} found no answer in the documents.", mark="gaps")]


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
