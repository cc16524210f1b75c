"""The commands on what the documents did not answer: gaps, and keep for the web pages that were found instead."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

from typer import Argument, Option

from crag.analysis import gaps as analysis
from crag.cli.options import Place, interruptible, latest_run
from crag.cli.output import Output, plain
from crag.core.errors import PROGRAM, CragError
from crag.core.metadata import KEPT_CONFIDENCE
from crag.messages.answers import origins_text
from crag.messages.documents import kept_sentence
from crag.text.formats import count


def gaps(
    place: Place,
    output: Output,
    closed: Annotated[bool, Option("--closed", help="those too that the documents have answered since")] = False,
) -> int:
    """The open gaps, those asked most often first, each with its pages."""
    with place.opened() as (engine, library):
        found = [gap for gap in analysis.gaps(library, engine.embedder) if closed or not gap.closed_by]
        pages = [analysis.found_pages(library, gap) for gap in found]
    for gap, kept in zip(found, pages, strict=True):
        records = [
            {"run": run, "url": page.url, "title": page.title, "kept_as": document.name if document else None}
            for run, page, document in ((each.run, each.page, each.document) for each in kept)
        ]
        output.show({**asdict(gap), "pages": records}, "\n".join(_lines(gap, kept, output)))
    if not found:
        output.note("No gap: every question of the latest runs was answered from the documents.")
    return 0


def _lines(gap: analysis.Gap, pages: list[analysis.FoundPage], output: Output) -> Iterator[str]:
    yield output.paint(plain(gap.question), "bold")
    through = f", {said}" if (said := origins_text(gap.vias)) else ""
    state = "answered since" if gap.closed_by else "open"
    yield f"    asked {count(gap.asked, 'time')}, last {gap.last[:16]}{through}, {state}"
    yield from (f"    also: {plain(other)}" for other in gap.others)
    for each in pages:
        yield f"    {plain(each.page.title or each.page.url)}"
        if each.document:
            yield f"        kept as {plain(each.document.name)}; ask again to close the gap"
        else:
            command = f"{PROGRAM} keep {shlex.quote(each.run)} {shlex.quote(plain(each.page.url))}"
            yield output.paint(f"        {command}", "dim")


def keep(
    run: Annotated[str, Argument(metavar="RUN", help='a run\'s id, as ask --json and gaps say it; "last": the latest')],
    place: Place,
    output: Output,
    pages: Annotated[
        list[str] | None,
        Argument(
            metavar="URL", help='the address of a page that it found; "all", or none: those that its answer cites'
        ),
    ] = None,
    confidence: Annotated[float, Option(help="how far these pages are trusted, from 0 to 1")] = KEPT_CONFIDENCE,
) -> int:
    """One line a page. 0 if every page is in the library now, 1 if some are not."""
    failed = 0
    with interruptible() as cancel, place.opened() as (engine, library):
        trace = library.runs.trace(latest_run(library) if run == "last" else run)
        found = {page.id: page for said in pages or ["all"] for page in analysis.pages_named(trace, said)}
        for page in found.values():
            try:
                kept = analysis.keep(page, trace.meant, library, engine, confidence=confidence, cancel=cancel)
            except CragError as error:
                failed += 1
                output.message(f"failed: {plain(page.url)}: {error}")
                continue
            status = "already there" if kept.already else "kept"
            record = {"status": status, "url": page.url, "id": kept.document.id, "name": kept.document.name}
            output.show(record, f"{plain(page.url)}: {plain(kept_sentence(kept))}")
    return 1 if failed else 0
