"""verify: Read a whole library, and compare its parts and its index; with --repair the index is rebuilt."""

from __future__ import annotations

import argparse

from crag.cli.options import add_library, existing, opened
from crag.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_library(parser)
    parser.add_argument("--repair", action="store_true", help="where the index differs from the records, rebuild it")


def run(options: argparse.Namespace, output: Output) -> int:
    """0 where everything fits, or was mended; 1 where the index differs."""
    place = existing(options)
    with opened(options) as engine:
        library = engine.library(place)
        found = library.verify(repair=options.repair)
        documents, chunks = library.size
    repaired = bool(found) and options.repair
    if output.json:
        output.record(
            {
                "status": "repaired" if repaired else "differs" if found else "whole",
                "documents": documents,
                "chunks": chunks,
                "missing": len(found.missing),
                "foreign": len(found.foreign),
            }
        )
    elif not found:
        output.line(f"{documents} documents and {chunks} chunks are whole, and the index fits them")
    else:
        what = f"{len(found.missing)} chunks were missing in the index, {len(found.foreign)} in it alone"
        output.line(f"{what}; it was rebuilt" if repaired else f"{what}: run it again with --repair")
    return 0 if repaired or not found else 1
