"""Looks for a word everywhere that a library may leave one: tables, files, members of archives, live objects."""

import gc
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import select

from crag.storage.library import Library
from crag.storage.tables import metadata


def in_tables(word: str, library: Library) -> list[str]:
    """The tables whose rows hold it."""
    with library._database.read() as connection:
        return [
            table.name
            for table in metadata.sorted_tables
            if any(word.encode() in repr(tuple(row)).encode() for row in connection.execute(select(table)))
        ]


def in_files(word: str, folder: Path) -> list[str]:
    """The files below a folder that hold it, those within archives too."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            members = [data]
            if zipfile.is_zipfile(io.BytesIO(data)):
                with zipfile.ZipFile(io.BytesIO(data)) as archive:
                    members += [archive.read(name) for name in archive.namelist()]
            found += [str(path.relative_to(folder))] if any(word.encode() in each for each in members) else []
    return found


def in_objects(word: str) -> list[str]:
    """The kinds of live objects that refer to a text with it, with the text; no one's frame counts."""
    gc.collect()
    return sorted(_holding(word))


def _holding(word: str) -> Iterator[str]:
    for each in gc.get_objects():
        if type(each).__name__ != "frame":
            for held in gc.get_referents(each):
                if isinstance(held, str | bytes) and (word if isinstance(held, str) else word.encode()) in held:
                    yield f"{type(each).__name__}: {held[:80]!r}"
