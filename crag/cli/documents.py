"""documents: List the documents of a library."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from crag.cli.options import add_library, existing, opened
from crag.cli.output import Output, plain
from crag.core.errors import PROGRAM
from crag.core.trace import Track


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_library(parser)
    parser.add_argument(
        "--stale", action="store_true", help="those out of date (vectors, chunks, file, web page, review_by), and why"
    )
    parser.add_argument("--purged", action="store_true", help="those that a purge took out and --undo brings back")


def run(options: argparse.Namespace, output: Output) -> int:
    """One line a document, oldest first."""
    place = existing(options)
    with opened(options) as engine:
        library = engine.library(place)
        if options.purged:
            for each in library.purges.undoable():
                _show_purged(asdict(each), output)
            return 0
        documents, tracks, stale = library.documents.all(), library.documents.tracks(), engine.stale(place)
        citing = library.facts.citing(documents)
    if options.stale:
        documents = [document for document in documents if document.id in stale]
    if output.json:
        for document in documents:
            track_fields = _track(tracks.get(document.id, Track()))
            more = {**track_fields, "cited": citing[document.id], "stale": list(stale.get(document.id, ()))}
            output.record({**asdict(document), **more})
        return 0
    if not documents:
        output.note(
            "No document is stale." if options.stale else f"No documents yet. Add some: {PROGRAM} index FILE.pdf"
        )
        return 0
    width = max(len(plain(document.name)) for document in documents)
    for document in documents:
        output.line(
            f"{plain(document.name):<{width}}  {document.pages:>5} pages  {document.chunks:>6} chunks  "
            f"{document.size / 1024:>8,.0f} KB  {document.added_at[:10]}  {output.paint(plain(document.title), 'dim')}"
        )
        for said in stale.get(document.id, ()):
            output.line(f"{output.paint('  stale', 'amber')}  {said}")
    return 0


def _track(track: Track) -> dict[str, Any]:
    """What runs said of a document, for scripts."""
    return {
        "retrieved": track.retrieved,
        "used": track.used,
        "last_used": track.last_used or None,
        "mean_score": track.mean_score,
    }


def _show_purged(purged: dict[str, Any], output: Output) -> None:
    if output.json:
        output.record(purged)
    else:
        output.line(f"{plain(purged['name'])}  {purged['id'][:12]}  purged {purged['at'][:16]}: {plain(purged['why'])}")
