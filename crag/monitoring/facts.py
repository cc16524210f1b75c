"""What one run comes to in figures: all that the Monitor page and the metrics count, made from its record once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from crag.core.meter import Call
from crag.core.trace import Trace
from crag.spending.costs import spent
from crag.spending.prices import Price

__all__ = ["Outcome", "RunFacts", "facts_of"]

Outcome = Literal["answered", "no answer", "handed over", "failed", "stopped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """The figures of one run. No question, text or answer is in it.

    `started_at` as the run has it, ISO 8601 in UTC. `action` is empty where none was taken; `evaluator` is the id of
    who gave the deciding grades, empty where there were none. `best`: the highest score 0..1 among the chunks acted
    on. `rewrites` counts queries made by rewriting, `searches` searches of the web. `steps`: seconds in each step, all
    its visits together. `calls` and `failed` count outside calls by provider, `call_seconds` what they took;
    `failures` what went wrong by step and reason, as "evaluate: busy". `dollars` leaves out calls whose price nobody
    knows, `unpriced`. `scope` names what was asked, "" for all documents.
    """

    run_id: str
    workspace: str
    started_at: str
    strategy: str
    via: str
    action: str
    outcome: Outcome
    evaluator: str
    scope: str
    best: float | None
    web: bool
    searches: int
    rewrites: int
    seconds: float
    waited: float
    steps: Mapping[str, float]
    calls: Mapping[str, int]
    failed: Mapping[str, int]
    call_seconds: Mapping[str, float]
    failures: Mapping[str, int]
    dollars: float
    unpriced: int
    faithfulness: float | None


def facts_of(trace: Trace, prices: Mapping[str, Price]) -> RunFacts:
    """The figures of a run that has ended."""
    round = trace.round
    scores = [grade.score for grade in (round.made if round else ()) if grade.score is not None]
    graders = Counter(grade.evaluator for grade in (round.made if round else ()) if grade.score is not None)
    cost = spent(trace.calls, prices)
    steps: dict[str, float] = {}
    for record in trace.steps:
        steps[record.step] = steps.get(record.step, 0.0) + (record.seconds or 0.0)
    return RunFacts(
        run_id=trace.run_id,
        workspace=trace.workspace,
        started_at=trace.started_at,
        strategy=trace.strategy,
        via=trace.via,
        action=trace.action.value if trace.action else "",
        outcome=_outcome(trace),
        evaluator=graders.most_common(1)[0][0] if graders else "",
        scope="" if trace.scope is None else ", ".join((*trace.scope.documents, *trace.scope.tags)),
        best=max(scores, default=None),
        web=bool(trace.searches),
        searches=len(trace.searches),
        rewrites=len(trace.rewrites),
        seconds=trace.seconds,
        waited=trace.waited,
        steps=steps,
        calls=Counter(call.provider for call in trace.calls),
        failed=Counter(call.provider for call in trace.calls if call.error),
        call_seconds=_seconds(trace.calls),
        failures=Counter(f"{each.step}: {each.reason}" for each in trace.failures),
        dollars=cost.dollars,
        unpriced=cost.unknown,
        faithfulness=trace.faithfulness,
    )


def _outcome(trace: Trace) -> Outcome:
    if trace.cancelled:
        return "stopped"
    if trace.failure is not None:
        return "failed"
    if trace.handed_over:
        return "handed over"
    return "answered" if trace.answer is not None and not trace.answer.abstained else "no answer"


def _seconds(calls: tuple[Call, ...]) -> dict[str, float]:
    found: dict[str, float] = {}
    for call in calls:
        found[call.provider] = found.get(call.provider, 0.0) + call.seconds
    return found
