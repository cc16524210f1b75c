"""`evaluate --against`: an evaluation compared with a baseline, as lines, records and a report, and its exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Option

from crag.analysis.evaluate import rows, stored_evaluation
from crag.analysis.funnel import trace_funnel
from crag.analysis.questions.sets import Question
from crag.analysis.regression import Change, Measured, Regression, check_set, compare, read_baseline
from crag.cli.options import read_file, write_results
from crag.cli.output import Options, Output, plain
from crag.core.errors import InputError, NotFoundError, SettingsError
from crag.export.regression import regression_record, report
from crag.messages.evaluations import change_text, left_out_notes, place_text, regression_sentence, stages_text
from crag.storage.library import Library
from crag.text.formats import count

SHOWN = 20
"""Questions shown of each kind; the report has more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Against(Options):
    """What an evaluation is compared with, and what comes of it."""

    against: Annotated[
        str | None,
        Option(
            metavar="BASELINE",
            help="compare with this evaluation of the same questions: an id, or a file that --json-file wrote",
        ),
    ] = None
    fail_if_worse: Annotated[
        bool,
        Option(
            "--fail-if-worse",
            help="exit with 1 where the whole 95 % interval of the difference in right answers lies below zero",
        ),
    ] = False
    report: Annotated[Path | None, Option(metavar="FILE.md", help="write the comparison as Markdown")] = None

    def check(self, strategies: Sequence[str]) -> None:
        """Raises SettingsError for options that don't fit together."""
        if self.against is None and (self.fail_if_worse or self.report is not None):
            raise SettingsError(
                "--fail-if-worse and --report compare with a baseline, and none is named.", "Name it by --against."
            )
        if self.against is not None and len(strategies) > 1:
            raise SettingsError("With --against one strategy is evaluated.", "Give the command once for each strategy.")

    def baseline(self, library: Library, set_id: str, questions: Sequence[Question], strategy: str) -> Measured | None:
        """The baseline, None where none is named. Raises SettingsError where it can't be compared with."""
        if self.against is None:
            return None
        try:
            found = _read(self.against, library, strategy)
            check_set(found, set_id, questions)
        except (InputError, NotFoundError) as error:
            raise SettingsError(error.message, error.remedy) from error
        return found

    def conclude(self, baseline: Measured, candidate: Measured, questions: Sequence[Question], output: Output) -> bool:
        """Say and write what became of the questions; whether the command fails by it. Raises SettingsError."""
        try:
            found = compare(baseline, candidate, questions)
        except InputError as error:
            raise SettingsError(error.message, error.remedy) from error
        if output.json:
            output.record(regression_record(found))
        else:
            for line in ("", *lines(found)):
                output.line(line)
        if self.report is not None:
            write_results(self.report, report(found).encode("utf-8", "replace"))
            output.note(f"the report was written to {self.report}")
        return self.fail_if_worse and found.is_worse


def _read(named: str, library: Library, strategy: str) -> Measured:
    """Raises InputError and NotFoundError."""
    path = Path(named)
    if path.suffix or path.exists():
        return read_baseline(read_file(path, "Give a file that --json-file wrote, or an evaluation's id."), strategy)
    return Measured.of(stored_evaluation(library, named), rows(library, named), trace_funnel(library, named))


def lines(found: Regression) -> list[str]:
    """The verdict and its notes, then the questions that got worse, then those that got better."""
    said = [regression_sentence(found), *left_out_notes(found)]
    for title, changes in (("Worse", found.worse), ("Better", found.better)):
        said.append(f"{title}: {count(len(changes), 'question')}")
        said += [f"  {plain(_line(change))}" for change in changes[:SHOWN]]
        if len(changes) > SHOWN:
            said.append(f"  and {len(changes) - SHOWN:,} more, in the report")
    return said


def _line(change: Change) -> str:
    place = place_text(change)
    parts = [f"{change_text(change)}.", f"Expected: {place}." if place else "", stages_text(change)]
    return " ".join(filter(None, (f"{change.question.question}:", *parts)))
