"""The commands on stored runs: why a page is not in an answer or what a score rests on, and a static site."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from crag.analysis.causes import answer_without, explain_grade
from crag.analysis.stages.miss import Fate, Miss, Wanted, explain_miss
from crag.analysis.whatif.whatif import leave_out, smallest_moves
from crag.cli.options import Place, latest_run
from crag.cli.output import Options, Output, plain, strip_controls
from crag.core.errors import InputError, NotFoundError, SettingsError
from crag.core.protocols import SetGrader
from crag.core.trace import Trace
from crag.export.explanations import MissRecord, flip_values, grade_values, without_values
from crag.export.html.site import write_site
from crag.messages.explanations import (
    change_sentence,
    citations_sentence,
    fate_text,
    flip_sentences,
    grade_sentences,
    miss_sentence,
    missing_sentence,
    other_text_sentence,
    part_text,
    untried_sentence,
    without_sentences,
)
from crag.storage.library import Library
from crag.text.formats import count, format_score

if TYPE_CHECKING:
    from crag.engine import Engine

_SHOWN = 5
"""Chunks that are listed."""
_WIDE = 110
"""Characters of a line about a part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sought(Options):
    """What of a run is explained."""

    page: Annotated[
        str, Option(metavar="NAME:PAGE", help="a document, and after a colon its page, as: report.pdf:12")
    ] = ""
    text: Annotated[str, Option(metavar="SENTENCE", help="a sentence, as the document has it")] = ""
    grade: Annotated[int | None, Option(metavar="N", help="explain the score of the run's chunk N, from 1")] = None
    without: Annotated[str, Option(metavar="N[,N…]", help="the action and answer without these chunks")] = ""
    flip: Annotated[bool, Option("--flip", help="say what would change the action")] = False


def explain(
    run: Annotated[str, Argument(metavar="RUN", help='a run\'s id, as ask --json says it; "last": the latest')],
    sought: _Sought,
    place: Place,
    output: Output,
) -> int:
    """How far the page or sentence came, what would have kept it, and its chunks. 0 also where it is in the answer.

    With --grade: what the score of a chunk rests on. With --without: the run without some of its chunks. With --flip:
    the smallest move of a threshold that changes the action.
    """
    page, text = sought.page, sought.text
    if not (page or text or sought.grade is not None or sought.without or sought.flip):
        raise InputError(
            "Nothing to look for.",
            "Give --page NAME:PAGE, --text with a sentence, --grade N, --without N or --flip.",
        )
    named = re.fullmatch(r"(.*):(\d{1,6})", page)
    document, number = (named[1], int(named[2])) if named else (page, None)
    with place.opened() as (engine, library):
        trace = library.runs.trace(latest_run(library) if run == "last" else run)
        if page or text:
            miss = explain_miss(library, trace, Wanted(document=document, page=number, text=text))
            output.show(MissRecord.of(miss).json_values(), "\n".join(_miss_lines(miss, output)))
        if sought.grade is not None:
            _grade(engine, library, trace, sought.grade, output)
        if sought.without:
            _without(engine, trace, [_number(each) for each in sought.without.split(",")], output)
        if sought.flip:
            moves = smallest_moves(trace)
            output.show(flip_values(moves), "\n".join(map(plain, flip_sentences(trace, moves))))
    return 0


def _number(text: str) -> int:
    if not re.fullmatch(r"\s*\d{1,6}\s*", text):
        raise InputError(f"“{plain(text)}” is no number of a chunk.", "Write numbers as: --without 1,3")
    return int(text)


def _chunk_id(trace: Trace, number: int) -> str:
    """The id of the run's chunk of this number, from 1. Raises NotFoundError."""
    chunks = trace.round.chunks if trace.round is not None else ()
    if not 1 <= number <= len(chunks):
        raise NotFoundError(f"The run has no chunk {number}.", f"It has {len(chunks)}.")
    return chunks[number - 1].chunk.id


def _grade(engine: Engine, library: Library, trace: Trace, number: int, output: Output) -> None:
    found = explain_grade(engine, library, trace, _chunk_id(trace, number))
    values = grade_values(found)
    lines = _headed([*grade_sentences(found), untried_sentence(found), other_text_sentence(found)], output)
    for each in (*values["words"], *values["sentences"]):
        score = format_score(each["score"]) if each["score"] is not None else "failed"
        lines.append(f"    {score} without: {plain(each['text'])}"[:_WIDE])
    lines += [f"    {part.adds:+.2f} {part_text(part)}" for part in found.parts]
    output.show(values, "\n".join(lines))


def _without(engine: Engine, trace: Trace, numbers: Iterable[int], output: Output) -> None:
    grader = engine.evaluator if isinstance(engine.evaluator, SetGrader) else None
    left = leave_out(trace, [_chunk_id(trace, number) for number in numbers], grader)
    web_on = bool(engine.resolve_providers(settings=left.settings).webs)
    found = answer_without(engine, left, web_on=web_on)
    lines = _headed(without_sentences(left, found), output)
    if found.answer is not None:
        lines += ["", strip_controls(found.answer.text), plain(citations_sentence(found.answer))]
    output.show(without_values(left, found), "\n".join(lines))


def _headed(sentences: Iterable[str], output: Output) -> list[str]:
    """The sentences a line each, the first one in bold."""
    first, *rest = map(plain, filter(None, sentences))
    return [output.paint(first, "bold"), *rest]


def _miss_lines(miss: Miss, output: Output) -> Iterator[str]:
    yield output.paint(plain(miss_sentence(miss)), "bold")
    if said := change_sentence(miss):
        yield said
    if miss.fates and (said := missing_sentence(miss)):
        yield plain(said)
    yield from (f"    {line}" for line in map(_line, miss.fates[:_SHOWN]))


def _line(fate: Fate) -> str:
    return plain(f"{fate.chunk.where}: {fate_text(fate)}: {' '.join(fate.chunk.text.split())[:100]}…")


def site(
    place: Place,
    output: Output,
    out: Annotated[Path, Option(metavar="FOLDER", help="where the pages are written; it is made if it is not there")],
    runs: Annotated[
        list[str] | None,
        Argument(metavar="RUN", help='ids of runs, as ask --json says them; "last": the latest'),
    ] = None,
    last: Annotated[int, Option(min=0, metavar="N", help="the latest N runs, after those that are named")] = 0,
) -> int:
    """One line a page. The pages load nothing, and replay from disk too: they hold what the runs quoted, with pictures
    of the cited pages. Nothing is written where a run is not there."""
    if not runs and not last:
        raise SettingsError("No run is chosen.", "Name runs by their ids, or give --last 5.")
    with place.opened() as (engine, library):
        named = [latest_run(library) if run == "last" else run for run in runs or ()]
        ids = list(dict.fromkeys([*named, *(run.run_id for run in library.runs.latest(last or 1)[:last])]))
        if not ids:
            latest_run(library)  # says that there is none
        for run, file in write_site(engine, place.target, ids, out):
            output.show({"run": run, "file": str(file)}, str(file))
    output.note(f"{count(len(ids), 'run')}; open {out / 'index.html'}")
    return 0
