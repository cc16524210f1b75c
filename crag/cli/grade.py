"""grade: the command that scores texts, for programs that write lines to it and read its answers."""

from __future__ import annotations

import json
import queue
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from crag.cli.options import Providers, Run
from crag.cli.output import Output, plain
from crag.core.errors import CragError
from crag.core.makers import about
from crag.core.settings import Settings
from crag.core.types import Grade
from crag.evaluation.trigger import verdict
from crag.messages.wording import why_sentence

if TYPE_CHECKING:
    from crag.engine import Engine

BATCH = 64
"""Lines graded together: enough to fill the model's own batches, few enough to answer a slow writer soon."""

MAX_LINE = 1_000_000
"""Bytes. A longer line is answered with an error and not held in memory."""


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of input: its number from 1, and its object or what is wrong with it."""

    number: int
    values: dict[str, Any]
    error: str | None = None


def grade(run: Run, providers: Providers, output: Output) -> int:
    """One line out for one line in. A bad line gives an error in its place; it stops nothing and the exit code is 0."""
    chosen = run.settings()
    done = failed = 0
    with providers.opened() as engine:
        for batch in _batches(sys.stdin.buffer):
            for record in _grade(engine, batch, chosen):
                done += 1
                failed += "error" in record
                output.show(record, _line(record))
            output.progress(f"{done:,} lines graded")
    if failed:
        output.note(f"{done:,} lines, {failed:,} of them not graded")
    return 0


def _grade(engine: Engine, batch: Sequence[_Line], chosen: Settings) -> list[dict[str, Any]]:
    """The batch's records in order. Lines of one question are graded together."""
    results: dict[int, dict[str, Any]] = {}
    groups: dict[str, list[_Line]] = {}
    for line in batch:
        if line.error:
            results[line.number] = {**line.values, "line": line.number, "error": line.error}
        else:
            groups.setdefault(line.values["question"], []).append(line)
    for question, lines in groups.items():
        texts = [_cut(line.values["text"], chosen) for line in lines]
        try:
            grades: list[Grade | str] = list(engine.grade(question, texts))
        except CragError as error:
            grades = [str(error)] * len(lines)
        for line, grade in zip(lines, grades, strict=True):
            results[line.number] = _record(line, grade, chosen)
    return [results[line.number] for line in batch]


def _cut(text: str, chosen: Settings) -> str:
    return text[: chosen.grade_chars] if chosen.grade_chars else text


def _record(line: _Line, grade: Grade | str, chosen: Settings) -> dict[str, Any]:
    """The line as it came, with what the evaluator says of it."""
    rest = {name: value for name, value in line.values.items() if name not in ("score", "action", "reason", "error")}
    if isinstance(grade, str):
        return {**rest, "error": grade}
    if grade.score is None:
        return {**rest, "error": about(grade.error, grade.who)}
    action = verdict(grade.score, upper=chosen.upper, lower=chosen.lower)
    found = {**rest, "score": grade.score, "action": str(action), "reason": grade.reason}
    return {**found, "instead_of": f"{grade.instead_of}: {why_sentence(grade)}"} if grade.instead_of else found


def _line(record: dict[str, Any]) -> str:
    if "error" in record:
        return f"  -    ERROR      {plain(str(record['error']))}"
    return f"{record['score']:.3f}  {record['action']:<9}  {plain(record['text'])[:120]}"


def _batches(stream: BinaryIO) -> Iterator[list[_Line]]:
    """Lines as they come: what is there already is taken together, up to BATCH; a slow writer is not waited for.

    A thread reads ahead by at most two batches, so memory stays bounded whatever the input's size.
    """
    lines: queue.Queue[_Line | None] = queue.Queue(maxsize=2 * BATCH)

    def read() -> None:
        for line in _lines(stream):
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, name="standard input", daemon=True).start()
    while (line := lines.get()) is not None:
        batch = [line]
        while len(batch) < BATCH and not lines.empty():
            line = lines.get()
            if line is None:
                yield batch
                return
            batch.append(line)
        yield batch


def _lines(stream: BinaryIO) -> Iterator[_Line]:
    """Every line of the input, bad ones with what is wrong with them."""
    number = 0
    while raw := stream.readline(MAX_LINE):
        number += 1
        if len(raw) == MAX_LINE and not raw.endswith(b"\n"):
            while (rest := stream.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                pass
            yield _Line(number, {}, f"Line {number} is longer than {MAX_LINE:,} bytes.")
        else:
            yield _parse(number, raw)


def _parse(number: int, raw: bytes) -> _Line:
    values: dict[str, Any] = {}
    try:
        read = json.loads(raw.decode(), parse_constant=_no_constant)
        values = read if isinstance(read, dict) else {}
        for name in ("question", "text"):
            values[name].encode()  # half a surrogate pair can't be graded
    except (ValueError, RecursionError, KeyError, AttributeError):
        return _Line(number, values, f'Line {number} is no JSON object {{"question": "…", "text": "…"}} in UTF-8.')
    return _Line(number, values)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
