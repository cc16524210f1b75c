"""Version 6: what a citation says of a chunk that stands on no printed page."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "6"
down_revision = "5"


def upgrade() -> None:
    words = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.add_column("chunks", sa.Column("place", words, nullable=False, server_default=sa.text("''")))
