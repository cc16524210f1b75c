"""Version 5: what a chunk index has to be told, and free fields of documents; words are that index's own affair now.

The first with a stamp.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "5"
down_revision = "4"


def upgrade() -> None:
    op.create_table(
        "changes",
        sa.Column("generation", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("document", sa.Integer),
        sa.Column("kind", sa.Text, nullable=False),
        sa.CheckConstraint("kind IN ('added', 'deleted', 'described', 'embedded')", name="changes_kind"),
    )
    op.add_column("documents", sa.Column("meta", sa.JSON, nullable=False, server_default=sa.text("'{}'")))
    for trigger in ("chunks_added", "chunks_removed"):
        op.execute(f"DROP TRIGGER {trigger}")
    op.execute("DROP TABLE chunk_search")
