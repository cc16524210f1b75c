"""Version 1, the oldest there is: documents, files, chunks, vectors, grades, runs and labels.

Nothing is done here: a library of that version has its tables, and a new one begins with the latest.
"""

from __future__ import annotations

revision = "1"
down_revision = None


def upgrade() -> None:
    """Nothing."""
