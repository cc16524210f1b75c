"""The command that explains a miss: why a page or sentence is not in the answer of a run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from typer import Argument, Option

from crag.analysis.misses import Fate, Miss, Wanted, explain_miss
from crag.cli.options import Place, latest_run
from crag.cli.output import Output, plain
from crag.core.errors import InputError
from crag.export.misses import MissRecord
from crag.messages.misses import change_sentence, miss_sentence, missing_sentence
from crag.text.formats import format_score

_SHOWN = 5
"""Chunks that are listed."""


def explain(
    run: Annotated[str, Argument(metavar="RUN", help='a run\'s id, as ask --json says it; "last": the latest')],
    place: Place,
    output: Output,
    page: Annotated[
        str, Option(metavar="NAME:PAGE", help="a document, and after a colon its page, as: report.pdf:12")
    ] = "",
    text: Annotated[str, Option(metavar="SENTENCE", help="a sentence, as the document has it")] = "",
) -> int:
    """How far the page or sentence came, what would have kept it, and its chunks. 0 also where it is in the answer."""
    if not page and not text:
        raise InputError("Nothing to look for.", "Give --page NAME:PAGE, or --text with a sentence, or both.")
    named = re.fullmatch(r"(.*):(\d{1,6})", page)
    document, number = (named[1], int(named[2])) if named else (page, None)
    with place.opened() as (_, library):
        trace = library.runs.trace(latest_run(library) if run == "last" else run)
        miss = explain_miss(library, trace, Wanted(document=document, page=number, text=text))
    output.show(MissRecord.of(miss).json_values(), "\n".join(_lines(miss, output)))
    return 0


def _lines(miss: Miss, output: Output) -> Iterator[str]:
    yield output.paint(plain(miss_sentence(miss)), "bold")
    if said := change_sentence(miss):
        yield said
    if miss.fates and (said := missing_sentence(miss)):
        yield plain(said)
    yield from (f"    {line}" for line in map(_line, miss.fates[:_SHOWN]))


def _line(fate: Fate) -> str:
    score = fate.grade.score if fate.grade is not None else None
    parts = [
        fate.stage,
        f"rank {fate.rank}" if fate.rank is not None else "",
        f"score {format_score(score)}" if score is not None else "",
        f"{sum(strip.kept for strip in fate.strips)} of {len(fate.strips)} strips kept" if fate.strips else "",
    ]
    text = " ".join(fate.chunk.text.split())[:100]
    return plain(f"{fate.chunk.where}: {', '.join(filter(None, parts))}: {text}…")
