"""refresh: Look at the web pages of documents again: changed ones are replaced, gone ones are said."""

from __future__ import annotations

import argparse
from collections import Counter

from crag.cli.options import add_library, existing, find_document, interruptible, opened
from crag.cli.output import Output
from crag.cli.results import DONE, progress, show
from crag.core.errors import CancelledError, NotFoundError
from crag.core.fields import days_of
from crag.core.ingesting import IngestStep
from crag.core.types import Document


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "documents", nargs="*", metavar="DOCUMENT", help="its name, its address, or the beginning of its id; none: all"
    )
    parser.add_argument(
        "--older-than", type=days_of, metavar="DAYS", help="only if looked at longer ago than this: 7d, 2w"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="look, and note what changed for documents --stale; replace nothing"
    )
    add_library(parser)


def run(options: argparse.Namespace, output: Output) -> int:
    """One line a document. 0 if every page came and could be read, 1 if some did not."""
    counts: Counter[str] = Counter()
    place = existing(options)
    with interruptible() as cancel, opened(options) as engine:
        held = engine.library(place).documents.all()
        ids = [_find_web_document(said, held).id for said in options.documents] or None
        looks = engine.pages.refresh(place, ids, older_than=options.older_than, dry_run=options.dry_run, cancel=cancel)
        for event in looks:
            if isinstance(event, IngestStep):
                output.progress(progress(event))
                continue
            counts[show(event, event.name, output)] += 1
        if cancel.is_set():
            raise CancelledError("Refreshing was stopped; the documents listed are done.")
    output.note(", ".join(f"{number} {status}" for status, number in sorted(counts.items())) or "No web page was due.")
    return int(any(status not in DONE for status in counts))


def _find_web_document(said: str, held: list[Document]) -> Document:
    """The document from the web that was named. Raises NotFoundError."""
    document = next((each for each in held if each.url == said), None) or find_document(said, held)
    if not document.url:
        raise NotFoundError(f"{document.name} is not from the web.", "Name a document that was added by its address.")
    return document
