"""Documents from the web: added by their addresses, looked at again, replaced whole or left as they were."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from crag.core.config import AppConfig
from crag.core.errors import SettingsError, StorageError
from crag.core.ingesting import DocumentAdded, DocumentFailed, DocumentRefreshed, DuplicateFound
from crag.core.protocols import RunRequest
from crag.core.types import Document
from crag.engine import Engine
from crag.pipeline.staleness import Stale
from crag.testing.fakes import ScriptedEvaluator
from tests.support.small_library import WordEmbedder, spread
from tests.support.small_pdf import small_pdf
from tests.support.web_pages import BRIDGE, Site, article
from tests.support.web_server import Reply, Request, Server, serving

pytestmark = pytest.mark.usefixtures("read_here")

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
    config = AppConfig.of(**{"data": place / "data", "private_addresses": True, **settings})
    return Engine(config, embedder=WordEmbedder(), evaluator=ScriptedEvaluator(score=spread))


def note(*paragraphs: str, etag: str = "") -> Reply:
    """A page of plain text: it is read faster than one of HTML."""
    return Reply(kind="text/plain", body="\n\n".join(paragraphs).encode(), headers={"ETag": etag} if etag else {})


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


LONG = tuple(
    " ".join(
        f"{name} {at} stands at the {side} bank and was built by the same masons in year {1800 + at}."
        for at in range(6)
    )
    for name, side in (("Pillar", "northern"), ("Tower", "southern"))
)


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (Reply(kind="application/pdf", body=small_pdf("The lighthouse was built of granite.")), "pdf", "granite"),
        (Reply(kind="text/html", body=small_pdf("The lighthouse was built of basalt.")), "pdf", "basalt"),
        (Reply(kind="text/plain", body=b"The ferry ran every hour."), "text", "ferry"),
        (Reply(kind="text/markdown", body=b"# Ferry\n\nThe ferry ran hourly."), "markdown", "hourly"),
        (Reply(kind="text/html", body=b"<p>No frame, and yet a page of text.</p>"), "html", "frame"),
        (
            Reply(kind="text/plain; charset=shift_jis", body="橋は1890年に開通した。".encode("shift_jis")),
            "text",
            "開通",
        ),
        (
            Reply(
                kind="text/html; charset=koi8-r",
                body=article("Мост открыт в 1890 году.", title="Мост").decode().encode("koi8-r"),
            ),
            "html",
            "открыт",
        ),
    ],
    ids=["pdf", "pdf called html", "text", "markdown", "fragment", "japanese", "russian"],
)
def test_what_is_served_is_read_as_what_it_is(
    engine: Engine, site: Site, running: Server, reply: Reply, kind: str, words: str
) -> None:
    site.pages["/it"] = reply
    (event,) = added(engine, f"{running.address}/it")
    assert isinstance(event, DocumentAdded), event
    assert event.document.kind == kind
    assert words in engine.library().documents.chunks(event.document.id)[0].text


def test_one_content_is_one_document_and_one_address_is_fetched_once(
    engine: Engine, site: Site, running: Server
) -> None:
    site.pages["/copy"] = Reply(body=article(head=PUBLISHED))
    first, second = added(engine, *[f"{running.address}/{name}" for name in ("bridge", "copy", "bridge#again")])
    assert isinstance(first, DocumentAdded) and isinstance(second, DuplicateFound)
    assert second.document == first.document
    (again,) = added(engine, f"{running.address}/bridge")
    assert isinstance(again, DocumentRefreshed) and again.found == "unchanged"
    assert len(held(engine)) == 1


BAD = {
    "gone": (Reply(status=404), "There is no page"),
    "broken": (Reply(status=500), "the server said 500"),
    "inner": (Reply(status=401), "sign in"),
    "forbidden": (Reply(status=403), "sign in"),
    "login": (
        Reply(body=article("Please sign in to go on.", "<form><input name=user><input type='password'></form>")),
        "asks for a password",
    ),
    "scripts": (Reply(body=b"<html><body><div id=app></div><script>fill()</script></body></html>"), "no main text"),
    "binary": (Reply(kind="application/octet-stream", body=bytes(range(256)) * 8), "nothing that can be read"),
    "giant": (Reply(headers={"Content-Length": "1000000000"}, ends="endless", body=b"x" * 65_536), "larger than 1 MB"),
    "endless": (Reply(ends="endless", body=b"x" * 65_536), "larger than 1 MB"),
    "elsewhere": (Reply(status=302, headers={"Location": "file:///etc/passwd"}), "not one of the web"),
    "circle": (Reply(status=302, headers={"Location": "/circle"}), "without end"),
}


@pytest.mark.slow
def test_what_can_not_be_had_is_said_and_the_others_are_added(tmp_path: Path, site: Site, running: Server) -> None:
    engine = an_engine(tmp_path, max_file_mb=1)
    site.pages |= {f"/{name}": reply for name, (reply, _) in BAD.items()}
    *failed, good = added(engine, *(f"{running.address}/{name}" for name in [*BAD, "bridge"]))
    assert isinstance(good, DocumentAdded) and held(engine) == [good.document]
    for event, (_, why) in zip(failed, BAD.values(), strict=True):
        assert isinstance(event, DocumentFailed) and why in event.message and event.remedy, event
    engine.close()


@pytest.mark.parametrize(
    "typed",
    [
        *("", "ftp://example.org/x", "example.org", "file:///etc/passwd", "javascript:alert(1)"),
        *("http://", "http://a:b@c/", "http://[::1", "http://a:99999/", "http://a\u202e.org/"),
    ],
)
def test_what_is_no_address_of_the_web_is_refused_unasked(engine: Engine, site: Site, typed: str) -> None:
    (event,) = added(engine, typed)
    assert isinstance(event, DocumentFailed) and "can't be added" in event.message and "https://" in event.remedy


def test_no_address_of_this_machine_is_fetched_unless_allowed(tmp_path: Path, site: Site, running: Server) -> None:
    engine = an_engine(tmp_path, private_addresses=False)
    (event,) = added(engine, f"{running.address}/bridge")
    assert isinstance(event, DocumentFailed) and "this machine" in event.message and "Settings" in event.remedy
    assert running.seen == [] and held(engine) == []
    engine.close()


def test_stop_ends_the_wait_and_each_page_left_is_said(engine: Engine, site: Site, running: Server) -> None:
    stop = threading.Event()

    def answer(request: Request) -> Reply:
        stop.set()
        return Reply(ends="hang")

    running.answer = answer
    events = list(engine.pages.add([f"{running.address}/{at}" for at in range(3)], cancel=stop))
    assert ["stopped" in event.message for event in events if isinstance(event, DocumentFailed)] == [True] * 3


def test_another_frame_around_the_same_text_is_no_change(engine: Engine, site: Site, running: Server) -> None:
    (first,) = added(engine, f"{running.address}/bridge")
    moved = article(head=PUBLISHED).replace(b"Imprint", b"Imprint and visitors: 17")
    site.pages["/bridge"] = Reply(body=moved, headers={"ETag": '"2"', "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"})
    (event,) = refreshed(engine)
    assert isinstance(first, DocumentAdded)
    assert isinstance(event, DocumentRefreshed) and event.found == "unchanged"
    (document,) = held(engine)
    assert (document.id, document.etag) == (first.document.id, '"2"')
    assert document.last_modified == "Mon, 01 Jan 2024 00:00:00 GMT"


class TestAgain:
    """A page that was added is looked at again."""

    @pytest.fixture(autouse=True)
    def one_page(self, engine: Engine, site: Site, running: Server) -> Document:
        site.pages["/bridge"] = note(*BRIDGE, etag='"1"')
        (event,) = added(engine, f"{running.address}/bridge")
        assert isinstance(event, DocumentAdded)
        running.seen.clear()
        return event.document

    def test_what_the_server_says_is_unchanged_is_not_sent_again(
        self, engine: Engine, running: Server, one_page: Document
    ) -> None:
        (event,) = refreshed(engine)
        assert isinstance(event, DocumentRefreshed) and event.found == "unchanged"
        assert running.seen[0].headers["If-None-Match"] == '"1"'
        assert held(engine) == [event.document] and event.document.id == one_page.id

    def test_a_changed_page_takes_the_old_one_s_place_and_what_was_given_to_it(
        self, engine: Engine, site: Site, running: Server, one_page: Document
    ) -> None:
        site.pages["/bridge"] = note(*LONG)
        (first,) = refreshed(engine)
        assert isinstance(first, DocumentRefreshed) and first.found == "replaced"
        library = engine.library()
        library.documents.describe(first.document.id, {"tags": ("rail",), "verified": True, "confidence": 0.5})
        north, south = library.documents.chunks(first.document.id)
        for chunk in (north, south):
            library.labels.save("Who built it?", chunk.id, "relevant")
        asked = engine.answer(RunRequest("Which pillar stands at the northern bank?", "plain-rag"))
        assert asked.citations
        site.pages["/bridge"] = note(LONG[0], LONG[1].replace("southern", "western"))
        (event,) = refreshed(engine)
        assert isinstance(event, DocumentRefreshed) and event.found == "replaced"
        assert (event.lost_labels, event.lost_records, event.lost_verified) == (1, 1, True)
        (document,) = held(engine)
        assert document == event.document and document.earlier == (first.document.id, one_page.id)
        assert library.documents.given()[document.id] == {"tags": ("rail",), "confidence": 0.5}
        kept, _ = library.documents.chunks(document.id)
        assert [label.chunk_id for label in library.labels.all()] == [kept.id]
        assert library.documents.chunk_tracks(document.id).keys() == {kept.id}
        assert "western" in " ".join(found.chunk.text for found in library.search("western bank", 5))
        assert {found.chunk.document_id for found in library.search("bank", 5)} == {document.id}
        assert engine.stale(ids=[first.document.id]) == {
            first.document.id: (Stale("replaced", document.fetched_at[:10]),)
        }

    @pytest.mark.parametrize(
        ("reply", "found"),
        [
            (Reply(status=410), "gone"),
            (Reply(status=403), "refused"),
            (Reply(status=503), "unreachable"),
            (Reply(ends="closed"), "unreachable"),
            (Reply(body=b"\0\1\2" * 99), "unreadable"),
        ],
    )
    def test_what_does_not_come_or_can_not_be_read_is_noted_and_nothing_is_lost(
        self, engine: Engine, site: Site, one_page: Document, reply: Reply, found: str
    ) -> None:
        before, site.pages["/bridge"] = site.pages["/bridge"], reply
        (event,) = refreshed(engine)
        assert isinstance(event, DocumentRefreshed) and event.found == found and event.message
        (document,) = held(engine)
        assert (document.id, document.look, document.fetched_at) == (one_page.id, found, one_page.fetched_at)
        assert engine.library().documents.file(document.id)
        (stale,) = engine.stale()[document.id]
        assert (stale.reason, stale.since, stale.looked) == (found, one_page.fetched_at[:10], document.looked_at[:10])
        site.pages["/bridge"] = before
        refreshed(engine)
        assert engine.stale() == {} and held(engine)[0].look == ""

    def test_a_page_that_became_another_one_is_left_beside_it(
        self, engine: Engine, site: Site, running: Server
    ) -> None:
        site.pages["/ferry"] = note("The ferry ran every hour.")
        added(engine, f"{running.address}/ferry")
        site.pages["/bridge"] = site.pages["/ferry"]
        found = [event.found for event in refreshed(engine) if isinstance(event, DocumentRefreshed)]
        assert found == ["duplicate", "unchanged"] and len(held(engine)) == 2

    def test_a_dry_run_notes_the_change_and_replaces_nothing(
        self, engine: Engine, site: Site, one_page: Document
    ) -> None:
        site.pages["/bridge"] = note(*LONG, etag='"2"')
        (event,) = refreshed(engine, dry_run=True)
        assert isinstance(event, DocumentRefreshed) and event.found == "changed"
        (document,) = held(engine)
        assert (document.id, document.etag, document.look) == (one_page.id, '"1"', "changed")
        assert [each.reason for each in engine.stale()[document.id]] == ["changed"]
        (event,) = refreshed(engine)
        assert isinstance(event, DocumentRefreshed) and event.found == "replaced" and engine.stale() == {}

    def test_where_the_new_text_can_not_be_stored_the_old_one_stays(
        self, engine: Engine, site: Site, one_page: Document, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        site.pages["/bridge"] = note(*LONG)

        def broken(new: object) -> object:
            raise StorageError("The disk broke.")

        monkeypatch.setattr(engine.library().documents, "store", broken)
        (event,) = refreshed(engine)
        assert isinstance(event, DocumentFailed) and "broke" in event.message
        assert [document.id for document in held(engine)] == [one_page.id]

    def test_the_hourly_round_looks_at_old_ones_where_that_is_chosen(
        self, engine: Engine, site: Site, one_page: Document
    ) -> None:
        library = engine.library()
        library.documents.note(one_page.id, looked_at="2026-01-01T00:00:00+00:00")
        site.pages["/bridge"] = Reply(status=404)
        engine.tidy(threading.Event())
        assert library.documents.get(one_page.id).look == ""
        engine.reconfigure(engine.config.changed(refresh="7d"))
        engine.tidy(threading.Event())
        assert library.documents.get(one_page.id).look == "gone"


def test_how_old_a_look_may_become_is_checked_at_once() -> None:
    with pytest.raises(SettingsError, match="is no number of days"):
        AppConfig.of(refresh="soon")
    assert AppConfig.of(refresh=" 2w ").storage.refresh_days == 14
