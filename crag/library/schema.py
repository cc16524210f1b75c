"""What library.db looks like, and how an older one becomes today's. A newer one is refused."""

from __future__ import annotations

import sqlite3
import uuid
from pathlib import Path

from crag.core.errors import StorageError

VERSION = 4

ASKED = f"id NOT GLOB '{'[0-9a-f]' * 16}-[0-9]*'"
"""What tells a person's run in `runs`: an evaluation's begins with the evaluation's id and "-", also of one removed."""

# `chunks.number` and `documents.number` are never used twice (AUTOINCREMENT), so a cache that is a
# generation behind can't mistake a new chunk for a deleted one. The file's bytes have a table of their own:
# listing documents must not walk through them. The full-text index keeps no copy of the text: it reads `chunks`.
_CREATE = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE documents (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    title TEXT NOT NULL,
    card TEXT NOT NULL,
    added_at TEXT NOT NULL,
    confidence REAL NOT NULL,
    model TEXT NOT NULL,
    record TEXT NOT NULL
);

CREATE TABLE files (
    document INTEGER PRIMARY KEY REFERENCES documents (number) ON DELETE CASCADE,
    bytes BLOB NOT NULL
);

CREATE TABLE chunks (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    document INTEGER NOT NULL REFERENCES documents (number) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    page INTEGER NOT NULL,
    "start" INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    text TEXT NOT NULL,
    context TEXT NOT NULL,
    kind TEXT NOT NULL,
    lines TEXT NOT NULL
);
CREATE INDEX chunks_by_document ON chunks (document, ordinal);

CREATE TABLE vectors (
    chunk INTEGER PRIMARY KEY REFERENCES chunks (number) ON DELETE CASCADE,
    vector BLOB NOT NULL
);

CREATE VIRTUAL TABLE chunk_search USING fts5 (
    context, text, content = 'chunks', content_rowid = 'number',
    tokenize = "porter unicode61 remove_diacritics 2"
);
CREATE TRIGGER chunks_added AFTER INSERT ON chunks BEGIN
    INSERT INTO chunk_search (rowid, context, text) VALUES (new.number, new.context, new.text);
END;
CREATE TRIGGER chunks_removed AFTER DELETE ON chunks BEGIN
    INSERT INTO chunk_search (chunk_search, rowid, context, text)
    VALUES ('delete', old.number, old.context, old.text);
END;

CREATE TABLE grades (key TEXT PRIMARY KEY, grade TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    question TEXT NOT NULL,
    strategy TEXT NOT NULL,
    action TEXT,
    started_at TEXT NOT NULL,
    seconds REAL NOT NULL,
    trace TEXT NOT NULL,
    events TEXT NOT NULL
);

CREATE TABLE labels (
    chunk TEXT NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    question TEXT NOT NULL,
    label TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (chunk, question)
);
"""

_OUTSIDE = """
CREATE TABLE searches (key TEXT PRIMARY KEY, found_at TEXT NOT NULL, pages TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE calls (
    run TEXT NOT NULL,
    at TEXT NOT NULL,
    step TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    seconds REAL NOT NULL,
    input_tokens INTEGER,
    output_tokens INTEGER,
    failed INTEGER NOT NULL
);
CREATE INDEX calls_by_run ON calls (run);
CREATE INDEX calls_by_time ON calls (at);
"""
"""Since version 2. No call refers to a run by key: what was spent stays spent when a run is deleted."""


_MEASURED = """
CREATE TABLE question_sets (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    questions INTEGER NOT NULL,
    problems INTEGER NOT NULL,
    added_at TEXT NOT NULL,
    content TEXT NOT NULL
);

CREATE TABLE evaluations (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    question_set TEXT NOT NULL REFERENCES question_sets (id) ON DELETE CASCADE,
    strategy TEXT NOT NULL,
    settings TEXT NOT NULL,
    parts TEXT NOT NULL,
    key TEXT NOT NULL,
    started_at TEXT NOT NULL,
    finished_at TEXT NOT NULL
);
CREATE INDEX evaluations_by_set ON evaluations (question_set);

CREATE TABLE results (
    evaluation INTEGER NOT NULL REFERENCES evaluations (number) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    row TEXT NOT NULL,
    PRIMARY KEY (evaluation, place)
);
"""
"""Since version 3. No result refers to a run by key: what was measured stays when a run is deleted."""


_HISTORY = f"CREATE INDEX runs_asked ON runs (number) WHERE {ASKED};"
"""Since version 4, so that the history is found among ten thousand runs of evaluations."""

_ADDED = (_OUTSIDE, _MEASURED, _HISTORY)
"""`_ADDED[n]` turns version n + 1 into n + 2, inside the transaction that `prepare` opens."""


def inspect(connection: sqlite3.Connection, path: Path) -> bool:
    """Look before anything is written: True for a file still empty, False for a library.

    Raises StorageError for a newer library, and for an SQLite file that is something else.
    """
    tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > VERSION:
        raise StorageError(
            f"The library {path.parent.name} was written by a newer version of this program "
            f"(schema {version}; this one knows {VERSION}).",
            "Update the program, or choose another folder. Nothing was changed.",
        )
    if version == 0 and tables:
        raise StorageError(
            f"The file {path.name} of {path.parent.name} is a database of another program.",
            "Choose another folder. Nothing was changed.",
        )
    return version == 0


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Create or migrate the schema in one transaction; a current library is only read. Raises as `inspect` does."""
    if not inspect(connection, path) and _version(connection) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Looked at again under the lock: another process may have done the work in between.
        if inspect(connection, path):
            for statement in _statements("\n".join((_CREATE, *_ADDED))):
                connection.execute(statement)
            if sqlite3.sqlite_version_info >= (3, 42):  # else deleted terms linger until the index merges itself
                connection.execute("INSERT INTO chunk_search (chunk_search, rank) VALUES ('secure-delete', 1)")
            connection.executemany(
                "INSERT INTO meta VALUES (?, ?)",
                [("library", uuid.uuid4().hex), ("generation", "0"), ("model", ""), ("dimension", "0")],
            )
        else:
            for statement in _statements("\n".join(_ADDED[_version(connection) - 1 :])):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _statements(script: str) -> list[str]:
    """The script's statements, whole: a trigger has semicolons inside."""
    found, pending = [], ""
    for line in script.splitlines():
        pending += line + "\n"
        if sqlite3.complete_statement(pending):
            found.append(pending)
            pending = ""
    return found
