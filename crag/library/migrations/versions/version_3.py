"""Version 3: question sets, evaluations and their results."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "3"
down_revision = "2"


def upgrade() -> None:
    op.create_table(
        "question_sets",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("questions", sa.Integer, nullable=False),
        sa.Column("problems", sa.Integer, nullable=False),
        sa.Column("added_at", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
    )
    op.create_table(
        "evaluations",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("question_set", sa.Text, sa.ForeignKey("question_sets.id", ondelete="CASCADE"), nullable=False),
        sa.Column("strategy", sa.Text, nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("parts", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("started_at", sa.Text, nullable=False),
        sa.Column("finished_at", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("evaluations_by_set", "evaluations", ["question_set"])
    op.create_table(
        "results",
        sa.Column("evaluation", sa.Integer, sa.ForeignKey("evaluations.number", ondelete="CASCADE"), primary_key=True),
        sa.Column("place", sa.Integer, primary_key=True),
        sa.Column("row", sa.Text, nullable=False),
    )
