"""A run's figures with what its outside calls cost: all that the Monitor page and the metrics count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from crag.core.runfacts import Outcome, RunFacts, figures_of
from crag.core.trace import Trace
from crag.providers.costs import of_day, sum_spent
from crag.providers.prices import Price

__all__ = ["Outcome", "RunFacts", "facts_of", "priced"]


def facts_of(trace: Trace, prices: Mapping[str, Price]) -> RunFacts:
    """The figures of a run that has ended."""
    return priced(figures_of(trace), prices)


def priced(facts: RunFacts, prices: Mapping[str, Price]) -> RunFacts:
    """The same run at these prices."""
    if not facts.used:
        return facts
    cost = sum_spent(of_day(each, prices) for each in facts.used)
    return replace(facts, dollars=cost.dollars, unpriced=cost.unknown)
