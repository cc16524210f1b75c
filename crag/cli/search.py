"""search: Find the chunks nearest to a question; nothing is graded."""

from __future__ import annotations

import argparse

from crag.cli.options import add_library, add_scope, add_settings, add_strategy, existing, narrowed_to, opened, settings
from crag.cli.output import Output, plain
from crag.core.errors import PROGRAM, EmptyLibraryError, QuestionError
from crag.core.request import SearchQuery
from crag.export.records import HitRecord
from crag.messages.wording import recognised_text

EXCERPT = 240


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", metavar="QUESTION")
    add_library(parser)
    add_strategy(parser)
    add_settings(parser)
    add_scope(parser)
    parser.add_argument(
        "--mode", choices=["hybrid", "dense", "bm25"], default="hybrid", help="how it searches (default: hybrid)"
    )


def run(options: argparse.Namespace, output: Output) -> int:
    """One line a chunk, best first."""
    chosen = settings(options)
    question = options.question.strip()
    place = existing(options)
    with opened(options) as engine:
        from crag.engine import QUESTION_CHARS

        if not 1 <= len(question) <= QUESTION_CHARS:
            raise QuestionError("The question is empty." if not question else "The question is too long.")
        library = engine.library(place)
        if library.documents.count() == 0:
            raise EmptyLibraryError("There is no document to search.", f"Add one: {PROGRAM} index FILE.pdf")
        chosen = narrowed_to(options, chosen, engine)
        found = library.find(
            SearchQuery(
                question,
                chosen.k,
                mode=options.mode,
                where=chosen.where,
                min_confidence=chosen.min_confidence,
                half_life_days=chosen.half_life_days,
            )
        )
    for hit in found:
        if output.json:
            output.record(HitRecord.of(hit).json_values())
            continue
        place_line = f"{plain(hit.chunk.source)}, {plain(hit.chunk.where)}"
        how = f"  {said}" if (said := recognised_text(hit.chunk.recognised)) else ""
        output.line(f"{hit.rank:>2}  {output.paint(place_line, 'bold')}  similarity {hit.similarity:.3f}{how}")
        text = plain(hit.chunk.text)
        output.line(f"    {text[:EXCERPT]}{'…' if len(text) > EXCERPT else ''}")
    return 0
