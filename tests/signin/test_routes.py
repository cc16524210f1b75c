"""Signing in over plain HTTP at a real provider: cookies, callbacks, what is refused, and who may send files."""

import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import OctKey
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from crag.admin.audit import AuditLog, Entry
from crag.admin.people import Identity, People
from crag.admin.store import open_store
from tests.support.app_server import serving
from tests.support.signing_in import (
    SECRET,
    XSRF,
    OpenIdProvider,
    arrive,
    claims_of,
    cookie,
    openid_provider,
    people_of,
    secrets_file,
)
from tests.support.visitor import texts


@dataclass(frozen=True)
class Place:
    """The app, its provider and its data."""

    url: str
    provider: OpenIdProvider
    data: Path

    @property
    def people(self) -> People:
        return people_of(self.data)

    def claims(self, subject: str, **more: Any) -> dict[str, Any]:
        return claims_of(subject, **{"iss": self.provider.url, **more})

    def refused(self) -> list[Entry]:
        return [each for each in AuditLog(open_store(self.data)).entries() if each.refused]

    def login(self, name: str = "default", secret: str = SECRET, until: float = 60.0) -> str:
        """The address behind the button, as the page makes it."""
        claims = {"provider": name, "exp": int(time.time() + until)}
        return f"{self.url}/auth/login?provider=" + jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(secret))

    def sign_in(self, subject: str, browser: httpx.Client) -> httpx.Response:
        """The whole way; the answer to the callback."""
        away = browser.get(self.login())
        form = browser.post(away.headers["location"], data={"sub": subject})
        return browser.get(form.headers["location"])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("signin")
    with openid_provider() as provider:
        secrets = secrets_file(folder, provider.section())
        with serving(folder, options=["--secrets.files", str(secrets)], CRAG_ADMINS="ada@example.org") as served:
            yield Place(served.url.replace("127.0.0.1", "localhost"), provider, served.data)


@pytest.fixture
def browser() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False, timeout=30) as client:
        yield client


def test_a_real_sign_in_sets_cookies_that_scripts_and_other_sites_get_nothing_of(place, browser) -> None:
    place.provider.knows("ada", email="ada@example.org", name="Ada Lovelace")
    back = place.sign_in("ada", browser)
    assert (back.status_code, back.headers["location"]) == (302, "/")
    kept = [each for each in back.headers.get_list("set-cookie") if each.startswith("_streamlit_user")]
    assert kept and all("HttpOnly" in each and "samesite=lax" in each.lower() for each in kept)
    assert back.headers["cache-control"] == "no-store" and "frame-ancestors 'none'" in str(back.headers)
    assert back.headers["referrer-policy"] == "no-referrer"
    drawn = texts(arrive(place.url, browser.cookies["_streamlit_user"]))
    assert "Ada Lovelace" in drawn and "Add documents" in drawn
    assert [each.role for each in place.people.all() if each.email == "ada@example.org"] == ["admin"]
    noted = [each.who for each in AuditLog(open_store(place.data)).entries(act="sign-in")]
    arrive(place.url, browser.cookies["_streamlit_user"])
    again = [each.who for each in AuditLog(open_store(place.data)).entries(act="sign-in")]
    assert noted == again == ["ada@example.org"], "another tab is no other sign-in"


def test_a_callback_counts_once_and_for_its_own_browser_alone(place, browser) -> None:
    away = browser.get(place.login())
    form = browser.post(away.headers["location"], data={"sub": "eve"})
    callback = form.headers["location"]
    with httpx.Client(trust_env=False) as other:  # whoever else learns the address, and the wrong state
        for wrong in (callback, callback.replace("state=", "state=x")):
            answer = other.get(wrong)
            assert answer.headers["location"] == "/" and "_streamlit_user" not in other.cookies
    assert "_streamlit_user" not in browser.cookies
    browser.get(callback)
    assert "_streamlit_user" in browser.cookies
    browser.cookies.delete("_streamlit_user")
    assert browser.get(callback).headers["location"] == "/"
    assert "_streamlit_user" not in browser.cookies, "replayed"
    said = browser.get(f"{place.url}/oauth2callback?error=access_denied&error_description=%0Asecret").headers
    assert said["location"] == "/"
    noted = place.refused()  # what comes again and again is counted there
    assert noted and not any("secret" in f"{each.detail}{each.what}" for each in noted)


def test_the_way_back_leads_nowhere_but_here(place, browser) -> None:
    for wanted in ("&next=//evil.example", "&redirect_uri=https://evil.example", "&url=https://evil.example/"):
        away = browser.get(place.login() + wanted).headers["location"]
        assert away.startswith(place.provider.url) and "evil" not in away
    for path in ("/auth/logout?next=//evil.example", "/oauth2callback?next=//evil.example&state=1"):
        assert "evil" not in browser.get(place.url + path).headers["location"]
    forged = [place.login(secret=secrets.token_hex(32)), place.login(until=-10), place.login("elsewhere")]
    for address in forged[:2]:
        assert browser.get(address).headers["location"] == "/", "only a button of this program leads to a provider"


def test_other_sites_sign_nobody_in_or_out(place, browser) -> None:
    for path in (place.login(), f"{place.url}/auth/logout"):
        answer = browser.get(path, headers={"sec-fetch-site": "cross-site"})
        assert answer.status_code == 403 and "_streamlit" not in answer.headers.get("set-cookie", "")


@pytest.mark.slow
def test_signing_out_by_hand_ends_the_sign_in_wherever_its_cookie_was_copied_to(place, browser) -> None:
    for age, noted in ((0, True), (3600, False), (20 * 3600, False)):  # seen by the gate, not yet, and ended by age
        copy = cookie(place.claims("lea", iat=int(time.time()) - age, nonce=f"by hand {age}"), place.url)
        if noted:
            assert "Add documents" in texts(arrive(place.url, copy)) or "Lea" in texts(arrive(place.url, copy))
        answer = browser.get(f"{place.url}/auth/logout", headers={"cookie": f"_streamlit_user={copy}"})
        assert answer.status_code == 302
        drawn = texts(arrive(place.url, copy))
        assert "Lea" not in drawn.replace("that you are lea", "")
        assert ("has ended" if age > 12 * 3600 else "You have signed out") in drawn
    noted = [each for each in AuditLog(open_store(place.data)).entries(act="sign-out") if each.who == "lea@example.org"]
    assert len(noted) == 2, "one that its age has ended needs no end"
    forged = cookie(place.claims("lea"), place.url, secrets.token_hex(32))
    assert browser.get(f"{place.url}/auth/logout", headers={"cookie": f"_streamlit_user={forged}"}).status_code == 302
    assert len(list(AuditLog(open_store(place.data)).entries(act="sign-out"))) == len(noted)


@pytest.mark.parametrize(
    ("change", "secret", "origin"),
    [
        ({}, "0" * 64, ""),
        ({}, SECRET, "http://localhost:1"),
        ({"aud": "another-program", "azp": "crag-test"}, SECRET, ""),
        ({"sub": ""}, SECRET, ""),
    ],
    ids=["another secret", "another address", "another audience", "no subject"],
)
def test_a_cookie_that_does_not_count_shows_nothing_and_is_noted(place, change, secret, origin) -> None:
    """Of all that makes claims count `tests/signin/test_gate.py` has the rest."""
    claims = place.claims("mallory", email="ada@example.org") | change
    drawn = texts(arrive(place.url, cookie(claims, origin or place.url, secret)))
    assert "Sign in" in drawn and "Add documents" not in drawn and "Records" not in drawn
    assert not [each for each in place.people.all() if each.subject == "mallory"]
    assert place.refused()


def test_a_socket_without_the_xsrf_token_is_nobody_s(place) -> None:
    ada = cookie(place.claims("ada"), place.url)
    assert "Add documents" in texts(arrive(place.url, ada))
    assert "Add documents" not in texts(arrive(place.url, ada, xsrf=False))


def test_files_are_taken_from_editors_alone(place, browser) -> None:
    """A socket is open to anybody, as the sign-in page needs one; its session alone lets nobody send bytes."""
    viewer, editor = place.claims("vera"), place.claims("ed")
    place.people.admit(Identity.of(viewer))
    place.people.change_role(place.people.admit(Identity.of(editor)).id, "editor", by="test")
    address = place.url.replace("http://", "ws://") + "/_stcore/stream"
    with connect(address, origin=Origin(place.url), subprotocols=[Subprotocol("streamlit")]) as socket:
        socket.send(b"\x5a\x00")  # rerun_script, empty
        message = ForwardMsg()
        while message.WhichOneof("type") != "new_session":
            message.ParseFromString(socket.recv(timeout=60))
        target = f"{place.url}/_stcore/upload_file/{message.new_session.initialize.session_id}/f1"

        def send(cookie: str = "", xsrf: str = XSRF) -> int:
            cookies = f"_streamlit_xsrf={XSRF}" + (f"; _streamlit_user={cookie}" if cookie else "")
            sent = {"file": ("a.txt", b"x" * 1000)}
            return browser.put(target, files=sent, headers={"cookie": cookies, "X-Xsrftoken": xsrf}).status_code

        signed = {name: cookie(each, place.url) for name, each in {"vera": viewer, "ed": editor}.items()}
        assert send(signed["ed"]) == 403, "no page was opened with it"
        for each in signed.values():
            arrive(place.url, each)
        assert [send(), send(cookie(editor, place.url, "0" * 64)), send(signed["vera"])] == [403, 403, 403]
        assert send(signed["ed"], xsrf="") == 403
        assert send(signed["ed"]) == 204
        place.people.remove("ed@example.org", by="test")
        assert send(signed["ed"]) == 403


def test_health_needs_nobody_signed_in(place, browser) -> None:
    assert browser.get(f"{place.url}/healthz").status_code == 200
    assert browser.get(f"{place.url}/_stcore/metrics").status_code == 404


def test_one_address_tries_sixty_times_a_minute(place, browser) -> None:
    """Last of all: this address may not for a while."""
    answers = [browser.get(f"{place.url}/oauth2callback") for _ in range(70)]
    assert {each.status_code for each in answers} == {302, 429}
    assert browser.get(place.url).status_code == 200, "the pages themselves go on"
