"""What one run comes to in figures, made from its record once and stored beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from crag.core.trace import Outcome, Trace
from crag.core.types import Action, AnswerState, Call, Chunk

HERE = "this machine"
"""Where something failed that no provider was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """The figures of one run. No question, text or answer is in it; `scope` names documents or tags.

    `started_at` as the run has it, ISO 8601 in UTC. `action` is empty where none was taken; `evaluator` is the id of
    who gave most grades of the chunks acted on, empty where there were none. `best`: the highest score 0..1 among these
    chunks. `upper` and `lower`: the thresholds it acted by, None where it graded nothing. `rewrites` counts queries
    made by rewriting, for the library and for the web; `searches` searches of the web. `steps`: seconds in each step,
    all its visits together. `used`: outside calls summed by provider and model. `failures` counts what went wrong by
    step and reason, as "evaluate: busy"; `refused` the same by provider, as "tavily: busy", where a call of that step
    failed, and as "this machine: library" where none did. `scope` names what was asked, "" for all documents.
    `dollars` leaves out calls whose price nobody knows, `unpriced`: both are 0 until prices are given, for these may
    change after the run. `cited`: the ids of the library's documents that the answer cites.
    `partial`: it says nothing of the whole library, because its action was forced, or only documents that a filter lets
    through, or another store, were searched.
    """

    run_id: str
    workspace: str
    started_at: str
    strategy: str
    via: str
    action: str
    outcome: Outcome
    evaluator: str = ""
    scope: str = ""
    best: float | None = None
    upper: float | None = None
    lower: float | None = None
    searches: int = 0
    rewrites: int = 0
    seconds: float = 0.0
    waited: float = 0.0
    steps: Mapping[str, float] = field(default_factory=dict)
    used: tuple[DaySpending, ...] = ()
    failures: Mapping[str, int] = field(default_factory=dict)
    refused: Mapping[str, int] = field(default_factory=dict)
    faithfulness: float | None = None
    dollars: float = 0.0
    unpriced: int = 0
    cited: tuple[str, ...] = ()
    partial: bool = False

    @property
    def gap(self) -> bool:
        """Whether all documents were asked and left the question unanswered: a coverage gap.

        No answer was given, whatever the action; or the action was INCORRECT, whatever the web added, and no document
        is cited: a row of a table may be quoted under it.
        """
        incorrect = self.action == Action.INCORRECT and not self.cited
        return self._of_all and (incorrect or self.outcome in ("not found", "no answer"))

    @property
    def covered(self) -> bool:
        """Whether all documents were asked and answered: the answer cites one, or graded evidence was handed over."""
        handed = self.outcome == "handed over" and self.action in (Action.CORRECT, Action.AMBIGUOUS)
        answered = self.outcome in get_args(AnswerState) and bool(self.cited) and self.action != ""
        return self._of_all and (handed or answered)

    @property
    def _of_all(self) -> bool:
        return not self.partial and not self.scope

    @property
    def web(self) -> bool:
        """Whether the web was searched."""
        return self.searches > 0

    @property
    def calls(self) -> dict[str, int]:
        """Outside calls by provider."""
        return self._by_provider("calls")

    @property
    def failed(self) -> dict[str, int]:
        """Failed outside calls by provider; none where none failed."""
        return {name: count for name, count in self._by_provider("failed").items() if count}

    @property
    def call_seconds(self) -> dict[str, float]:
        """What outside calls took by provider, those that ran side by side too."""
        found: dict[str, float] = {}
        for each in self.used:
            found[each.provider] = found.get(each.provider, 0.0) + each.seconds
        return found

    def _by_provider(self, what: Literal["calls", "failed"]) -> dict[str, int]:
        found: dict[str, int] = {}
        for each in self.used:
            found[each.provider] = found.get(each.provider, 0) + int(getattr(each, what))
        return found


def figures_of(trace: Trace) -> RunFacts:
    """The figures of a run that has ended, without prices."""
    round = trace.round
    grades = [grade for grade in (round.made if round else ()) if grade.score is not None]
    scores = [grade.score for grade in grades if grade.score is not None]
    graders = Counter(grade.evaluator for grade in grades)
    settings = trace.run_settings
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
        outcome=trace.outcome,
        evaluator=graders.most_common(1)[0][0] if graders else "",
        scope="" if trace.scope is None else ", ".join((*trace.scope.documents, *trace.scope.tags)),
        best=max(scores, default=None),
        upper=settings.upper if scores else None,
        lower=settings.lower if scores else None,
        searches=len(trace.searches),
        rewrites=len(trace.rewrites),
        seconds=trace.seconds,
        waited=trace.waited,
        steps=steps,
        used=sum_by_model(trace.calls, trace.started_at[:10]),
        failures=Counter(f"{each.step}: {each.reason}" for each in trace.failures),
        refused=_count_failures(trace),
        faithfulness=trace.faithfulness,
        cited=_list_cited(trace),
        partial=bool(settings.forced or settings.where or trace.elsewhere),
    )


def _list_cited(trace: Trace) -> tuple[str, ...]:
    if trace.answer is None or trace.answer.abstained:
        return ()
    sources = trace.sources
    found = (sources.get(citation.source_id) for citation in trace.answer.citations)
    chunks = (each for each in found if isinstance(each, Chunk) and not each.elsewhere)
    return tuple(dict.fromkeys(chunk.document_id for chunk in chunks))


def sum_by_model(calls: Iterable[Call], day: str = "") -> tuple[DaySpending, ...]:
    """What these calls of a day took, by provider and model."""
    by_model: dict[tuple[str, str], list[Call]] = {}
    for call in calls:
        by_model.setdefault((call.provider, call.model), []).append(call)
    return tuple(_sum_calls(day, *key, calls) for key, calls in by_model.items())


def _sum_calls(day: str, provider: str, model: str, calls: list[Call]) -> DaySpending:
    made = [each for each in calls if each.error is None]
    uncounted = [each for each in made if model and None in (each.input_tokens, each.output_tokens)]
    counted = [each for each in calls if None not in (each.input_tokens, each.output_tokens)]
    return DaySpending(
        day=day,
        provider=provider,
        model=model,
        calls=len(calls),
        failed=len(calls) - len(made),
        uncounted=len(uncounted),
        seconds=sum(each.seconds for each in calls),
        input_tokens=sum(each.input_tokens or 0 for each in counted),
        output_tokens=sum(each.output_tokens or 0 for each in counted),
    )


def _count_failures(trace: Trace) -> Counter[str]:
    """Failures by who failed: each provider with a failed call in that step, else this machine."""
    found: Counter[str] = Counter()
    for failure in trace.failures:
        calls = [call.provider for call in trace.calls if call.error is not None and call.step == failure.step]
        found.update(f"{who}: {failure.reason}" for who in (dict.fromkeys(calls) or (HERE,)))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class DaySpending:
    """What one model (or provider without models) took on one day, in UTC. `uncounted` calls named no tokens."""

    day: str
    provider: str
    model: str
    calls: int
    failed: int
    uncounted: int
    seconds: float
    input_tokens: int
    output_tokens: int
