"""keep: Keep web pages that the answer of a run used as documents of the library."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from crag.cli.options import add_library, existing, interruptible, opened
from crag.cli.output import Output, plain
from crag.core.errors import CragError, NotFoundError
from crag.core.metadata import KEPT_CONFIDENCE

if TYPE_CHECKING:
    from crag.engine import Engine


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help='a run\'s id, as ask --json and gaps say it; "last": the latest')
    parser.add_argument(
        "pages",
        nargs="*",
        default=["all"],
        metavar="URL",
        help='the address of a page that it found; "all", or none: those that its answer cites',
    )
    add_library(parser)
    parser.add_argument(
        "--confidence",
        type=float,
        default=KEPT_CONFIDENCE,
        metavar="0..1",
        help=f"how far these pages are trusted (default {KEPT_CONFIDENCE:g})",
    )


def run(options: argparse.Namespace, output: Output) -> int:
    """One line a page. 0 if every page is in the library now, 1 if some are not."""
    from crag.analysis.gaps import keep, pages_named  # only now: they load the reader and the library

    failed = 0
    place = existing(options)
    with interruptible() as cancel, opened(options) as engine:
        library = engine.library(place)
        trace = library.runs.trace(_run(options.run, engine, place))
        found = {page.id: page for said in options.pages for page in pages_named(trace, said)}
        for page in found.values():
            try:
                kept = keep(
                    page,
                    trace.meant,
                    library,
                    engine,
                    confidence=options.confidence,
                    cancel=cancel,
                )
            except CragError as error:
                failed += 1
                output.message(f"failed: {plain(page.url)}: {error}")
                continue
            if output.json:
                status = "already there" if kept.already else "kept"
                output.record({"status": status, "url": page.url, "id": kept.document.id, "name": kept.document.name})
            else:
                output.line(f"{plain(page.url)}: {plain(kept.sentence)}")
    return 1 if failed else 0


def _run(said: str, engine: Engine, place: str | Path) -> str:
    """The id of a run that is named. Raises NotFoundError where there is none at all."""
    if said != "last":
        return said
    latest = engine.library(place).runs.latest(1)
    if not latest:
        raise NotFoundError("There is no run in this library.", "Ask a question first.")
    return latest[0].run_id
