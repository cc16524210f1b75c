"""Version 4: an index of the runs that a person asked for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "4"
down_revision = "3"

_ASKED = f"id NOT GLOB '{'[0-9a-f]' * 16}-[0-9]*'"


def upgrade() -> None:
    op.create_index("runs_asked", "runs", ["number"], sqlite_where=sa.text(_ASKED))
