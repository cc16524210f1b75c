"""Which runs are looked at: a span of time with what came before it, and filters; and the runs behind a mark. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Literal

from crag.core.runfacts import RunFacts
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
_BEFORE = timedelta(days=28)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What is looked at; None or "" lets all through. `evaluations`: those of question sets too, or "only" them.

    `scope` "" is every run, "*" those asked of all documents. `runs`: ids of those that are looked at; none: all.
    """

    span: Span = "month"
    strategy: str = ""
    evaluator: str = ""
    scope: str = ""
    via: str = ""
    evaluations: Literal["without", "with", "only"] = "without"
    runs: frozenset[str] = frozenset()

    def lets(self, run: RunFacts) -> bool:
        """Whether a run is looked at, whenever it was."""
        return (
            (not self.strategy or run.strategy == self.strategy)
            and (not self.evaluator or run.evaluator == self.evaluator)
            and (not self.scope or run.scope == self.scope.removeprefix("*"))
            and (not self.via or (run.via or "app") == self.via)
            and (not self.runs or run.run_id in self.runs)
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
    "weekly": lambda found, monday, _: _latest([run for run in found.every if _monday(run.started_at[:10]) == monday]),
}
