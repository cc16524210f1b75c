"""Taking a person's word on a chunk back: what `runs.save_label` stored is gone again."""

from __future__ import annotations

import sqlite3

__all__ = ["delete_label"]


def delete_label(connection: sqlite3.Connection, question: str, chunk_id: str) -> None:
    """Remove the label of a chunk for a question; nothing happens where there is none."""
    connection.execute("DELETE FROM labels WHERE chunk = ? AND question = ?", (chunk_id, question))
