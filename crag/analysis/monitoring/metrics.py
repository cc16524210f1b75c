"""The metrics of a process for Prometheus."""

from __future__ import annotations

import logging
import platform
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import choose_encoder

import crag
from crag.analysis.monitoring.health import Health
from crag.analysis.monitoring.reading import facts_of
from crag.core.errors import CragError
from crag.core.runfacts import RunFacts
from crag.core.trace import Trace
from crag.engine import Engine
from crag.providers.prices import Prices

_log = logging.getLogger(__name__)

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
_STEP_SECONDS = (0.005, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0, 60.0)
_WAITED = (0.0, 0.1, 1.0, 5.0, 15.0, 60.0, 300.0)
_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

MOST = 40
"""Values that one label has at most; what comes later counts as "other"."""
_CHARS = 60
_UNFIT = re.compile(r"[^A-Za-z0-9_.: -]+")
OTHER, NONE = "other", "none"

Sources = Mapping[str, tuple[str, Callable[[], float | None]]]
"""Gauges by name, without "crag_": what each says, and where its value comes from; None: there is none just now."""


def standing(engine: Callable[[], Engine | None], health: Health, warm: Callable[[], bool]) -> Sources:
    """The gauges of an engine, once there is one. `warm`: whether the models are loaded."""

    def of(read: Callable[[Engine], float]) -> Callable[[], float | None]:
        def value() -> float | None:
            there = engine()
            return None if there is None else read(there)

        return value

    return {
        "ready": ("1 where the process can be asked.", lambda: float(not health.lacking(models=warm()))),
        "runs_running": ("Runs that have their turn.", of(lambda it: it.runs.counts[0])),
        "runs_waiting": ("Runs that wait for their turn.", of(lambda it: it.runs.counts[1])),
        "files_reading": ("Files that are being read.", of(lambda it: it.readers.counts[0])),
        "files_waiting": ("Files that wait for a reader.", of(lambda it: it.readers.counts[1])),
        "libraries": ("Libraries, as counted at times.", of(lambda it: it.teams.quotas.stored.total()[1])),
        "library_bytes": (
            "Bytes of all libraries, as counted at times.",
            of(lambda it: it.teams.quotas.stored.total()[0]),
        ),
        "disk_free_bytes": ("Bytes free on the disk of the data folder.", health.free_bytes),
    }


class Metrics:
    """The metrics of one process. Thread-safe. No question, text, person, key or workspace is in them.

    `prices` tells what calls cost now, `sources` the gauges beside the runs.
    """

    def __init__(
        self,
        prices: Callable[[], Prices],
        sources: Sources,
    ) -> None:
        self._prices = prices
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._strategies, self._providers, self._others = _Names(), _Names(), _Names()
        registry.register(_Live(sources))
        self._failing: dict[str, int] = {}
        self._lock = threading.Lock()
        gauge, counter = partial(Gauge, registry=registry), partial(Counter, registry=registry)
        histogram = partial(Histogram, registry=registry)
        about = gauge("crag_build_info", "The program's version; always 1.", ["version", "python"])
        about.labels(crag.__version__, platform.python_version()).set(1)
        self._runs = counter("crag_runs", "Runs that ended.", ["strategy", "action", "outcome", "via"])
        self._seconds = histogram(
            "crag_run_duration_seconds",
            "Seconds a run took, without its wait for a turn.",
            ["strategy"],
            buckets=_SECONDS,
        )
        self._steps = histogram(
            "crag_run_step_duration_seconds", "Seconds of a run in one of its steps.", ["step"], buckets=_STEP_SECONDS
        )
        self._waited = histogram("crag_run_queue_wait_seconds", "Seconds a run waited for its turn.", buckets=_WAITED)
        self._with_web = counter("crag_runs_with_web", "Runs that searched the web.")
        self._searches = counter("crag_web_searches", "Searches of the web.")
        self._rewrites = counter("crag_rewrites", "Queries made by rewriting.")
        self._best = histogram(
            "crag_run_best_score", "The highest score, 0 to 1, among the chunks that a run acted on.", buckets=_SHARES
        )
        self._faithful = histogram(
            "crag_answer_faithfulness_ratio",
            "The share of an answer's sentences that their sources support.",
            buckets=_SHARES,
        )
        by = ["provider"]
        self._calls = counter("crag_outside_calls", "Calls of outside services.", by)
        self._failed = counter("crag_outside_call_failures", "Calls that failed.", by)
        self._taken = counter("crag_outside_call_seconds", "Seconds that calls took.", by)
        self._in_a_row = gauge("crag_outside_failing_runs", "Runs in a row in which every call failed.", by)
        self._failures = counter("crag_step_failures", "Failures of steps that another part stood in for.", ["failure"])
        self._dollars = counter("crag_spent_dollars", "US dollars that calls cost, as far as prices are known.")
        self._unpriced = counter("crag_unpriced_calls", "Calls whose price nobody knows.")
        self._refused = counter("crag_scrapes_refused", "Requests for these metrics that were refused.")

    def watch(self, trace: Trace) -> None:
        """Count a run that has ended: one of `Engine.watchers`."""
        self.count(facts_of(trace, self._prices()))

    def count(self, facts: RunFacts) -> None:
        """Count a run by its figures."""
        strategy = self._strategies(facts.strategy)
        self._runs.labels(strategy, self._others(facts.action.lower()), facts.outcome, self._others(facts.via)).inc()
        self._seconds.labels(strategy).observe(max(0.0, facts.seconds))
        self._waited.observe(max(0.0, facts.waited))
        for step, seconds in facts.steps.items():
            self._steps.labels(self._others(step)).observe(max(0.0, seconds))
        self._with_web.inc(int(facts.web))
        self._searches.inc(facts.searches)
        self._rewrites.inc(facts.rewrites)
        if facts.best is not None:
            self._best.observe(facts.best)
        if facts.faithfulness is not None:
            self._faithful.observe(facts.faithfulness)
        self._count_calls(facts)
        for failure, times in facts.failures.items():
            self._failures.labels(self._others(failure)).inc(times)
        self._dollars.inc(max(0.0, facts.dollars))
        self._unpriced.inc(facts.unpriced)

    def refused(self) -> None:
        """Count a request for these metrics that was refused."""
        self._refused.inc()

    def text(self, accept: str = "") -> tuple[bytes, str]:
        """All of it in the form that the asker's Accept header prefers, and the name of that form."""
        encode, form = choose_encoder(accept)
        return encode(self._registry), form

    def _count_calls(self, facts: RunFacts) -> None:
        for given, calls in facts.calls.items():
            provider, failed = self._providers(given), facts.failed.get(given, 0)
            self._calls.labels(provider).inc(calls)
            self._failed.labels(provider).inc(failed)
            self._taken.labels(provider).inc(max(0.0, facts.call_seconds.get(given, 0.0)))
            with self._lock:
                self._failing[provider] = self._failing.get(provider, 0) + 1 if failed >= calls else 0
                self._in_a_row.labels(provider).set(self._failing[provider])


class _Names:
    """The values of labels: of plain signs, short, and at most a fixed number of different ones."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._lock = threading.Lock()

    def __call__(self, given: str) -> str:
        known = self._known.get(given)
        if known is not None:
            return known
        name = _UNFIT.sub("_", given[:_CHARS]).strip() or NONE
        with self._lock:
            if len(self._known) >= MOST:
                return OTHER
            return self._known.setdefault(given, name)


class _Live:
    """Gauges that are read when somebody asks: one that can't be read is left out of that reply."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for name, (help, read) in self._sources.items():
            try:
                value = read()
            except (CragError, OSError) as error:
                _log.debug("crag_%s can't be read: %s", name, type(error).__name__)
                continue
            if value is not None:
                yield GaugeMetricFamily(f"crag_{name}", help, value=value)
