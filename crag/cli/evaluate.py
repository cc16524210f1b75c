"""The command that measures: asks a set of questions under one or more strategies, and compares what comes of it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from crag.analysis import evaluate as evaluation
from crag.analysis.metrics.metrics import ResultRow
from crag.analysis.metrics.results import Cell, Difference, Mean, Result, compare_results, flat, read_results, summed_up
from crag.analysis.questions.sets import Question, QuestionSet, read_set
from crag.analysis.stages.funnel import Funnel, trace_funnel
from crag.cli.options import Place, Providers, Run, check_target, explain_access, interruptible, read_file
from crag.cli.output import Options, Output, plain
from crag.core.errors import (
    PROGRAM,
    CancelledError,
    EmptyLibraryError,
    InputError,
    SettingsError,
)
from crag.core.protocols import RunRequest
from crag.core.types import Action
from crag.engine import Engine
from crag.export.explanations import funnel_values
from crag.messages.evaluations import (
    TITLES,
    UNTIMED,
    difference_sentence,
    funnel_sentence,
    left_out_sentence,
)
from crag.messages.providers import cost_text
from crag.providers.prices import Spent
from crag.providers.prices import table as price_table
from crag.text.formats import count
from crag.text.spreadsheets import csv_export, json_export

UNKNOWN = "–"
_COUNTS = frozenset({"evidence_words", "input_tokens", "output_tokens"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One strategy's evaluation: its rows, what they come to, where answers are lost, and what its calls cost."""

    id: str
    rows: tuple[ResultRow, ...]
    result: Result
    funnel: Funnel
    spent: Spent


def table_lines(columns: Sequence[Column]) -> list[str]:
    """Measures by strategies. A mean has its 95 % interval behind it, what is not known is a dash."""
    lines = [["A question on average (95 % interval)", *(column.result.strategy for column in columns)]]
    lines.append(["Questions", *(f"{column.result.questions:,}" for column in columns)])
    lines.append(["Failed", *(f"{column.result.unfinished:,}" for column in columns)])
    if any(column.result.unscored for column in columns):
        lines.append(["Answer not scored", *(f"{column.result.unscored:,}" for column in columns)])
    for action in Action:
        lines.append(
            [
                f"Acted {action} (what is sought: there, not there)",
                *(_describe_action(each, action) for each in columns),
            ]
        )
    for name, title in TITLES.items():
        lines.append([title, *(_mean(name, column.result.means.get(name)) for column in columns)])
    lines.append(["Cost of all calls", *(cost_text(column.spent) for column in columns)])
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns) + 1)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def funnel_lines(columns: Sequence[Column]) -> list[str]:
    """Where each strategy loses answers, in a line each."""
    return [
        f"{each.result.strategy}: {funnel_sentence(each.funnel)} {left_out_sentence(each.funnel)}".rstrip()
        for each in columns
    ]


def difference_lines(found: Sequence[Difference]) -> list[str]:
    """A sentence for each measure that differs, the others in one line, and why times are not among them."""
    same = [each for each in found if each.value == each.low == each.high == 0]
    lines = [difference_sentence(each) for each in found if each not in same]
    if same:
        lines.append(f"The same with both: {'; '.join(TITLES[each.measure] for each in same)}.")
    return [*lines, UNTIMED] if found else []


def result_record(column: Column) -> dict[str, Any]:
    """One strategy as a flat record: every measure with its interval and how many questions tell of it."""
    return {
        "kind": "evaluation",
        "id": column.id,
        **asdict(column.result),
        "funnel": funnel_values(column.funnel),
        "spent": {**asdict(column.spent), "said": cost_text(column.spent)},
    }


def _describe_action(column: Column, action: Action) -> str:
    counts = column.result.actions[str(action)]
    total = sum(counts.values())
    return f"{total:,} ({counts['holds']:,}, {counts['missing']:,})" if total else "0"


def _mean(name: str, mean: Mean | None) -> str:
    if mean is None or mean.value is None:
        return UNKNOWN
    low, high = mean.low, mean.high
    interval = "" if low is None or high is None or low == high else f" ({_number(name, low)} to {_number(name, high)})"
    return f"{_number(name, mean.value)}{interval}"


def _number(name: str, value: float) -> str:
    return f"{value:,.0f}" if name in _COUNTS else f"{value:,.2f}"


SAMPLE = "sample"
SHOWN_PROBLEMS = 10
SHOWN_LOST = 20
"""Questions that got worse and are listed; --json has all."""
BAR = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked(Options):
    """Which questions are asked, and where the rows go besides the library."""

    limit: Annotated[int | None, Option(metavar="N", min=1, help="only the first N questions")] = None
    restart: Annotated[
        bool,
        Option("--restart", help="ask every question, also where the same evaluation was broken off or ended before"),
    ] = False
    csv: Annotated[Path | None, Option(metavar="FILE", help="write one row a question and strategy as CSV")] = None
    json_file: Annotated[Path | None, Option(metavar="FILE", help="the same as JSON")] = None
    baseline: Annotated[
        Path | None,
        Option(metavar="FILE", help="compare with these results, which --json-file wrote; 1 where answers got worse"),
    ] = None


def evaluate(
    questions: Annotated[
        str,
        Argument(
            metavar="SET", help=f"questions as CSV, JSON Lines or JSON; or the word {SAMPLE}, for those that ship"
        ),
    ],
    asked: _Asked,
    run: Run,
    place: Place,
    providers: Providers,
    output: Output,
    more: Annotated[
        list[str] | None, Argument(metavar="STRATEGY", help="with --strategy: others to compare with")
    ] = None,
) -> int:
    """Strategies one after another, then a table of all, and where answers are lost. 0 if every run ended, 1 if some
    failed, or if answers got worse since --baseline: the whole interval of the difference in right answers lies below
    zero. A question is right if the answer says what is accepted; without an accepted answer, if it is from the
    expected page; an unanswerable one, if it is refused."""
    strategies = list(dict.fromkeys([run.strategy, *(more or ())]))
    for file in (asked.csv, asked.json_file):
        check_target(file)
    where = place.existing
    with interruptible() as cancel, providers.opened() as engine:
        found, library = _read_questions(questions, asked.limit, engine, output), engine.library(where)
        if not library.documents.count():
            raise EmptyLibraryError("There is no document to ask about.", f"Add one: {PROGRAM} index FILE.pdf")
        set_id, prices = evaluation.add_set(library, found), price_table(engine.config.providers.prices)
        before = _read_baseline(asked.baseline, strategies, found.questions) if asked.baseline else []
        done, known = [], engine.strategies(where)
        settings = {name: run.settings(known, name) for name in strategies}
        for name in strategies:
            asking = RunRequest("", name, where, settings=settings[name], allowed=output.approved, cancel=cancel)
            events = evaluation.evaluate(engine, set_id, asking, restart=asked.restart, finished_too=True)
            id = _follow(events, output)
            answered, cost = evaluation.rows(library, id), evaluation.spending(library, id, prices)
            funnel = trace_funnel(library, id)
            done.append(Column(id=id, rows=answered, result=summed_up(answered), funnel=funnel, spent=cost))
        _tell(done, output)
        _export([flat(row) for column in done for row in column.rows], asked, output)
        worse = bool(before) and _is_worse(before, done[0], output)
    return 1 if worse or any(row.problem for column in done for row in column.rows) else 0


def _read_questions(name: str, limit: int | None, engine: Engine, output: Output) -> QuestionSet:
    """The set, each bad row of it named. Raises InputError."""
    path = engine.sample().question_set if name == SAMPLE else Path(name)
    found = read_set(
        path.name, read_file(path, f"Check the path; the questions that ship are named by the word {SAMPLE}.")
    )
    for problem in found.problems[:SHOWN_PROBLEMS]:
        output.message(f"warning: {plain(str(problem))}")
    if len(found.problems) > SHOWN_PROBLEMS:
        output.message(f"warning: {len(found.problems) - SHOWN_PROBLEMS:,} more rows have problems")
    left_out = sum(not problem.kept for problem in found.problems)
    columns = ", ".join(f"{field} from {plain(column)!r}" for field, column in found.understood)
    output.note(
        f"{plain(found.name)}: {len(found.questions):,} questions, {left_out:,} rows left out; read as {found.kind}"
        + (f" ({columns})" if columns else "")
    )
    if limit is None or limit >= len(found.questions):
        return found
    return replace(found, name=f"{found.name}, the first {limit:,}", questions=found.questions[:limit])


def _follow(events: Iterator[evaluation.Progress], output: Output) -> str:
    """Shows how far an evaluation is, and returns its id. Raises CancelledError where questions are left."""
    first = last = next(events)
    began, name, total, rate = time.monotonic(), first.strategy, first.total, 0.0
    if first.done:
        output.note(f"{name}: {first.done:,} of {total:,} questions were done before (--restart asks them again)")
    for last in chain([first], events):
        rate = (last.done - first.done) / max(time.monotonic() - began, 1e-9)
        bar = "#" * (BAR * last.done // max(1, total))
        left = f", about {(total - last.done) / rate:,.0f} s left" if rate else ""
        output.progress(f"{name} [{bar:.<{BAR}}] {last.done:,}/{total:,}  {rate:.1f}/s{left}")
    if last.done < total:
        raise CancelledError(
            f"{last.done:,} of {total:,} questions of {name} are done and kept. "
            "Give the same command again, without --restart, to go on."
        )
    if rate:
        output.note(f"{name}: {total:,} questions, {rate:.1f} a second")
    return first.evaluation


def _tell(done: list[Column], output: Output) -> None:
    """The table, and where answers are lost."""
    if output.json:
        for column in done:
            output.record(result_record(column))
        return
    for line in [*table_lines(done), "", *map(plain, funnel_lines(done))]:
        output.line(line)


def _read_baseline(file: Path, strategies: Sequence[str], questions: Sequence[Question]) -> list[ResultRow]:
    """Earlier results of the questions that are asked now, word for word. Raises SettingsError."""
    if len(strategies) > 1:
        raise SettingsError("With --baseline one strategy is evaluated.", "Give the command once for each strategy.")
    asked = {question.id: question.question for question in questions}
    try:
        rows = read_results(read_file(file, "Give a file that --json-file wrote."), strategies[0])
    except InputError as error:
        raise SettingsError(error.message, error.remedy) from error
    same = [row for row in rows if asked.get(row.question_id) == row.question]
    if all(row.right is None for row in same):
        raise SettingsError(
            "The baseline says of none of these questions whether it was answered rightly.",
            "Give a baseline of the same questions, with expected answers, sources or pages.",
        )
    return same


def _is_worse(before: Sequence[ResultRow], now: Column, output: Output) -> bool:
    """Show the difference to a baseline and the questions that are no longer right; whether answers got worse."""
    compared = compare_results(before, now.rows, names=("the baseline", now.result.strategy))
    found = [each for name in TITLES if (each := compared.get(name)) and each.pairs]
    worse = compared["right"].high is not None and compared["right"].high < 0
    was = {row.question_id: row.right for row in before}
    lost = [row for row in now.rows if row.right is False and was.get(row.question_id) is True]
    won = sum(row.right is True and was.get(row.question_id) is False for row in now.rows)
    verdict = "Worse than the baseline" if worse else "Not worse than the baseline"
    if output.json:
        listed = [{"question_id": row.question_id, "question": row.question, "run": row.run_id} for row in lost]
        differences = [*map(asdict, found)]
        output.record({"kind": "baseline", "worse": worse, "lost": listed, "won": won, "differences": differences})
        return worse
    for line in ("", *difference_lines(found), "", f"{verdict}: {count(len(lost), 'question')} lost, {won:,} won."):
        output.line(line)
    for row in lost[:SHOWN_LOST]:
        output.line(f"  {plain(row.question)}")
    if len(lost) > SHOWN_LOST:
        output.line(f"  and {len(lost) - SHOWN_LOST:,} more")
    return worse


def _export(tables: Sequence[Mapping[str, Cell]], asked: _Asked, output: Output) -> None:
    """All rows to the files named. Raises InputError; the results are in the library all the same."""
    columns = list(dict.fromkeys(name for table in tables for name in table))
    cells = [[table.get(name) for name in columns] for table in tables]
    for file, written in ((asked.csv, csv_export), (asked.json_file, json_export)):
        if file is None:
            continue
        with explain_access(file, "written", "The results are in the library."):
            file.write_bytes(written(columns, cells))
        output.note(f"{len(tables):,} rows written to {file}")
