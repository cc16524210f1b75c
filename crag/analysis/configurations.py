"""Several strategies, or one under several settings, beside one another: for a question, or for a set of questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crag.analysis.comparison import Differences, differences
from crag.analysis.evaluate import add_set, rows
from crag.analysis.evaluate import evaluate as evaluate_stored
from crag.analysis.metrics.metrics import ResultRow
from crag.analysis.metrics.results import Difference, Result, compare_results, summed_up
from crag.analysis.questions.sets import Question, QuestionSet, read_set
from crag.core.errors import InputError
from crag.core.protocols import RunRequest
from crag.core.trace import Trace
from crag.engine import Engine, Workspace


@dataclass(frozen=True, slots=True)
class Configuration:
    """A strategy with `settings` in place of its own; `name` is what results call it, the strategy's if empty."""

    strategy: str = "balanced"
    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""

    @property
    def title(self) -> str:
        changed = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        return self.name or (f"{self.strategy} ({changed})" if changed else self.strategy)

    def request(self, question: str, workspace: Workspace) -> RunRequest:
        """The run that asks under it."""
        return RunRequest(question, self.strategy, workspace, self.settings)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One question under several configurations: the runs, in their order, and where these differ."""

    configurations: tuple[Configuration, ...]
    traces: tuple[Trace, ...]
    differences: Differences


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """One configuration over a set: a row for each question, and what they come to. It is stored under `id`."""

    configuration: Configuration
    id: str
    rows: tuple[ResultRow, ...]
    result: Result

    def against(self, other: EvaluationResult) -> dict[str, Difference]:
        """By measure, this one minus the other, over the questions that are in both. Raises ValueError for none."""
        names = other.configuration.title, self.configuration.title
        return compare_results(other.rows, self.rows, names=names)


def compare(
    engine: Engine, question: str, configurations: Sequence[Configuration], workspace: Workspace = "default"
) -> Comparison:
    """One run for each configuration. Raises as `Engine.ask` does; a run that fails says so in its trace."""
    traces = tuple(Trace.from_run(engine.ask(each.request(question, workspace)))[0] for each in configurations)
    found = differences(traces, [each.title for each in configurations])
    return Comparison(tuple(configurations), traces, found)


def evaluate(
    engine: Engine,
    questions: Sequence[Question] | QuestionSet | str | Path,
    configurations: Sequence[Configuration] = (Configuration(),),
    workspace: Workspace = "default",
) -> list[EvaluationResult]:
    """Ask all questions, or those of a file (CSV, JSON Lines, JSON), under each configuration, one after another.

    Every result is stored as it comes; what was broken off goes on, and what is finished is not asked again. Raises
    InputError for a file that can't be read and where there is no question, and as `crag.analysis.evaluate` does.
    """
    if isinstance(questions, str | Path):
        path = Path(questions)
        try:
            questions = read_set(path.name, path.read_bytes())
        except OSError as error:
            raise InputError(f"questions: {path.name} can't be opened.", "Check the path.") from error
    if not isinstance(questions, QuestionSet):
        questions = QuestionSet("questions", tuple(questions))
    library = engine.library(workspace)
    id, made = add_set(library, questions), []
    for each in configurations:
        *_, last = evaluate_stored(engine, id, each.request("", workspace), finished_too=True)
        found = rows(library, last.evaluation)
        made.append(EvaluationResult(each, last.evaluation, found, summed_up(found)))
    return made
