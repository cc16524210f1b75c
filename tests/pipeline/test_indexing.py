"""Files on their way into a library: stored in few steps, found by words at once, embedded across files."""

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crag.core.config import AppConfig
from crag.core.errors import CragError, ProviderError
from crag.core.ingesting import DocumentAdded, DocumentFailed, DuplicateFound, Embedding, EmbeddingFailed, IngestEvent
from crag.core.protocols import SearchQuery
from crag.pipeline.embedding import embed_missing
from crag.pipeline.indexing import Indexer
from crag.runtime.fair_queue import FairQueue
from crag.storage.library import Library
from tests.support.eventually import eventually
from tests.support.library_makers import HashEmbedder


class Server(HashEmbedder):
    """An embedder that counts its calls, waits until it may, and may fail."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[int] = []
        self.may, self.fails = threading.Event(), False
        self.may.set()

    def embed(self, texts: Sequence[str]) -> Any:
        self.may.wait()
        if self.fails:
            raise ProviderError("The server is down.", "Start it.")
        self.calls.append(len(texts))
        return super().embed(texts)


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def library(tmp_path: Path, server: Server) -> Iterator[Library]:
    with Library(tmp_path / "library", server) as opened:
        yield opened


def _notes(count: int) -> list[tuple[str, Any]]:
    texts = [f"Note {at} tells of lantern{at} and the quay." for at in range(count)]
    return [(f"{at}.txt", text.encode) for at, text in enumerate(texts)]


def _index(
    library: Library, server: Server, files: Any, cancel: threading.Event | None = None
) -> Iterator[IngestEvent]:
    indexer = Indexer(
        library=library,
        embedder=server,
        config=AppConfig(),
        readers=FairQueue(2),
        cancel=cancel or threading.Event(),
    )
    return indexer.index(files)


def test_many_small_files_take_few_commits_and_few_calls(library: Library, server: Server) -> None:
    commits = []
    store = library.documents.store

    def counted(new: Any) -> Any:
        commits.append(len(new))
        return store(new)

    library.documents.store = counted  # type: ignore[method-assign]
    events = list(_index(library, server, _notes(30)))
    assert [event.name for event in events if isinstance(event, DocumentAdded)] == [f"{at}.txt" for at in range(30)]
    assert sum(commits) == 30 and len(commits) <= 1 + _seconds(events), commits
    assert sum(server.calls) == 30 and len(server.calls) < 15, server.calls
    assert not library.unembedded.count() and not library.verify()


def _seconds(events: list[IngestEvent]) -> int:
    return 1 + int(sum(event.document.seconds for event in events if isinstance(event, DocumentAdded)))


def test_a_document_can_be_asked_before_its_vectors_are_made(library: Library, server: Server) -> None:
    server.may.clear()
    events = _index(library, server, _notes(2))
    added = [event for event in (next(events), next(events), next(events), next(events)) if _is_end(event)]
    while len(added) < 2:
        added += [event for event in [next(events)] if _is_end(event)]
    assert library.unembedded.missing() == 2
    found = library.documents.all()
    assert [each.name for each in found] == ["0.txt", "1.txt"]
    query = SearchQuery("lantern1", 5, mode="bm25")
    asked = threading.Thread(target=lambda: server.may.wait(0.2) or server.may.set())
    asked.start()
    assert [hit.chunk.source for hit in library.find(query)] == ["1.txt"]
    asked.join()
    assert any(isinstance(event, Embedding) for event in events) and not library.unembedded.count()


def _is_end(event: IngestEvent) -> bool:
    return isinstance(event, DocumentAdded)


def test_one_bad_file_touches_no_other(library: Library, server: Server) -> None:
    twice = b"The same words in two files."
    files = [("a.txt", lambda: twice), ("bad.pdf", lambda: b"%PDF-1.4 broken"), ("b.txt", lambda: twice), *_notes(2)]
    ends = [event for event in _index(library, server, files) if not isinstance(event, Embedding)]
    kinds = [type(event) for event in ends if isinstance(event, DocumentAdded | DocumentFailed | DuplicateFound)]
    assert kinds == [DocumentAdded, DocumentFailed, DuplicateFound, DocumentAdded, DocumentAdded]


def test_where_a_step_can_not_be_stored_each_file_is_stored_by_itself(library: Library, server: Server) -> None:
    store = library.documents.store

    def full(new: Any) -> Any:
        if any(each.document.name == "1.txt" for each in new):
            raise CragError("There is no room.", "Make room.")
        return store(new)

    library.documents.store = full  # type: ignore[method-assign]
    ends = [event for event in _index(library, server, _notes(3)) if not isinstance(event, Embedding)]
    assert [type(event) for event in ends if event.kind in ("document_added", "document_failed")] == [
        DocumentAdded,
        DocumentFailed,
        DocumentAdded,
    ]


def test_where_no_vectors_can_be_made_documents_stay_and_say_why_until_they_are(
    library: Library, server: Server
) -> None:
    server.fails = True
    *_, last = _index(library, server, _notes(3))
    assert isinstance(last, EmbeddingFailed) and (last.message, last.remedy) == ("The server is down.", "Start it.")
    assert {each.why for each in library.unembedded.standing().values()} == {"The server is down."}
    assert library.documents.count() == 3
    server.fails = False
    list(_index(library, server, []))
    assert not library.unembedded.count() and not library.verify()


def test_stop_keeps_what_is_stored_and_the_next_job_goes_on(library: Library, server: Server) -> None:
    server.may.clear()
    cancel = threading.Event()
    events = _index(library, server, _notes(40), cancel)
    assert any(isinstance(event, DocumentAdded) for event in events)
    cancel.set()
    server.may.set()
    ended = list(events)
    stored = library.documents.count()
    assert stored and isinstance(ended[-1], EmbeddingFailed | DocumentAdded | DocumentFailed)
    waiting = library.unembedded.standing()
    assert waiting and {each.why for each in waiting.values()} == {"Making the vectors was stopped."}
    list(embed_missing(library, server, threading.Event()))
    assert not library.unembedded.count() and library.documents.count() == stored


def test_who_closes_the_events_ends_the_job(library: Library, server: Server) -> None:
    events = _index(library, server, _notes(40))
    next(events)
    began = time.monotonic()
    events.close()  # type: ignore[attr-defined]
    assert time.monotonic() - began < 20 and library.documents.count() <= 40
    eventually(lambda: not {each.name for each in threading.enumerate()} & {"vectors-job", "crag-read"})


def test_a_batch_grows_while_the_embedder_is_quick(library: Library, server: Server) -> None:
    for at in range(3):
        list(_index(library, server, _notes(at * 60 + 60)[at * 60 :]))
    assert max(server.calls) > 16 and np.sum(server.calls) == 180
