"""Chroma, in memory: corrected like any store, and no address but this machine's is ever asked for."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crag.core.errors import RetrieverError
from crag.core.protocols import RunRequest
from crag.engine import Engine
from crag.integrations.langchain.runs import CragEmbeddings, retriever_of
from tests.support.foreign_stores import QUESTION, documents, holds_of_a_run, small_engine


class Reached:
    """The addresses that this process connects to or looks up, while it listens."""

    def __init__(self) -> None:
        self.listening, self.addresses = False, list[str]()
        sys.addaudithook(self._heard)

    def _heard(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.listening:
            return
        if event in ("socket.connect", "socket.sendto"):
            address = args[1]
            self.addresses.append(str(address[0] if isinstance(address, tuple) else address))
        elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
            self.addresses.append(str(args[0]))


@pytest.fixture(scope="module")
def reached() -> Reached:
    return Reached()


@pytest.fixture
def engine(tmp_path: Path, reached: Reached) -> Iterator[Engine]:
    made = small_engine(tmp_path / "data")
    reached.listening = True
    yield made
    reached.listening = False
    made.close()
    assert set(reached.addresses) <= {"127.0.0.1", "::1", "localhost"}


def test_a_run_over_chroma(engine: Engine) -> None:
    # Here, not above: every worker collects this file, and it takes half a second to load.
    chroma = pytest.importorskip("langchain_chroma", reason="pip install -r requirements/dev.txt")
    import chromadb
    from chromadb.config import Settings

    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    store = chroma.Chroma("reports", CragEmbeddings(engine), client=client)
    store.add_documents(documents())
    holds_of_a_run(engine, store, {"filter": {"tenant": "one"}})

    with pytest.raises(RetrieverError, match=r"Chroma failed"):
        engine.trace(
            RunRequest(
                QUESTION, retriever=retriever_of(store.as_retriever(search_kwargs={"filter": {"$no": "filter"}}))
            )
        )
    client.delete_collection("reports")
    with pytest.raises(RetrieverError, match=r"Chroma failed"):
        engine.trace(RunRequest(QUESTION, retriever=retriever_of(store)))
