"""The commands on stored runs: why a page is not in an answer, and a static site."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from crag.analysis.stages.miss import Fate, Miss, Wanted, explain_miss
from crag.cli.options import Place, explain_access, latest_run
from crag.cli.output import Output, plain
from crag.core.errors import InputError, SettingsError
from crag.export.explanations import MissRecord
from crag.export.html.site import write_site
from crag.messages.explanations import change_sentence, fate_text, miss_sentence, missing_sentence
from crag.text.formats import count

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
    if not (page or text):
        raise InputError("Nothing to look for.", "Give --page NAME:PAGE, or --text with a sentence.")
    named = re.fullmatch(r"(.*):(\d{1,6})", page)
    document, number = (named[1], int(named[2])) if named else (page, None)
    with place.opened() as (_, library):
        trace = library.runs.trace(latest_run(library) if run == "last" else run)
        miss = explain_miss(library, trace, Wanted(document=document, page=number, text=text))
    output.show(MissRecord.of(miss).json_values(), "\n".join(_miss_lines(miss, output)))
    return 0


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
        with explain_access(out, "written", "Name a folder that may be written."):
            for run, file in write_site(engine, place.target, ids, out):
                output.show({"run": run, "file": str(file)}, str(file))
    output.note(f"{count(len(ids), 'run')}; open {out / 'index.html'}")
    return 0
