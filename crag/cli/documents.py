"""documents: List the documents of a library."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from crag.cli.options import add_library, existing, opened
from crag.cli.output import Output, plain
from crag.core.errors import PROGRAM


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_library(parser)


def run(options: argparse.Namespace, output: Output) -> int:
    """One line a document, oldest first."""
    place = existing(options)
    with opened(options) as engine:
        documents = engine.library(place).documents.all()
    if output.json:
        for document in documents:
            output.record(asdict(document))
        return 0
    if not documents:
        output.note(f"No documents yet. Add some: {PROGRAM} index FILE.pdf")
        return 0
    width = max(len(plain(document.name)) for document in documents)
    for document in documents:
        output.line(
            f"{plain(document.name):<{width}}  {document.pages:>5} pages  {document.chunks:>6} chunks  "
            f"{document.size / 1024:>8,.0f} KB  {document.added_at[:10]}  {output.paint(plain(document.title), 'dim')}"
        )
    return 0
