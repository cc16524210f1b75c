"""Which runs the Monitor page looks at, in groups, and what each group comes to under each measure. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache, partial
from typing import Literal, get_args

from crag.analysis.intervals import Mean, mean, quantile, share
from crag.core.runfacts import RunFacts
from crag.core.types import Action, Step
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
_STEP: Mapping[Width, timedelta] = {
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
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


# ---- measures ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of many runs. `value`: of one run, None where it tells nothing. `fold`: what becomes of the values.

    A run is listed behind the figure where its value is above 0, behind a quantile where it reaches that; the highest
    first, or with `lowest` all of them, the lowest first.
    """

    value: Callable[[RunFacts], float | None]
    fold: Literal["total", "share", "mean", "median", "p95"]
    lowest: bool = False

    def estimate(self, values: Sequence[float]) -> Mean:
        """Of the values of all runs that tell something."""
        match self.fold:
            case "total":
                return Mean(value=sum(values), known=len(values))
            case "share":
                return share(int(sum(values)), len(values))
            case "mean":
                return mean(values)
            case _:
                return quantile(values, 0.5 if self.fold == "median" else 0.95)


def _if_finished(value: Callable[[RunFacts], float]) -> Callable[[RunFacts], float | None]:
    """Of runs that went to their end, of which a rate is a share."""
    return lambda run: value(run) if run.outcome not in ("failed", "stopped") else None


def _time_step(step: str, run: RunFacts) -> float | None:
    return run.steps.get(step)


def _match_action(action: str, run: RunFacts) -> float | None:
    return float(run.action == action) if run.action else None


ACTIONS = (*(each.value for each in Action), "none")
"""Those of the charts; "none": no action was taken, as under plain RAG."""
STEPS = (*get_args(Step), "run")
"""Whose time is measured, the whole run last."""
MEASURES: Mapping[str, Measure] = {
    "runs": Measure(lambda run: 1.0, "total"),
    **{each.value: Measure(partial(_match_action, each.value), "share") for each in Action},
    "none": Measure(lambda run: float(not run.action), "share"),
    "web": Measure(_if_finished(lambda run: float(run.web)), "share"),
    "rewrites": Measure(_if_finished(lambda run: float(run.rewrites)), "mean"),
    "best": Measure(lambda run: run.best, "median"),
    "failed": Measure(lambda run: float(bool(run.failures)), "share"),
    "faithfulness": Measure(lambda run: run.faithfulness, "mean", lowest=True),
    "gaps": Measure(lambda run: float(run.gap), "total"),
    "calls": Measure(lambda run: float(sum(each.calls for each in run.used)), "total"),
    "failed_calls": Measure(lambda run: float(sum(each.failed for each in run.used)), "total"),
    "dollars": Measure(lambda run: run.dollars, "mean"),
    "unpriced": Measure(lambda run: float(run.unpriced), "total"),
    **{f"{step} median": Measure(partial(_time_step, step), "median") for step in get_args(Step)},
    **{f"{step} p95": Measure(partial(_time_step, step), "p95") for step in get_args(Step)},
    "run median": Measure(_if_finished(lambda run: run.seconds), "median"),
    "run p95": Measure(_if_finished(lambda run: run.seconds), "p95"),
}
"""By name. Seconds are those of one step, all its visits together, or of the whole run."""


class Group:
    """Runs that have something in common, in the order of their beginning. Its estimates are worked out once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.runs: list[RunFacts] = []
        self._known: dict[str, Mean] = {}

    def __getitem__(self, measure: str) -> Mean:
        if measure not in self._known:
            self._known[measure] = MEASURES[measure].estimate([value for value, _ in self._values(measure)])
        return self._known[measure]

    def total(self, measure: str) -> float:
        """The sum over all runs, whatever the measure makes of it."""
        return sum(value for value, _ in self._values(measure))

    def behind(self, measure: str) -> list[RunFacts]:
        """The runs that a figure tells of, as its measure lists them; the latest first among equals."""
        rule, pairs = MEASURES[measure], self._values(measure)[::-1]
        if rule.lowest:
            return [run for _, run in sorted(pairs, key=lambda each: each[0])]
        if rule.fold in ("median", "p95"):
            least = self[measure].value or 0.0
            pairs = [each for each in pairs if each[0] >= least]
        else:
            pairs = [each for each in pairs if each[0] > 0]
        return [run for _, run in sorted(pairs, key=lambda each: -each[0])]

    def _values(self, measure: str) -> list[tuple[float, RunFacts]]:
        value = MEASURES[measure].value
        return [(found, run) for run in self.runs if (found := value(run)) is not None]


# ---- groups --------------------------------------------------------------------------------------------------------

By = Literal["strategy", "evaluator", "scope", "via"]
Kind = Literal["span", "before", "time", "week", "score", "score before", "failure", By]
"""What groups are made by. "span": all that is looked at; "before": the four weeks before it. "time": the beginning of
an hour, day or week in UTC, as `Chosen.width` says. "week": whatever the span, the last seven days ("now"), and the
four weeks before them ("before"). "score": the bar of the distribution, from "0". "failure": who failed and why, as
"tavily: busy".
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The runs of a span in their groups, by kind and name; `every`: all that the filters let through.

    Groups of time, week and score are all there; of the others those with a run, the largest first.
    """

    every: Sequence[RunFacts]
    since: datetime
    until: datetime
    width: Width
    groups: Mapping[Kind, Mapping[str, Group]]

    @property
    def span(self) -> Group:
        return self.groups["span"][""]

    @property
    def before(self) -> Group:
        return self.groups["before"][""]


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
        since += _STEP[width]
    return Chosen(every=every, since=since, until=now, width=width, groups=_group(every, since, now, width))


def _group(every: Sequence[RunFacts], since: datetime, now: datetime, width: Width) -> dict[Kind, dict[str, Group]]:
    bins = [str(bin) for bin in range(BINS)]
    names: dict[Kind, Sequence[str]] = {
        **{"span": ("",), "before": ("",), "time": _buckets(since, now, width), "week": ("now", "before")},
        **{"score": bins, "score before": bins, "failure": (), "strategy": (), "evaluator": (), "scope": (), "via": ()},
    }
    found = {kind: {name: Group(name) for name in own} for kind, own in names.items()}

    def put(kind: Kind, name: str, run: RunFacts) -> None:
        found[kind].setdefault(name, Group(name)).runs.append(run)

    start, earlier = since.isoformat(), (since - _BEFORE).isoformat()
    week, weeks = (now - _WEEK).isoformat(), (now - _WEEK - _BEFORE).isoformat()
    for run in every:
        if run.started_at >= weeks:
            put("week", "now" if run.started_at >= week else "before", run)
        if run.started_at >= start:
            put("span", "", run)
            put("time", _bin_start(run.started_at, width), run)
            if run.best is not None:
                put("score", _score_bin(run.best), run)
            for by in get_args(By):
                put(by, getattr(run, by), run)
            for failure in run.refused:
                put("failure", failure, run)
        elif run.started_at >= earlier:
            put("before", "", run)
            if run.best is not None:
                put("score before", _score_bin(run.best), run)
    for kind in ("failure", *get_args(By)):
        found[kind] = dict(sorted(found[kind].items(), key=lambda each: -len(each[1].runs)))
    return found


def _buckets(since: datetime, now: datetime, width: Width) -> list[str]:
    found, at = [], since
    while at <= now:
        found.append(_bin_start(at.isoformat(), width))
        at += _STEP[width]
    return found


def _bin_start(at: str, width: Width) -> str:
    """ISO 8601 without a zone: the hour, the day, or the Monday."""
    return f"{at[:13]}:00" if width == "hour" else at[:10] if width == "day" else _monday(at[:10])


@lru_cache(maxsize=4096)
def _monday(day: str) -> str:
    found = date.fromisoformat(day)
    return (found - timedelta(days=found.weekday())).isoformat()


def _score_bin(score: float) -> str:
    return str(min(BINS - 1, int(score * BINS)))


def mark(kind: Kind, measure: str, name: str = "") -> str:
    """What stands for the runs behind a figure in a chart or table."""
    return f"{kind}|{measure}|{name}"


def read_mark(mark: str) -> tuple[str, str, str]:
    """The kind and measure of a mark, and the name of its group; empty for what it does not have."""
    kind, _, rest = mark.partition("|")
    measure, _, name = rest.partition("|")
    return kind, measure, name


def behind(mark: str, found: Chosen) -> list[RunFacts]:
    """The runs that a mark stands for; none of a mark that is none."""
    kind, measure, name = read_mark(mark)
    group = found.groups.get(kind, {}).get(name)  # type: ignore[call-overload]
    return group.behind(measure) if group is not None and measure in MEASURES else []
