"""Libraries of documents, added to a cache once and used again while model, readers and chunking stay the same."""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import crag.ingest
from corpora.answer_questions import File
from crag.core.ingesting import DocumentAdded, DocumentFailed
from crag.core.types import INDEXED_AS
from crag.engine import Engine
from crag.ingest.chunking import CHUNKING_ID


@cache
def reader_version() -> str:
    """A digest of the code that reads documents."""
    digest = hashlib.sha256()
    for file in sorted(Path(crag.ingest.__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def indexed(engine: Engine, files: Sequence[Path], cache: Path) -> Path:
    """The folder of a library of all files, which the engine adds where they are not there. Ends where one fails.

    It is named after all that makes a library what it is, so that another model, reader or chunking has its own.
    """
    made_of = json.dumps([engine.embedder.id, INDEXED_AS, CHUNKING_ID, reader_version(), [file.name for file in files]])
    folder = cache / hashlib.sha256(made_of.encode()).hexdigest()[:24]
    folder.mkdir(parents=True, exist_ok=True)
    added = 0
    for event in engine.add_files([(file.name, file.read_bytes) for file in files], folder):
        if isinstance(event, DocumentFailed):
            raise SystemExit(f"{event.message} {event.remedy}")
        if isinstance(event, DocumentAdded):
            added += 1
            print(f"  added {event.name}: {added}", file=sys.stderr)
    return folder


def library_of(engine: Engine, files: Iterable[File], cache: Path) -> Path:
    """The library of documents that are made here."""
    with tempfile.TemporaryDirectory() as place:
        paths = []
        for name, body in files:
            paths.append(Path(place) / name)
            paths[-1].write_bytes(body)
        return indexed(engine, paths, cache)
