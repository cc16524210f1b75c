"""Documents from the web: added by their addresses, looked at again, replaced whole or left as they were."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crag.core.config import AppConfig
from crag.core.ingesting import DocumentAdded, DocumentFailed, DocumentRefreshed, DuplicateFound
from crag.core.types import Document
from crag.engine import Engine
from crag.testing.fakes import ScriptedEvaluator
from tests.support.small_library import WordEmbedder, spread
from tests.support.web_pages import BRIDGE, Site, article
from tests.support.web_server import Reply, Server, serving

PUBLISHED = "<meta property='article:published_time' content='2024-03-01T10:00:00Z'>"
Ended = DocumentAdded | DocumentFailed | DocumentRefreshed | DuplicateFound


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serving(Site()) as server:
        yield server


@pytest.fixture
def site(running: Server) -> Site:
    site = Site(bridge=Reply(body=article(head=PUBLISHED), headers={"ETag": '"1"'}))
    running.anew(site)
    return site


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = an_engine(tmp_path)
    yield made
    made.close()


def an_engine(place: Path, **settings: object) -> Engine:
    config = AppConfig.model_validate({"data": place / "data", "private_addresses": True, **settings})
    return Engine(config, embedder=WordEmbedder(), evaluator=ScriptedEvaluator(score=spread))


def added(engine: Engine, *addresses: str) -> list[Ended]:
    return [event for event in engine.pages.add(addresses) if isinstance(event, Ended)]


def refreshed(engine: Engine, **how: object) -> list[Ended]:
    return [event for event in engine.pages.refresh(**how) if isinstance(event, Ended)]  # type: ignore[arg-type]


def held(engine: Engine) -> list[Document]:
    return engine.library().documents.all()


def test_a_page_is_added_with_its_title_date_and_address(engine: Engine, site: Site, running: Server) -> None:
    (event,) = added(engine, f"{running.address}/bridge#history")
    assert isinstance(event, DocumentAdded)
    (document,) = held(engine)
    assert document == event.document
    assert (document.title, document.url, document.kind) == ("The bridge", f"{running.address}/bridge", "html")
    assert document.name == f"127.0.0.1_{running.server_port} › bridge"
    assert (document.published, document.etag) == ("2024-03-01", '"1"')
    assert document.fetched_at == document.looked_at != "" and len(document.text_id) == 64
    fields = engine.library().documents.fields(document.id)
    assert (fields["source"], fields["date"]) == ("127.0.0.1", "2024-03-01")
    text = " ".join(chunk.text for chunk in engine.library().documents.chunks(document.id))
    assert all(paragraph in text for paragraph in BRIDGE) and "Imprint" not in text
    assert engine.library().search("when was the bridge opened", 1)[0].chunk.document_id == document.id
