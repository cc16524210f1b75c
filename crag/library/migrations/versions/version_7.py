"""Version 7: how a run came in, for the history, in its index too."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "7"
down_revision = "6"

_SQLITE = f"id NOT GLOB '{'[0-9a-f]' * 16}-[0-9]*'"
_POSTGRESQL = "id !~ '^[0-9a-f]{16}-[0-9]'"


def upgrade() -> None:
    words = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.add_column("runs", sa.Column("via", words, nullable=False, server_default=sa.text("''")))
    op.drop_index("runs_asked", "runs", if_exists=True)
    op.create_index(
        *("runs_asked", "runs", ["number", "via", "id"]),
        sqlite_where=sa.text(_SQLITE),
        postgresql_where=sa.text(_POSTGRESQL),
    )
