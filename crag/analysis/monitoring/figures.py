"""Which runs the Monitor page looks at, and what it draws of their figures: series, distributions, tables. Pure."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Literal, get_args

from crag.analysis.intervals import Estimate, mean, quantile, share
from crag.core.runfacts import RunFacts, figures_of
from crag.core.trace import Trace
from crag.core.types import Step
from crag.providers.prices import Prices, of_day, sum_spent
from crag.storage.facts import Facts
from crag.storage.tables import was_asked

Span = Literal["day", "week", "month", "all"]
Width = Literal["hour", "day", "week"]
BINS = 20
"""Bars of the score distribution."""
_SPANS: Mapping[Span, tuple[timedelta, Width]] = {
    "day": (timedelta(hours=24), "hour"),
    "week": (timedelta(days=7), "day"),
    "month": (timedelta(days=30), "day"),
}
_WEEK, _BEFORE = timedelta(days=7), timedelta(days=28)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What is looked at; None or "" lets all through. `evaluations`: those of question sets too, or "only" them.

    `scope` "" is every run, "*" those asked of all documents.
    """

    span: Span = "month"
    strategy: str = ""
    evaluator: str = ""
    scope: str = ""
    via: str = ""
    evaluations: Literal["without", "with", "only"] = "without"

    def lets(self, run: RunFacts) -> bool:
        """Whether a run is looked at, whenever it was."""
        return (
            (not self.strategy or run.strategy == self.strategy)
            and (not self.evaluator or run.evaluator == self.evaluator)
            and (not self.scope or run.scope == self.scope.removeprefix("*"))
            and (not self.via or (run.via or "app") == self.via)
            and (self.evaluations == "with" or was_asked(run.run_id) == (self.evaluations == "without"))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The runs of a span in the order of their beginning, and those of the four weeks `before` it; `every`: all that
    the filters let through. `buckets` are the beginnings of all its hours, days or weeks (UTC), as `width` says."""

    runs: Sequence[RunFacts]
    before: Sequence[RunFacts]
    every: Sequence[RunFacts]
    since: datetime
    until: datetime
    width: Width
    buckets: Sequence[str]

    def bucket(self, run: RunFacts) -> str:
        """The beginning of the hour, day or week that a run began in."""
        return _bin_start(run.started_at, self.width)

    def by_bucket(self) -> dict[str, list[RunFacts]]:
        found: dict[str, list[RunFacts]] = {each: [] for each in self.buckets}
        for run in self.runs:
            found.setdefault(self.bucket(run), []).append(run)
        return found

    def last_days(self, when: str) -> list[RunFacts]:
        """Whatever the span: the runs of the last seven days ("now"), or of the four weeks before them ("before")."""
        week, earlier = ((self.until - length).isoformat() for length in (_WEEK, _WEEK + _BEFORE))
        if when == "now":
            return [run for run in self.every if run.started_at >= week]
        return [run for run in self.every if earlier <= run.started_at < week]


def choose_runs(runs: Sequence[RunFacts], choice: Choice, now: datetime) -> Chosen:
    """What of these runs, in the order of their beginning, is looked at."""
    every = [run for run in runs if choice.lets(run)]
    if choice.span == "all":
        first = datetime.fromisoformat(every[0].started_at).astimezone(UTC) if every else now
        days = (now - first).days
        width: Width = "hour" if days < 2 else "day" if days < 45 else "week"
        since = datetime.fromisoformat(_bin_start(first.isoformat(), width)).replace(tzinfo=UTC)
    else:
        length, width = _SPANS[choice.span]
        # From the beginning of an hour or a day on, so that the first bar is whole.
        since = datetime.fromisoformat(_bin_start((now - length).isoformat(), width)).replace(tzinfo=UTC)
        since += timedelta(hours=1) if width == "hour" else timedelta(days=1)
    start, earlier = since.isoformat(), (since - _BEFORE).isoformat()
    return Chosen(
        runs=[run for run in every if run.started_at >= start],
        before=[run for run in every if earlier <= run.started_at < start],
        every=every,
        since=since,
        until=now,
        width=width,
        buckets=_buckets(since, now, width),
    )


def _buckets(since: datetime, now: datetime, width: Width) -> list[str]:
    step = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)}[width]
    found, at = [], since
    while at <= now:
        found.append(_bin_start(at.isoformat(), width))
        at += step
    return found


def _bin_start(at: str, width: Width) -> str:
    """ISO 8601 without a zone: the hour, the day, or the Monday."""
    return f"{at[:13]}:00" if width == "hour" else at[:10] if width == "day" else _monday(at[:10])


@lru_cache(maxsize=4096)
def _monday(day: str) -> str:
    found = date.fromisoformat(day)
    return (found - timedelta(days=found.weekday())).isoformat()


def bin_of(score: float) -> int:
    """The bar of the distribution that a score 0..1 is in."""
    return min(BINS - 1, int(score * BINS))


def rank(values: Sequence[float], part: float) -> float:
    """The smallest of these values that this part of them does not exceed. Raises IndexError of none."""
    return sorted(values)[max(0, -(-int(part * 1000) * len(values) // 1000) - 1)]


# The runs behind a mark


def behind(mark: str, found: Chosen) -> list[RunFacts]:
    """The runs that a mark of the page stands for, those first that it is about; none of a mark that is none.

    A mark is its kind and up to two words, as "action:2026-11-20:CORRECT"; the kinds are those of `_MARKS`.
    """
    kind, _, rest = mark.partition("|")
    one, _, other = rest.partition("|")
    return _MARKS[kind](found, one, other) if kind in _MARKS else []


def _latest(runs: Sequence[RunFacts]) -> list[RunFacts]:
    return sorted(runs, key=lambda run: run.started_at, reverse=True)


def _most(runs: Sequence[RunFacts], value: Callable[[RunFacts], float]) -> list[RunFacts]:
    return sorted(_latest(runs), key=value, reverse=True)


def _in(found: Chosen, bucket: str) -> list[RunFacts]:
    return _latest([run for run in found.runs if not bucket or found.bucket(run) == bucket])


def _of_step(found: Chosen, step: str, part: str) -> list[RunFacts]:
    """Those that took as long as the mark says, or longer; the slowest first."""
    runs = [run for run in found.runs if step in run.steps] if step != "run" else list(found.runs)

    def took(run: RunFacts) -> float:
        return run.seconds if step == "run" else run.steps[step]

    if not runs:
        return []
    least = rank([took(run) for run in runs], 0.95 if part == "p95" else 0.5)
    return _most([run for run in runs if took(run) >= least], took)


def _of_group(found: Chosen, by: str, name: str) -> list[RunFacts]:
    if by == "week":
        return _latest(found.last_days(name))
    return _latest([run for run in found.runs if (getattr(run, by) if by in _GROUPS else None) == name])


_GROUPS = ("strategy", "evaluator", "scope", "via")
_MARKS: Mapping[str, Callable[[Chosen, str, str], list[RunFacts]]] = {
    "runs": lambda found, bucket, _: _in(found, bucket),
    "action": lambda found, bucket, action: [
        run for run in _in(found, bucket) if (run.action or "none") == (action or "none")
    ],
    "web": lambda found, bucket, _: [run for run in _in(found, bucket) if run.web],
    "rewrites": lambda found, bucket, _: _most(
        [run for run in _in(found, bucket) if run.rewrites], lambda run: run.rewrites
    ),
    "score": lambda found, bin, when: _latest(
        [
            run
            for run in (found.before if when == "before" else found.runs)
            if run.best is not None and str(bin_of(run.best)) == bin
        ]
    ),
    "step": _of_step,
    "failed": lambda found, who, reason: _latest(
        [run for run in found.runs if f"{who}: {reason}" in run.refused or (not who and run.failures)]
    ),
    "calls": lambda found, bucket, _: _most([run for run in _in(found, bucket) if run.used], lambda run: run.dollars),
    "faithful": lambda found, bucket, _: _most(
        [run for run in _in(found, bucket) if run.faithfulness is not None], lambda run: -(run.faithfulness or 0.0)
    ),
    "outcome": lambda found, outcome, _: _latest([run for run in found.runs if run.outcome == outcome]),
    "gaps": lambda found, bucket, _: [run for run in _in(found, bucket) if run.gap],
    "group": _of_group,
}


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
    """What runs of one strategy, evaluator, set of documents, way of asking or time come to, with intervals."""

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


def weeks(found: Chosen) -> list[Group]:
    """The last seven days, named "now", beside the four weeks "before" them."""
    return [_group(when, found.last_days(when)) for when in ("now", "before")]


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


def facts_of(trace: Trace, prices: Prices) -> RunFacts:
    """The figures of a run that has ended."""
    return priced(figures_of(trace), prices)


def priced(facts: RunFacts, prices: Prices) -> RunFacts:
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
        self._prices: Prices = {}
        self._reading = Reading((), 0)
        self._lock = threading.Lock()

    def read(self, facts: Facts, prices: Prices) -> Reading:
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
