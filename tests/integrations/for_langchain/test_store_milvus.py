"""Milvus Lite, in a file: corrected like any store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crag.core.errors import RetrieverError
from crag.core.protocols import RunRequest
from crag.engine import Engine
from crag.integrations.langchain.runs import CragEmbeddings, retriever_of
from tests.support.foreign_stores import QUESTION, documents, holds_of_a_run, small_engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = small_engine(tmp_path / "data")
    yield made
    made.close()


def test_a_run_over_milvus(engine: Engine, tmp_path: Path) -> None:
    # Here, not above: every worker collects this file.
    milvus = pytest.importorskip("langchain_milvus", reason="pip install -r requirements/dev.txt")
    store = milvus.Milvus(
        CragEmbeddings(engine),
        connection_args={"uri": str(tmp_path / "milvus.db")},
        index_params={"index_type": "FLAT", "metric_type": "COSINE"},
        consistency_level="Strong",
        enable_dynamic_field=True,
    )
    given = documents()
    store.add_documents(given, ids=[str(document.id) for document in given])
    try:
        holds_of_a_run(engine, store, {"expr": 'tenant == "one"'})
        with pytest.raises(RetrieverError, match=r"Milvus failed"):
            engine.trace(RunRequest(QUESTION, retriever=retriever_of(store, search_kwargs={"expr": "tenant === ("})))
    finally:
        store.client.close()
