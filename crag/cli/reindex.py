"""reindex: Compute every vector of a library again, after the embedding model or what it reads has changed."""

from __future__ import annotations

import argparse

from crag.cli.options import add_library, existing, interruptible, opened
from crag.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_library(parser)


def run(options: argparse.Namespace, output: Output) -> int:
    """All or nothing: until the end, and if it is interrupted, the library stays as it was."""
    place = existing(options)
    with interruptible() as cancel, opened(options) as engine:
        library = engine.library(place)
        library.reindex(lambda done, total: output.progress(f"chunk {done} of {total} embedded"), cancel)
        documents, chunks = library.size
    if output.json:
        output.record({"status": "reindexed", "documents": documents, "chunks": chunks})
    else:
        output.line(f"reindexed {documents} documents, {chunks} chunks")
    return 0
