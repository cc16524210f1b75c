"""Pictures and files are given to those alone for whom they were made: over a real server, and by what decides."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from crag.core.errors import AccessError, NotFoundError
from tests.support.app_server import ROOT, Served, serving
from tests.support.visitor import until_finished
from ui.access import browser
from ui.access.browser import COOKIE
from ui.access.verified import VerifiedSignIns
from ui.components.downloads import Offer
from ui.components.script_context import Tab
from ui.server import files

ANNA, BEN = "A" * 32, "B" * 32


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("files")
    script = ROOT / "tests" / "support" / "files_app.py"
    with serving(folder, script, CRAG_WORKSPACES="private") as found:
        yield found


@contextmanager
def tab(url: str, name: str, query: str) -> Iterator[tuple[Any, str]]:
    """A browser's tab, its page drawn: the open socket, and all that came, as text."""
    address = url.replace("http://", "ws://") + "/_stcore/stream"
    headers = {"cookie": f"{COOKIE}={name}"} if name else {}
    protocols = [Subprotocol("streamlit")]
    with connect(
        address, origin=Origin(url), subprotocols=protocols, additional_headers=headers, max_size=None
    ) as socket:
        yield socket, run(socket, query)


def run(socket: Any, query: str) -> str:
    asked = BackMsg()
    asked.rerun_script.query_string = query
    socket.send(asked.SerializeToString())
    return finished(socket)


def finished(socket: Any) -> str:
    """All that comes until the script has ended, as text."""
    return "\n".join(map(str, until_finished(socket)))


def addresses(drawn: str) -> list[str]:
    """Of the files that the page offers, in order."""
    return list(dict.fromkeys(re.findall(r'"(/files/[^"]+)"', drawn)))


def get(url: str, name: str = "", **headers: str) -> httpx.Response:
    cookies = {"cookie": f"other={{bad; {COOKIE}={name}"} if name else {}
    return httpx.get(url, headers={**cookies, **headers}, trust_env=False, timeout=30)


def described(answer: httpx.Response) -> tuple[Any, ...]:
    """All of an answer that a browser could tell another by, but its date."""
    return answer.status_code, answer.content, sorted(name for name in answer.headers if name != "set-cookie")


def test_a_file_is_its_browser_s_and_to_others_one_that_is_not_there(served: Served) -> None:
    with tab(served.url, ANNA, "shade=7") as (_, drawn):
        found = served.url + addresses(drawn)[0]
        mine = get(found, ANNA)
        assert mine.status_code == 200 and mine.text == "words of 7"
        assert mine.headers["cache-control"] == "private, no-store"
        assert mine.headers["content-disposition"] == "attachment; filename*=UTF-8''w%C3%B6rds.txt"
        assert mine.headers["x-content-type-options"] == "nosniff"
        unknown = get(f"{served.url}/files/{'0' * 32}/x.txt", ANNA)
        assert unknown.status_code == 404
        for name in (BEN, "", "A" * 31):
            assert described(get(found, name)) == described(get(f"{served.url}/files/{'0' * 32}/x.txt", name))
        with tab(served.url, BEN, "shade=7") as (_, also):
            assert addresses(also)[0] not in found, "of the same page another tab has another address"


def test_a_picture_is_part_of_what_its_tab_is_sent_and_lies_at_no_address(served: Served) -> None:
    with tab(served.url, ANNA, "shade=9") as (_, drawn):
        assert "data:image/png;base64,iVBOR" in drawn
        [address] = set(re.findall(r"/media/[0-9a-f]+\.png", drawn))
        for name in (ANNA, BEN, ""):
            assert get(served.url + address, name).status_code == 404


def test_a_file_waits_for_its_browser_whatever_the_page_does_meanwhile(served: Served) -> None:
    with tab(served.url, ANNA, "shade=21") as (socket, drawn):
        found = served.url + addresses(drawn)[0]
        answers: list[httpx.Response] = []
        asking = threading.Thread(target=lambda: answers.append(get(found, ANNA)))
        asking.start()
        for _ in range(3):
            again = run(socket, "shade=21")
            with tab(served.url, BEN, "shade=21"):
                pass
        asking.join()
        assert answers[0].text == "words of 21" and addresses(again) == addresses(drawn), "a click may be older"
    assert get(found, ANNA).status_code == 200, "its tab may have lost its connection for a moment"
    assert get(found, BEN).status_code == 404


def test_a_file_that_can_t_be_made_says_why(served: Served) -> None:
    with tab(served.url, ANNA, "shade=3") as (_, drawn):
        answer = get(served.url + addresses(drawn)[1], ANNA)
        assert answer.status_code == 503 and answer.text == "Too many files today. Try again tomorrow.\n"


def test_a_tab_that_shows_another_workspace_gives_none_of_the_one_before(served: Served) -> None:
    with tab(served.url, ANNA, "shade=4") as (socket, drawn), tab(served.url, ANNA, "shade=none") as (_, other):
        key = re.findall(r"w=([A-Za-z0-9_-]+)", other)[-1]
        run(socket, f"shade=none&w={key}")
        refused = get(served.url + addresses(drawn)[0], ANNA)
        assert refused.status_code == 403 and "another workspace" in refused.text and "words" not in refused.text


def test_a_browser_is_given_its_cookie_once_and_hidden_from_scripts(served: Served) -> None:
    given = [each for each in get(served.url).headers.get_list("set-cookie") if each.startswith(COOKIE)]
    assert len(given) == 1 and "HttpOnly" in given[0] and "SameSite=Lax" in given[0]
    name = given[0].partition("=")[2].partition(";")[0]
    assert not [each for each in get(served.url, name).headers.get_list("set-cookie") if each.startswith(COOKIE)]
    assert browser.cookie(f"{COOKIE}=short", path="", framed=True).endswith("SameSite=None; Secure; Partitioned")


class Person:
    def __init__(self, id: str) -> None:
        self.id = id


class Here:
    """Who is in the tab now: the workspace that it shows, or why nobody may be there."""

    def __init__(self, shows: str | AccessError) -> None:
        self._shows = shows

    @property
    def workspace(self) -> str:
        if isinstance(self._shows, AccessError):
            raise self._shows
        return self._shows


@pytest.mark.parametrize(
    ("cookies", "known", "there", "shows", "outcome"),
    [
        ({COOKIE: ANNA}, "", None, "w", "made"),
        ({COOKIE: BEN}, "", None, "w", NotFoundError),
        ({}, "", None, "w", NotFoundError),
        ({COOKIE: ANNA}, "ben", Person("ben"), "w", "made"),
        ({COOKIE: ANNA}, "ben", None, "w", NotFoundError),
        ({COOKIE: ANNA}, "ben", Person("eve"), "w", NotFoundError),
        ({COOKIE: ANNA}, "ben", Person("ben"), "other", AccessError),
        ({COOKIE: ANNA}, "ben", Person("ben"), AccessError("You may no longer enter.", "Ask."), AccessError),
    ],
)
def test_who_may_no_longer_be_there_has_no_more_of_its_files(
    cookies, known, there, shows, outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser, "of_tab", lambda: ANNA)
    monkeypatch.setattr("ui.access.workspace_entry.as_whom", lambda: (known, ""))
    monkeypatch.setattr("ui.access.oidc.on", lambda: True)
    monkeypatch.setattr(files, "somebody", lambda cookies: there)
    monkeypatch.setattr(files, "Presence", lambda program: Here(shows))
    offer = Offer(token="t", tab=Tab(), make=lambda: "made", name="a", mime="text/plain", workspace="w")
    if isinstance(outcome, str):
        assert files._make(offer, cookies, True) == outcome
    else:
        with pytest.raises(outcome):
            files._make(offer, cookies, True)


def test_a_sign_in_is_known_by_the_very_cookie_that_a_page_was_opened_with() -> None:
    signed = {"_streamlit_user": "a", "_streamlit_user__1": "b", "other": "c"}
    known = VerifiedSignIns(most=2)
    assert known.claims(signed) is None
    known.note(signed, {"sub": "ada"})
    assert known.claims({**signed, "other": "d"}) == {"sub": "ada"}
    for change in ({"_streamlit_user": "x"}, {"_streamlit_user__1": "x"}, {"_streamlit_user__1": ""}):
        assert known.claims({**signed, **change}) is None
    known.note({"other": "c"}, {"sub": "nobody"})
    assert known.claims({}) is None, "who has no such cookie is nobody"
    for number in range(2):
        known.note({"_streamlit_user": str(number)}, {})
    assert known.claims(signed) is None, "those seen last are remembered"


def test_a_sign_in_that_was_ended_before_any_page_was_opened_with_it_counts_no_more() -> None:
    known, cookies = VerifiedSignIns(), {"_streamlit_user": "a"}
    known.end(cookies)
    known.note(cookies, {"sub": "ada"})
    assert known.ended(cookies) and known.claims(cookies) is None
