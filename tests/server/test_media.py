"""Pictures and downloads are given to those alone for whom they were made: over a real server, and by what decides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from crag.core.config import AppConfig
from crag.core.errors import AccessError, StorageError
from tests.support.app_server import ROOT, Served, serving
from ui.app import media
from ui.app.media import COOKIE, KeptMedia, OwnedMedia, Owner, Owners, file_of
from ui.server import start

ANNA, BEN = "A" * 32, "B" * 32


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("media")
    script = ROOT / "tests" / "support" / "media_app.py"
    with serving(folder, script, CRAG_WORKSPACES="private") as found:
        yield found


@contextmanager
def tab(url: str, browser: str, shade: int) -> Iterator[tuple[Any, list[ForwardMsg]]]:
    """A browser's tab, its page drawn: the open socket, and all that came."""
    asked = BackMsg()
    asked.rerun_script.query_string = f"shade={shade}"
    address = url.replace("http://", "ws://") + "/_stcore/stream"
    headers = {"cookie": f"{COOKIE}={browser}"} if browser else {}
    protocols = [Subprotocol("streamlit")]
    with connect(
        address, origin=Origin(url), subprotocols=protocols, additional_headers=headers, max_size=None
    ) as socket:
        socket.send(asked.SerializeToString())
        yield socket, until(socket, "script_finished")


def until(socket: Any, kind: str) -> list[ForwardMsg]:
    received: list[ForwardMsg] = []
    while not received or received[-1].WhichOneof("type") != kind:
        message = ForwardMsg()
        message.ParseFromString(socket.recv(timeout=60))
        received.append(message)
    return received


def address(received: list[ForwardMsg]) -> str:
    [found] = set(re.findall(r"/media/[0-9a-f]+\.png", "\n".join(map(str, received))))
    return found


def get(url: str, browser: str = "", **headers: str) -> httpx.Response:
    cookies = {"cookie": f"other={{bad; {COOKIE}={browser}"} if browser else {}
    return httpx.get(url, headers={**cookies, **headers}, trust_env=False, timeout=30)


def told(answer: httpx.Response) -> tuple[Any, ...]:
    """All of an answer that a browser could tell another by, but its date."""
    return answer.status_code, answer.content, sorted(name for name in answer.headers if name != "set-cookie")


def test_a_picture_is_its_browser_s_and_to_others_a_file_that_is_not_there(served: Served) -> None:
    with tab(served.url, ANNA, 7) as (_, drawn):
        found = served.url + address(drawn)
        mine = get(found, ANNA)
        assert mine.status_code == 200 and mine.content.startswith(b"\x89PNG")
        assert mine.headers["cache-control"] == "private"
        assert get(found, ANNA, range="bytes=0-3").content == b"\x89PNG"
        unknown = get(f"{served.url}/media/{'0' * 64}.png", ANNA)
        assert unknown.status_code == 404
        for browser in (BEN, "", "A" * 31):
            refused = get(found, browser)
            assert told(refused) == told(get(f"{served.url}/media/{'0' * 64}.png", browser))
            assert refused.content == unknown.content and b"PNG" not in refused.content
        assert httpx.head(found, trust_env=False).status_code == 404
        with tab(served.url, BEN, 7) as (_, also):
            assert address(also) == address(drawn), "the same picture has the same address"
            assert get(found, BEN).status_code == 200 and get(found, ANNA).status_code == 200


def test_a_tab_that_lost_its_connection_or_was_drawn_anew_keeps_its_pictures(served: Served) -> None:
    with tab(served.url, ANNA, 21) as (socket, drawn):
        found = served.url + address(drawn)
        again = BackMsg()
        again.rerun_script.query_string = "shade=21"
        socket.send(again.SerializeToString())
        until(socket, "script_finished")
        assert get(found, ANNA).status_code == 200
    assert get(found, ANNA).status_code == 200 and get(found, BEN).status_code == 404


def test_a_download_made_at_a_click_is_its_browser_s(served: Served) -> None:
    with tab(served.url, ANNA, 9) as (socket, drawn):
        placeholder = re.search(r'deferred_file_id: "([0-9a-f]+)"', "\n".join(map(str, drawn)))
        assert placeholder is not None
        asked = BackMsg()
        asked.backend_operation_request.request_id = "1"
        [said] = [each.new_session.initialize for each in drawn if each.WhichOneof("type") == "new_session"]
        asked.backend_operation_request.session_id = said.session_id
        asked.backend_operation_request.deferred_file.file_id = placeholder[1]
        socket.send(asked.SerializeToString())
        answer = until(socket, "backend_operation_response")[-1].backend_operation_response
        found = served.url + answer.deferred_file.url
        assert get(found, ANNA).text == "words of 9" and get(found, BEN).status_code == 404


def test_a_browser_is_given_its_cookie_once_and_hidden_from_scripts(served: Served) -> None:
    given = [each for each in get(served.url).headers.get_list("set-cookie") if each.startswith(COOKIE)]
    assert len(given) == 1 and "HttpOnly" in given[0] and "SameSite=Lax" in given[0]
    name = given[0].partition("=")[2].partition(";")[0]
    assert not [each for each in get(served.url, name).headers.get_list("set-cookie") if each.startswith(COOKIE)]
    assert media.cookie(f"{COOKIE}=short", path="", framed=True).endswith("SameSite=None; Secure; Partitioned")


def test_with_one_library_for_all_nothing_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.access.workspaces.reachable", lambda: False)
    rules = start.rules(AppConfig.of(data=tmp_path))
    assert rules.media is None and rules.cookies == ()
    assert start.rules(AppConfig.of(data=tmp_path, workspaces="private")).media is not None


class Person:
    def __init__(self, id: str, role: str = "viewer") -> None:
        self.id, self.role = id, role


class Engine:
    """Of one workspace, `w`, which ben may enter, and one link, `good`, that reads it."""

    def __init__(self) -> None:
        self.teams = self.spaces = self.links = self

    def role_in(self, person: Person, name: str) -> str | None:
        return "viewer" if (person.id, name) == ("ben", "w") else None

    def opened(self, token: str) -> Any:
        if token != "good":
            raise AccessError("ended")
        return type("Link", (), {"workspace": "w"})


@pytest.mark.parametrize(
    ("owner", "there", "seen"),
    [
        ({}, None, True),
        ({"person": "ben"}, Person("ben"), True),
        ({"person": "ben"}, None, False),
        ({"person": "ben"}, Person("eve"), False),
        ({"person": "eve"}, Person("eve"), False),
        ({"person": "cleo"}, Person("cleo", "admin"), True),
        ({"link": "good"}, None, True),
        ({"link": "ended"}, None, False),
    ],
)
def test_who_may_no_longer_enter_has_no_more_of_its_pictures(owner: Any, there: Any, seen: bool, monkeypatch) -> None:
    held = Owners()
    held.note("f1", Owner(browser=ANNA, workspace="w", **owner))
    monkeypatch.setattr(media, "owners", held)
    engine: Any = Engine()
    assert media.may_see(engine, "/media/f1.png", {COOKIE: ANNA}, lambda: there) is seen
    assert not media.may_see(engine, "/media/f1.png", {COOKIE: BEN}, lambda: there)
    assert not media.may_see(engine, "/media/f2.png", {COOKIE: ANNA}, lambda: there)


def test_a_store_that_is_gone_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    held, engine = Owners(), Engine()
    held.note("f1", Owner(browser=ANNA, workspace="w", person="ben"))
    monkeypatch.setattr(media, "owners", held)

    def gone(*_: Any) -> None:
        raise StorageError("gone")

    engine.role_in = gone  # type: ignore[assignment,method-assign]
    assert not media.may_see(engine, "/media/f1.png", {COOKIE: ANNA}, lambda: Person("ben"))  # type: ignore[arg-type,return-value]


def test_what_is_remembered_is_bounded_and_what_was_shown_last_stays() -> None:
    held = Owners(files=2, each=2)
    for number in range(3):
        held.note("same", Owner(browser=str(number), workspace=""))
    assert [each.browser for each in held.of("same")] == ["1", "2"]
    held.note("two", Owner(browser="x", workspace=""))
    held.note("same", Owner(browser="1", workspace=""))
    held.note("three", Owner(browser="x", workspace=""))
    assert held.of("two") == () and held.of("three") and [each.browser for each in held.of("same")] == ["2", "1"]


@pytest.fixture(params=[KeptMedia, OwnedMedia])
def kept(request, monkeypatch) -> tuple[KeptMedia, list[float]]:
    """Files, and the clock by which they are kept."""
    clock = [0.0]
    monkeypatch.setattr(media.time, "monotonic", lambda: clock[0])
    return request.param(MemoryMediaFileStorage("/media")), clock


def ended(files: KeptMedia, scripts: int) -> None:
    """So many scripts end, of anybody."""
    for _ in range(scripts):
        files.remove_orphaned_files()


def clicked(files: KeptMedia, text: str) -> str:
    return file_of(files.execute_deferred(files.add_deferred(lambda: text, "text/plain", "0.1", "made.txt")))


def test_what_was_made_at_a_click_waits_for_its_browser_whoever_else_is_busy(kept) -> None:
    files, clock = kept
    made = clicked(files, "of Anna")
    ended(files, 5)
    assert files.read_file(made).content == b"of Anna"
    clock[0] = 29
    again = clicked(files, "of Ben")
    ended(files, 5)
    assert files.read_file(made) and files.read_file(again)
    clock[0] = 31
    ended(files, 2)
    assert files.read_file(made) is None and files.read_file(again)
    clock[0] = 60
    ended(files, 2)
    assert files.read_file(again) is None


def test_a_file_asked_for_again_and_again_is_kept_from_the_last_time_and_others_go_first(kept, monkeypatch) -> None:
    files, clock = kept
    monkeypatch.setattr(media, "_DOWNLOADS", 2)
    first = clicked(files, "first")
    clock[0] = 20
    second, first = clicked(files, "second"), clicked(files, "first")
    clock[0] = 40
    third = clicked(files, "third")
    ended(files, 2)
    assert [files.read_file(each) is None for each in (first, second, third)] == [False, True, False]


def test_while_a_file_is_made_none_goes_and_pictures_do(kept) -> None:
    files, clock = kept
    picture = file_of(files.add(b"shade", "image/png", "0.2"))
    made = clicked(files, "of Anna")
    files.clear_session_refs()
    clock[0] = 100

    def making() -> str:
        ended(files, 5)
        assert files.read_file(made) and files.read_file(picture) is None
        return "of Ben"

    files.execute_deferred(files.add_deferred(making, "text/plain", "0.1", "made.txt"))
    ended(files, 2)
    assert files.read_file(made) is None


def test_one_that_can_t_be_made_keeps_no_other(kept) -> None:
    files, clock = kept
    made = clicked(files, "of Anna")
    clock[0] = 100
    with pytest.raises(MediaFileStorageError):
        files.execute_deferred("unknown")
    ended(files, 2)
    assert files.read_file(made) is None
