"""What the Monitor page draws: series over time, distributions, and tables of comparison, from runs' figures. Pure.

A run's figures with what its outside calls cost: all that the Monitor page and the metrics count.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from crag.analysis.intervals import Estimate, mean, quantile, share
from crag.analysis.monitoring.choice import BINS, Chosen, bin_of
from crag.core.runfacts import RunFacts, figures_of
from crag.core.trace import Trace
from crag.core.types import Step
from crag.providers.prices import Price, of_day, sum_spent
from crag.storage.runs import Facts

ACTIONS = ("CORRECT", "AMBIGUOUS", "INCORRECT", "none")
By = Literal["strategy", "evaluator", "scope", "via"]
Kind = Literal["evaluator", "model", "thresholds", "documents"]


def actions(found: Chosen) -> dict[str, dict[str, int]]:
    """Runs by bucket and action; "none": no action was taken, as under plain RAG."""
    counted = {bucket: dict.fromkeys(ACTIONS, 0) for bucket in found.buckets}
    for run in found.runs:
        counted.setdefault(found.bucket(run), dict.fromkeys(ACTIONS, 0))[run.action or "none"] += 1
    return counted


def select_finished(runs: Sequence[RunFacts]) -> list[RunFacts]:
    """Those that went to their end, of which a rate is a share."""
    return [run for run in runs if run.outcome not in ("failed", "stopped")]


def web_rate(runs: Sequence[RunFacts]) -> Estimate:
    """The share of runs that searched the web."""
    whole = select_finished(runs)
    return share(sum(run.web for run in whole), len(whole))


def rewrites(runs: Sequence[RunFacts]) -> Estimate:
    """Rewritten queries a question, for the library and for the web."""
    return mean([float(run.rewrites) for run in select_finished(runs)])


def faithfulness(runs: Sequence[RunFacts]) -> Estimate:
    """The mean share of sentences that their sources support, over answers that were checked."""
    return mean([run.faithfulness for run in runs if run.faithfulness is not None])


def gaps(runs: Sequence[RunFacts]) -> int:
    """Runs that asked all documents, which left the question unanswered."""
    return sum(run.gap for run in runs)


def over_time(found: Chosen, measure: Callable[[Sequence[RunFacts]], Estimate]) -> dict[str, Estimate]:
    """A measure in each bucket."""
    return {bucket: measure(runs) for bucket, runs in found.by_bucket().items()}


def distribution(runs: Sequence[RunFacts]) -> list[int]:
    """How many runs' best scores lie in each of twenty equal bins over 0..1."""
    counted = Counter(bin_of(run.best) for run in runs if run.best is not None)
    return [counted[place] for place in range(BINS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Seconds in one step, or in the whole `run`: the median and what 95 of 100 runs do not exceed; before, too."""

    step: str
    median: Estimate
    p95: Estimate
    median_before: float | None


def latency(found: Chosen) -> list[Latency]:
    """Steps in their order, the whole run last; steps that no run took are left out."""
    steps = [*get_args(Step), "run"]
    made = []
    for step in steps:
        now, before = (_seconds(runs, step) for runs in (found.runs, found.before))
        if now:
            made.append(
                Latency(
                    step=step,
                    median=quantile(now, 0.5),
                    p95=quantile(now, 0.95),
                    median_before=quantile(before, 0.5).value,
                )
            )
    return made


def _seconds(runs: Sequence[RunFacts], step: str) -> list[float]:
    if step == "run":
        return [run.seconds for run in select_finished(runs)]
    return [run.steps[step] for run in runs if step in run.steps]


def failures(runs: Sequence[RunFacts]) -> dict[str, dict[str, int]]:
    """Runs in which something failed, by who failed and why; who failed most often first."""
    found: dict[str, Counter[str]] = {}
    for run in runs:
        for each in run.refused:
            who, _, reason = each.rpartition(": ")
            found.setdefault(who, Counter())[reason] += 1
    return {who: dict(found[who].most_common()) for who in sorted(found, key=lambda who: -found[who].total())}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Outside calls of a bucket: how many, failed ones among them, dollars as far as prices are known."""

    calls: int
    failed: int
    dollars: float
    unpriced: int


def spending(runs: Sequence[RunFacts]) -> Spending:
    return Spending(
        calls=sum(sum(run.calls.values()) for run in runs),
        failed=sum(sum(run.failed.values()) for run in runs),
        dollars=sum(run.dollars for run in runs),
        unpriced=sum(run.unpriced for run in runs),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What runs of one strategy, evaluator, set of documents or way of asking come to, each with its interval."""

    name: str
    runs: int
    actions: Mapping[str, Estimate]
    web: Estimate
    rewrites: Estimate
    best: Estimate
    median: Estimate
    p95: Estimate
    failed: Estimate
    faithfulness: Estimate
    dollars: float


def groups(runs: Sequence[RunFacts], by: By) -> list[Group]:
    """One for each that is there, the most frequent first."""
    parts: dict[str, list[RunFacts]] = {}
    for run in runs:
        parts.setdefault(getattr(run, by), []).append(run)
    return [_group(name, parts[name]) for name in sorted(parts, key=lambda name: -len(parts[name]))]


def _group(name: str, runs: Sequence[RunFacts]) -> Group:
    acted = [run for run in runs if run.action]
    counts = Counter(run.action for run in acted)
    took = _seconds(runs, "run")
    return Group(
        name=name,
        runs=len(runs),
        actions={action: share(counts[action], len(acted)) for action in ACTIONS[:3]},
        web=web_rate(runs),
        rewrites=rewrites(runs),
        best=quantile([run.best for run in runs if run.best is not None], 0.5),
        median=quantile(took, 0.5),
        p95=quantile(took, 0.95),
        failed=share(sum(bool(run.failures) for run in runs), len(runs)),
        faithfulness=faithfulness(runs),
        dollars=sum(run.dollars for run in runs),
    )


# What changed


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something that may explain what is seen. `at`: ISO 8601, UTC. `kind`: evaluator, model, thresholds, documents.

    `what` is a value to be put in words: an id, a pair of thresholds, a count.
    """

    at: str
    kind: Kind
    what: str


def changes(runs: Sequence[RunFacts], added: Sequence[tuple[str, str]] = ()) -> list[Change]:
    """What was used for the first time, in order; `added`: when documents were added (ISO 8601), and their names.

    Of a day's documents one change tells. What the first run of all used is no change.
    """
    found: list[Change] = []
    known: dict[tuple[Kind, str], set[str]] = {}
    first = runs[0].started_at if runs else ""
    for run in runs:
        said: dict[tuple[Kind, str], set[str]] = {
            ("evaluator", ""): {run.evaluator},
            ("model", ""): {each.model for each in run.used},
        }
        if run.upper is not None and run.lower is not None:
            said["thresholds", run.strategy] = {f"{run.lower:.2f} {run.upper:.2f}"}
        for (kind, of), values in said.items():
            fresh = values - {""} - known.get((kind, of), set())
            if (kind, of) in known or kind == "model":
                found += [Change(at=run.started_at, kind=kind, what=f"{of} {each}".strip()) for each in sorted(fresh)]
            if fresh:
                known.setdefault((kind, of), set()).update(fresh)
    days = Counter(at[:10] for at, _ in added if at >= first)
    found += [
        Change(at=min(at for at, _ in added if at[:10] == day), kind="documents", what=str(days[day])) for day in days
    ]
    return sorted(found, key=lambda change: change.at)


def facts_of(trace: Trace, prices: Mapping[str, Price]) -> RunFacts:
    """The figures of a run that has ended."""
    return priced(figures_of(trace), prices)


def priced(facts: RunFacts, prices: Mapping[str, Price]) -> RunFacts:
    """The same run at these prices."""
    if not facts.used:
        return facts
    cost = sum_spent(of_day(each, prices) for each in facts.used)
    return replace(facts, dollars=cost.dollars, unpriced=cost.unknown)


@dataclass(frozen=True, slots=True)
class Reading:
    """The runs in the order of their beginning. `version` differs where they do."""

    runs: Sequence[RunFacts]
    version: int


class RunFactsCache:
    """The runs of one library. Thread-safe."""

    def __init__(self) -> None:
        self._known: dict[int, RunFacts] = {}
        self._prices: Mapping[str, Price] = {}
        self._reading = Reading((), 0)
        self._lock = threading.Lock()

    def read(self, facts: Facts, prices: Mapping[str, Price]) -> Reading:
        """All runs as they are now, at these prices. Raises StorageError."""
        with self._lock:
            standing = facts.standing()
            if prices != self._prices:
                self._known, self._prices = {}, dict(prices)
            last = max(self._known, default=0)
            same = len(self._known) == standing.runs and last == standing.last
            if same and self._reading.version:
                return self._reading
            if not same:
                self._take(facts, last)
                if len(self._known) != standing.runs:  # some were deleted
                    self._known = {}
                    self._take(facts, 0)
            runs = sorted(self._known.values(), key=lambda each: each.started_at)
            self._reading = Reading(runs, self._reading.version + 1)
            return self._reading

    def _take(self, facts: Facts, last: int) -> None:
        for number, each in facts.since(last):
            self._known[number] = priced(each, self._prices)
