"""Version 5: what a chunk index has to be told, and free fields of documents; words are that index's own affair now.

The first with a stamp.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

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
    if op.get_context().dialect.name != "sqlite":
        return  # nowhere else was there a full-text index in the records
    for trigger in ("chunks_added", "chunks_removed"):
        op.execute(f"DROP TRIGGER {trigger}")
    op.execute("DROP TABLE chunk_search")
