"""tag: Give a document fields that filters ask for: tags=a,b verified=true date=2024-03-01; name= takes one away."""

from __future__ import annotations

import argparse

from crag.cli.options import add_library, existing, find_document, opened
from crag.cli.output import Output
from crag.core.metadata import Value, read_field, written_field
from crag.core.types import Document


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("document", metavar="DOCUMENT", help="its name, or the beginning of its id")
    parser.add_argument("fields", nargs="*", metavar="NAME=VALUE", help="none: show the fields that it has")
    add_library(parser)


def run(options: argparse.Namespace, output: Output) -> int:
    """All fields are read before any is stored."""
    given = dict(read_field(each) for each in options.fields)
    with opened(options) as engine:
        library = engine.library(existing(options))
        document = find_document(options.document, library.documents.all())
        fields = library.documents.describe(document.id, given) if given else library.documents.fields(document.id)
    show(document, fields, output)
    return 0


def show(document: Document, fields: dict[str, Value], output: Output) -> None:
    if output.json:
        output.record({"id": document.id, "name": document.name, "fields": fields})
        return
    for name, value in fields.items():
        output.line(written_field(name, value))
