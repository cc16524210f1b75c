"""Version 8: what each run comes to in figures. Those of earlier runs are made when they are wanted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.types import TypeEngine

revision = "8"
down_revision = "7"


def upgrade() -> None:
    words = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    real: TypeEngine[float] = sa.Double().with_variant(sa.REAL(), "sqlite")
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    texts = ("id", "started_at", "strategy", "via", "action", "outcome", "evaluator", "scope")
    op.create_table(
        "facts",
        sa.Column(
            "run", number, sa.ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True, autoincrement=False
        ),
        *(sa.Column(name, words, nullable=False) for name in texts),
        *(sa.Column(name, real) for name in ("best", "upper", "lower")),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("searches", "rewrites")),
        *(sa.Column(name, real, nullable=False) for name in ("seconds", "waited")),
        sa.Column("faithfulness", real),
        sa.Column("detail", words, nullable=False),
    )
