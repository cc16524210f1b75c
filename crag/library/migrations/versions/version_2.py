"""Version 2: remembered web searches, and the calls to outside services."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"


def upgrade() -> None:
    op.create_table(
        "searches",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("found_at", sa.Text, nullable=False),
        sa.Column("pages", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "calls",
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("step", sa.Text, nullable=False),
        sa.Column("provider", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("seconds", sa.REAL, nullable=False),
        sa.Column("input_tokens", sa.Integer),
        sa.Column("output_tokens", sa.Integer),
        sa.Column("failed", sa.Integer, nullable=False),
    )
    op.create_index("calls_by_run", "calls", ["run"])
    op.create_index("calls_by_time", "calls", ["at"])
