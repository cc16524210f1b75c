"""The tables of a library, the same in SQLite and PostgreSQL, and how the two differ in a few words."""

from __future__ import annotations

import re
import uuid
from typing import Any

from sqlalchemy import (
    JSON,
    REAL,
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    Dialect,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    TextClause,
    TypeDecorator,
    func,
    insert,
    select,
    text,
)
from sqlalchemy.types import TypeEngine

from crag.storage.layout import Layout

ASKED = {
    "sqlite": f"id NOT GLOB '{'[0-9a-f]' * 16}-[0-9]*'",
    "postgresql": "id !~ '^[0-9a-f]{16}-[0-9]'",
}
"""What tells a person's run in `runs`, by dialect: an evaluation's begins with the evaluation's id and "-", also of one
removed."""

_EVALUATED = re.compile(r"[0-9a-f]{16}-[0-9]")
"""The same of an id."""


class Words(TypeDecorator[str]):
    """Text of any characters, ordered by their code points. PostgreSQL can't store U+0000: it is replaced there."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return Text(collation="C") if dialect.name == "postgresql" else Text()

    def bind_processor(self, dialect: Dialect) -> Any:
        return _storable if dialect.name == "postgresql" else None

    def result_processor(self, dialect: Dialect, coltype: object) -> None:
        return None


def _storable(value: str | None) -> str | None:
    return value.replace("\0", "\ufffd") if value else value


def asked_condition(dialect: Dialect) -> TextClause:
    """The condition on `runs` for those that a person asked for, in the words of the index `runs_asked`."""
    return text(ASKED[dialect.name])


def was_asked(run: str) -> bool:
    """Whether a person asked for the run of this id."""
    return not _EVALUATED.match(run)


metadata = MetaData()
_WORDS = Words()
_REAL: TypeEngine[float] = Double().with_variant(REAL(), "sqlite")
_NUMBER = BigInteger().with_variant(Integer(), "sqlite")
"""In SQLite the type must be called INTEGER for a row's number to be the key of the table itself."""


def _number_column() -> Column[int]:
    """A row's number, given by the database and never used twice: what is a change behind mistakes no row for another.

    SQLite needs `sqlite_autoincrement` on the table for that.
    """
    return Column("number", _NUMBER, Identity(), primary_key=True)


def _needed(name: str, type: Any, *rest: Any, **options: Any) -> Column[Any]:
    return Column(name, type, *rest, nullable=False, **options)


# What the library itself is: `library`, its own id; `generation`, which counts changes of documents and vectors;
# `model` and `dimension` of the vectors. `in flight …`: work that is not over, as `crag.storage.in_flight` has it.
meta = Table(
    "meta", metadata, Column("key", _WORDS, primary_key=True), _needed("value", _WORDS), sqlite_with_rowid=False
)

documents = Table(
    "documents",
    metadata,
    _number_column(),
    _needed("id", _WORDS, unique=True),
    _needed("name", _WORDS),
    _needed("title", _WORDS),
    _needed("card", _WORDS),
    _needed("added_at", _WORDS),
    _needed("confidence", _REAL),
    _needed("model", _WORDS),
    _needed("record", _WORDS),
    # As text: PostgreSQL's own form of it would give a number of 1e22 back as a whole one.
    _needed("meta", JSON(), server_default=text("'{}'")),
    sqlite_autoincrement=True,
)

# A table of their own: listing documents must not walk through the bytes.
files = Table(
    "files",
    metadata,
    Column(
        "document",
        _NUMBER,
        ForeignKey(documents.c.number, ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    _needed("bytes", LargeBinary),
)

chunks = Table(
    "chunks",
    metadata,
    _number_column(),
    _needed("id", _WORDS, unique=True),
    _needed("document", _NUMBER, ForeignKey(documents.c.number, ondelete="CASCADE")),
    _needed("ordinal", Integer),
    _needed("page", Integer),
    _needed("start", Integer),
    _needed("end", Integer),
    _needed("text", _WORDS),
    _needed("context", _WORDS),
    _needed("kind", _WORDS),
    _needed("lines", _WORDS),
    _needed("place", _WORDS),
    _needed("tables", _WORDS),
    Index("chunks_by_document", "document", "ordinal"),
    sqlite_autoincrement=True,
)

vectors = Table(
    "vectors",
    metadata,
    Column(
        "chunk",
        _NUMBER,
        ForeignKey(chunks.c.number, ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    _needed("vector", LargeBinary),
)

# What a chunk index has to follow: one row for each generation since version 5. `document` is its number, also when
# it is there no more; NULL where all vectors were replaced.
changes = Table(
    "changes",
    metadata,
    Column("generation", _NUMBER, primary_key=True, autoincrement=False),
    Column("document", _NUMBER),
    _needed("kind", _WORDS),
    CheckConstraint("kind IN ('added', 'deleted', 'described', 'embedded')", name="changes_kind"),
)

grades = Table(
    "grades", metadata, Column("key", _WORDS, primary_key=True), _needed("grade", _WORDS), sqlite_with_rowid=False
)

searches = Table(
    "searches",
    metadata,
    Column("key", _WORDS, primary_key=True),
    _needed("found_at", _WORDS),
    _needed("pages", _WORDS),
    sqlite_with_rowid=False,
)

runs = Table(
    "runs",
    metadata,
    _number_column(),
    _needed("id", _WORDS, unique=True),
    _needed("question", _WORDS),
    _needed("strategy", _WORDS),
    Column("action", _WORDS),
    _needed("started_at", _WORDS),
    _needed("seconds", _REAL),
    _needed("trace", _WORDS),
    _needed("events", _WORDS),
    _needed("via", _WORDS, server_default=text("''")),
    # So that the history is found among ten thousand runs of evaluations. `via` lies behind the texts of its row, which
    # SQLite would have to walk through; here it does not.
    Index(
        *("runs_asked", "number", "via", "id"),
        sqlite_where=text(ASKED["sqlite"]),
        postgresql_where=text(ASKED["postgresql"]),
    ),
    sqlite_autoincrement=True,
)

# What each run comes to in figures: `detail` is JSON of those that have no column. They go with their run.
facts = Table(
    "facts",
    metadata,
    Column(
        "run",
        _NUMBER,
        ForeignKey(runs.c.number, ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    *(_needed(name, _WORDS) for name in ("id", "started_at", "strategy", "via", "action", "outcome")),
    *(_needed(name, _WORDS) for name in ("evaluator", "scope")),
    *(Column(name, _REAL) for name in ("best", "upper", "lower")),
    *(_needed(name, Integer) for name in ("searches", "rewrites")),
    *(_needed(name, _REAL) for name in ("seconds", "waited")),
    Column("faithfulness", _REAL),
    _needed("detail", _WORDS),
)

# No call refers to a run by key: what was spent stays spent when a run is deleted.
calls = Table(
    "calls",
    metadata,
    _needed("run", _WORDS),
    _needed("at", _WORDS),
    _needed("step", _WORDS),
    _needed("provider", _WORDS),
    _needed("model", _WORDS),
    _needed("seconds", _REAL),
    Column("input_tokens", Integer),
    Column("output_tokens", Integer),
    _needed("failed", Integer),
    Index("calls_by_run", "run"),
    Index("calls_by_time", "at"),
)

# A question of 2,000 characters is too long for a key of PostgreSQL's: its hash stands for it there.
labels = Table(
    "labels",
    metadata,
    _needed("chunk", _WORDS, ForeignKey(chunks.c.id, ondelete="CASCADE")),
    _needed("question", _WORDS),
    _needed("label", _WORDS),
    _needed("at", _WORDS),
    PrimaryKeyConstraint("chunk", "question").ddl_if(dialect="sqlite"),
)
Index("labels_by_chunk", labels.c.chunk, func.md5(labels.c.question), unique=True).ddl_if(dialect="postgresql")

# What runs said of a chunk, counted once a run; `score_sum` is of its `graded` grades. Nothing of their questions.
tracks = Table(
    "tracks",
    metadata,
    Column(
        "chunk",
        _NUMBER,
        ForeignKey(chunks.c.number, ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    _needed("retrieved", Integer),
    _needed("used", Integer),
    _needed("graded", Integer),
    _needed("score_sum", _REAL),
    Column("last_score", _REAL),
    _needed("last_action", _WORDS),
    _needed("last_at", _WORDS),
    _needed("last_used", _WORDS),
)

# Documents that a purge took out, whole, until it can't be undone any more. `content` is JSON: their rows but for the
# bytes and the vectors, which `model` made.
purged = Table(
    "purged",
    metadata,
    Column("id", _WORDS, primary_key=True),
    _needed("name", _WORDS),
    _needed("at", _WORDS),
    _needed("reason", _WORDS),
    _needed("model", _WORDS),
    _needed("content", _WORDS),
    _needed("vectors", LargeBinary),
    _needed("bytes", LargeBinary),
)

question_sets = Table(
    "question_sets",
    metadata,
    Column("id", _WORDS, primary_key=True),
    _needed("name", _WORDS),
    _needed("kind", _WORDS),
    _needed("questions", Integer),
    _needed("problems", Integer),
    _needed("added_at", _WORDS),
    _needed("content", _WORDS),
)

evaluations = Table(
    "evaluations",
    metadata,
    _number_column(),
    _needed("id", _WORDS, unique=True),
    _needed("question_set", _WORDS, ForeignKey(question_sets.c.id, ondelete="CASCADE")),
    _needed("strategy", _WORDS),
    _needed("settings", _WORDS),
    _needed("parts", _WORDS),
    _needed("key", _WORDS),
    _needed("started_at", _WORDS),
    _needed("finished_at", _WORDS),
    Index("evaluations_by_set", "question_set"),
    sqlite_autoincrement=True,
)

# No result refers to a run by key: what was measured stays when a run is deleted.
results = Table(
    "results",
    metadata,
    Column("evaluation", _NUMBER, ForeignKey(evaluations.c.number, ondelete="CASCADE"), primary_key=True),
    Column("place", Integer, primary_key=True, autoincrement=False),
    _needed("row", _WORDS),
)

# Alembic's own table: which revision the others are of. It is written here too, for a library that is rebuilt.
revision = Table(
    "alembic_version",
    metadata,
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


VERSION = 9
"""The number of the layout, in SQLite's `user_version` and in the table `alembic_version`."""


def _fill(connection: Connection) -> None:
    connection.execute(insert(revision).values(version_num=str(VERSION)))
    values = {"library": uuid.uuid4().hex, "generation": "0", "model": "", "dimension": "0"}
    connection.execute(insert(meta), [{"key": key, "value": value} for key, value in values.items()])


LIBRARY = Layout(
    metadata=metadata,
    version=VERSION,
    version_table=revision,
    stored_version=select(revision.c.version_num),
    what="The library {}",
    fill=_fill,
)
