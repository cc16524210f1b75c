"""Version 7: how a run came in, for the history."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "7"
down_revision = "6"


def upgrade() -> None:
    words = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.add_column("runs", sa.Column("via", words, nullable=False, server_default=sa.text("''")))
