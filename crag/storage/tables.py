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
    """A row's number, given by the database and never used twice, so that the log of changes names one row for good.

    SQLite needs `sqlite_autoincrement` on the table for that.
    """
    return Column("number", _NUMBER, Identity(), primary_key=True)


def _needed(name: str, type: Any, *rest: Any, **options: Any) -> Column[Any]:
    return Column(name, type, *rest, nullable=False, **options)


def _texts(*names: str) -> list[Column[Any]]:
    return [_needed(name, _WORDS) for name in names]


def _integers(*names: str) -> list[Column[Any]]:
    return [_needed(name, Integer) for name in names]


def _reals(*names: str) -> list[Column[Any]]:
    return [_needed(name, _REAL) for name in names]


def _key_of(name: str, of: Column[Any]) -> Column[Any]:
    """The key of a table that has at most one row for each of another's, and loses it with that one."""
    return Column(name, _NUMBER, ForeignKey(of, ondelete="CASCADE"), primary_key=True, autoincrement=False)


def _key_value_table(name: str, *columns: Column[Any]) -> Table:
    return Table(name, metadata, Column("key", _WORDS, primary_key=True), *columns, sqlite_with_rowid=False)


# What the library itself is: `library`, its own id; `generation`, which counts changes of documents and vectors;
# `model` and `dimension` of the vectors. `in flight …`: unfinished work; `configuration …`: what
# was saved under a name.
meta = _key_value_table("meta", *_texts("value"))

documents = Table(
    "documents",
    metadata,
    _number_column(),
    _needed("id", _WORDS, unique=True),
    *_texts("name", "title", "card", "added_at"),
    *_reals("confidence"),
    *_texts("model", "record"),
    # As text: PostgreSQL's own form of it would return a number of 1e22 as an integer.
    _needed("meta", JSON(), server_default=text("'{}'")),
    sqlite_autoincrement=True,
)

# A table of their own: listing documents must not walk through the bytes.
files = Table("files", metadata, _key_of("document", documents.c.number), _needed("bytes", LargeBinary))

chunks = Table(
    "chunks",
    metadata,
    _number_column(),
    _needed("id", _WORDS, unique=True),
    _needed("document", _NUMBER, ForeignKey(documents.c.number, ondelete="CASCADE")),
    *_integers("ordinal", "page", "start", "end"),
    *_texts("text", "context", "kind", "lines", "place", "tables"),
    Index("chunks_by_document", "document", "ordinal"),
    sqlite_autoincrement=True,
)

vectors = Table("vectors", metadata, _key_of("chunk", chunks.c.number), _needed("vector", LargeBinary))

# The documents whose chunks don't all have a vector yet, and `why` no more are made; empty while they are.
unembedded = Table("unembedded", metadata, _key_of("document", documents.c.number), *_texts("why"))

# What a chunk index has to follow: one row for each generation. `document` is its number, also after it was deleted;
# NULL where all vectors were replaced. "embedded": its vectors came after its words.
changes = Table(
    "changes",
    metadata,
    Column("generation", _NUMBER, primary_key=True, autoincrement=False),
    Column("document", _NUMBER),
    *_texts("kind"),
    CheckConstraint("kind IN ('added', 'deleted', 'described', 'embedded')", name="changes_kind"),
)

grades = _key_value_table("grades", *_texts("grade"))
# Why, in words that may quote a document or a question: all go when one of these does, and no grade is paid for again.
reasons = _key_value_table("reasons", *_texts("reason"))
searches = _key_value_table("searches", *_texts("found_at", "pages"))

# Ordered by number, which a clock that is set back does not turn around.
conversations = Table(
    "conversations",
    metadata,
    _number_column(),
    _needed("id", _WORDS, unique=True),
    *_texts("title", "created_at"),
    sqlite_autoincrement=True,
)

# `conversation` is the id of one.
runs = Table(
    "runs",
    metadata,
    _number_column(),
    _needed("id", _WORDS, unique=True),
    *_texts("question", "strategy"),
    Column("action", _WORDS),
    *_texts("started_at"),
    *_reals("seconds"),
    *_texts("trace", "events"),
    _needed("via", _WORDS, server_default=text("''")),
    Column("conversation", _WORDS),
    Index("runs_of_conversation", "conversation", "number"),
    # Finds the history among ten thousand runs of evaluations. `via` lies behind the texts of its row, which SQLite
    # would have to walk through; in the index it does not.
    Index(
        *("runs_asked", "number", "via", "id"),
        sqlite_where=text(ASKED["sqlite"]),
        postgresql_where=text(ASKED["postgresql"]),
    ),
    sqlite_autoincrement=True,
)

# The figures of each run: `detail` is JSON of those that have no column. They are deleted with their run.
facts = Table(
    "facts",
    metadata,
    _key_of("run", runs.c.number),
    *_texts("id", "started_at", "strategy", "via", "action", "outcome", "evaluator", "scope"),
    *(Column(name, _REAL) for name in ("best", "upper", "lower")),
    *_integers("searches", "rewrites"),
    *_reals("seconds", "waited"),
    Column("faithfulness", _REAL),
    *_texts("detail"),
)

# No call refers to a run by key: what was spent stays spent when a run is deleted.
calls = Table(
    "calls",
    metadata,
    *_texts("run", "at", "step", "provider", "model"),
    *_reals("seconds"),
    Column("input_tokens", Integer),
    Column("output_tokens", Integer),
    *_integers("failed"),
    Index("calls_by_run", "run"),
    Index("calls_by_time", "at"),
)

# A question of 2,000 characters is too long for a key in PostgreSQL: its hash stands for it there.
labels = Table(
    "labels",
    metadata,
    _needed("chunk", _WORDS, ForeignKey(chunks.c.id, ondelete="CASCADE")),
    *_texts("question", "label", "at"),
    PrimaryKeyConstraint("chunk", "question").ddl_if(dialect="sqlite"),
)
Index("labels_by_chunk", labels.c.chunk, func.md5(labels.c.question), unique=True).ddl_if(dialect="postgresql")

# What runs said of a chunk, counted once a run; `score_sum` is of its `graded` grades. Their questions are not in it.
tracks = Table(
    "tracks",
    metadata,
    _key_of("chunk", chunks.c.number),
    *_integers("retrieved", "used", "graded"),
    *_reals("score_sum"),
    Column("last_score", _REAL),
    *_texts("last_action", "last_at", "last_used"),
)

# Documents that a purge took out, whole, until it can't be undone any more. `content` is JSON: their rows but for the
# bytes and the vectors, which `model` made.
purged = Table(
    "purged",
    metadata,
    Column("id", _WORDS, primary_key=True),
    *_texts("name", "at", "reason", "model", "content"),
    _needed("vectors", LargeBinary),
    _needed("bytes", LargeBinary),
)

question_sets = Table(
    "question_sets",
    metadata,
    Column("id", _WORDS, primary_key=True),
    *_texts("name", "kind"),
    *_integers("questions", "problems"),
    *_texts("added_at", "content"),
)

evaluations = Table(
    "evaluations",
    metadata,
    _number_column(),
    _needed("id", _WORDS, unique=True),
    _needed("question_set", _WORDS, ForeignKey(question_sets.c.id, ondelete="CASCADE")),
    *_texts("strategy", "settings", "parts", "key", "started_at", "finished_at"),
    Index("evaluations_by_set", "question_set"),
    sqlite_autoincrement=True,
)

# No result refers to a run by key: what was measured stays when a run is deleted.
results = Table(
    "results",
    metadata,
    Column("evaluation", _NUMBER, ForeignKey(evaluations.c.number, ondelete="CASCADE"), primary_key=True),
    Column("place", Integer, primary_key=True, autoincrement=False),
    *_texts("row"),
)

# Alembic's own table: which revision the others are of. It is written here too, for a library that is rebuilt.
revision = Table(
    "alembic_version",
    metadata,
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


VERSION = 11
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
