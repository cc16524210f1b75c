"""gaps: List the questions that the documents did not answer, and the web pages that could be kept for them."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING

from crag.cli.options import add_library, existing, opened
from crag.cli.output import Output, plain
from crag.core.errors import PROGRAM
from crag.messages.answers import origins_text
from crag.text.formats import count

if TYPE_CHECKING:
    from crag.analysis.gaps import FoundPage, Gap


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_library(parser)
    parser.add_argument("--closed", action="store_true", help="those too that the documents have answered since")


def run(options: argparse.Namespace, output: Output) -> int:
    """The open gaps, those asked most often first, each with its pages."""
    from crag.analysis.gaps import found_pages, gaps  # only now: it loads the library

    place = existing(options)
    with opened(options) as engine:
        library = engine.library(place)
        found = [gap for gap in gaps(library, engine.embedder) if options.closed or not gap.closed_by]
        pages = [found_pages(library, gap) for gap in found]
    for gap, kept in zip(found, pages, strict=True):
        if output.json:
            output.record(
                {
                    **asdict(gap),
                    "pages": [
                        {
                            "run": each.run,
                            "url": each.page.url,
                            "title": each.page.title,
                            "kept_as": each.document.name if each.document else None,
                        }
                        for each in kept
                    ],
                }
            )
        else:
            _show(gap, kept, output)
    if not found:
        output.note("No gap: every question of the latest runs was answered from the documents.")
    return 0


def _show(gap: Gap, pages: list[FoundPage], output: Output) -> None:
    output.line(output.paint(plain(gap.question), "bold"))
    state = "answered since" if gap.closed_by else "open"
    through = f", {said}" if (said := origins_text(gap.vias)) else ""
    output.line(f"    asked {count(gap.asked, 'time')}, last {gap.last[:16]}{through}, {state}")
    for other in gap.others:
        output.line(f"    also: {plain(other)}")
    for each in pages:
        output.line(f"    {plain(each.page.title or each.page.url)}")
        if each.document:
            output.line(f"        kept as {plain(each.document.name)}; ask again to close the gap")
            continue
        command = f"{PROGRAM} keep {shlex.quote(each.run)} {shlex.quote(plain(each.page.url))}"
        output.line(output.paint(f"        {command}", "dim"))
