"""What is said of where documents are kept: hosts, and never an address that may hold a password."""

from __future__ import annotations

import pytest

from crag.core.config import AppConfig
from crag.messages.providers import describe_storage


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (AppConfig(), ["SQLite, on this machine", "FAISS and tantivy, on this machine"]),
        (
            AppConfig.of(
                database_url="postgresql+psycopg://me:secret@db.example:5432/crag",
                index="milvus",
                milvus_uri="https://cluster.example:19530",
            ),
            ["PostgreSQL, at db.example", "Milvus, at cluster.example"],
        ),
        (
            AppConfig.of(index="milvus", milvus_uri="index.db"),
            ["SQLite, on this machine", "Milvus Lite, on this machine"],
        ),
    ],
)
def test_where_documents_are_kept_is_told_without_addresses(config: AppConfig, said: list[str]) -> None:
    assert [status.detail for status in describe_storage(config)] == said
