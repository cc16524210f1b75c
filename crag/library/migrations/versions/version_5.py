"""Version 5: what a chunk index has to be told, documents' free fields, chunks' track records, and what was purged.

Words are that index's own affair now. The first with a stamp.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.types import TypeEngine

revision = "5"
down_revision = "4"


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "changes",
        sa.Column("generation", number, primary_key=True, autoincrement=False),
        sa.Column("document", number),
        sa.Column("kind", sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), nullable=False),
        sa.CheckConstraint("kind IN ('added', 'deleted', 'described', 'embedded')", name="changes_kind"),
    )
    op.add_column("documents", sa.Column("meta", sa.JSON(), nullable=False, server_default=sa.text("'{}'")))
    words = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    real: TypeEngine[float] = sa.Double().with_variant(sa.REAL(), "sqlite")
    op.create_table(
        "tracks",
        sa.Column(
            "chunk",
            number,
            sa.ForeignKey("chunks.number", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("retrieved", "used", "graded")),
        sa.Column("score_sum", real, nullable=False),
        sa.Column("last_score", real),
        *(sa.Column(name, words, nullable=False) for name in ("last_action", "last_at", "last_used")),
    )
    op.create_table(
        "purged",
        sa.Column("id", words, primary_key=True),
        *(sa.Column(name, words, nullable=False) for name in ("name", "at", "reason", "model", "content")),
        *(sa.Column(name, sa.LargeBinary(), nullable=False) for name in ("vectors", "bytes")),
    )
    if op.get_context().dialect.name != "sqlite":
        return  # nowhere else was there a full-text index in the records
    for trigger in ("chunks_added", "chunks_removed"):
        op.execute(f"DROP TRIGGER {trigger}")
    op.execute("DROP TABLE chunk_search")
