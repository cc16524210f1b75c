"""The edge where people sign in, without a server: safe cookies, attempts, and what a start says of a wrong section."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.runtime.secrets import Secrets

from crag.core.config import AppConfig
from crag.core.errors import StorageError
from crag.runtime.slow_clients import RefusedError
from tests.support.signing_in import SECRET
from ui.access.oidc import SignIn
from ui.server import start
from ui.server.signing import Attempts, Signing

AUTH = {
    "cookie_secret": SECRET,
    "client_id": "a",
    "client_secret": "x",
    "server_metadata_url": "https://p.example/.well-known/openid-configuration",
}


@pytest.fixture
def section() -> Iterator[Any]:
    before = st.secrets

    def put(**auth: Any) -> None:
        st.secrets = Secrets()
        st.secrets._secrets = {"auth": auth}

    yield put
    st.secrets = before


def signing(origin: str = "https://crag.example.org", ended: Any = None) -> Signing:
    return Signing(
        sign_in=SignIn(origin=origin),
        attempts=Attempts(),
        note=lambda why: None,
        editor=lambda cookies: True,
        ended=ended,
    )


def test_a_sign_out_that_can_t_be_stored_is_not_said_to_be_one() -> None:
    def ended(cookies: Any) -> None:
        raise StorageError("The disk is full.")

    with pytest.raises(RefusedError) as refused:
        asyncio.run(signing(ended=ended).leave({"type": "http", "headers": []}))
    assert refused.value.status == 503 and "still signed in" in str(refused.value)


def test_with_tls_every_cookie_goes_by_tls_alone() -> None:
    sent = [(b"set-cookie", b"_streamlit_user=x; HttpOnly"), (b"Set-Cookie", b"a=b; secure"), (b"x", b"y")]
    assert signing().secured(sent) == [
        (b"set-cookie", b"_streamlit_user=x; HttpOnly; Secure"),
        (b"Set-Cookie", b"a=b; secure"),
        (b"x", b"y"),
    ]
    assert signing("http://localhost:8501").secured(sent) == sent, "Safari keeps no such cookie without TLS"


def test_attempts_are_counted_by_address_and_come_back() -> None:
    now = [0.0]
    attempts = Attempts(3, lambda: now[0])
    for _ in range(3):
        attempts.take("one")
    with pytest.raises(RefusedError) as refused:
        attempts.take("one")
    assert refused.value.status == 429
    attempts.take("another")
    now[0] += 20.0
    attempts.take("one")
    with pytest.raises(RefusedError):
        attempts.take("one")


def test_the_host_of_the_redirect_address_is_this_server_s_name(section: Any, tmp_path: Path) -> None:
    section(**AUTH, redirect_uri="https://crag.example.org/oauth2callback")
    found = start.rules(AppConfig.of(data=tmp_path))
    assert found.signing is not None and not found.metrics
    assert not found.callers.refuse(["crag.example.org"], ["https://crag.example.org"])
    assert found.callers.refuse(["evil.example"], [])


def test_a_wrong_section_is_one_line_at_the_start(
    section: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CRAG_DATA", str(tmp_path))
    section(**AUTH, redirect_uri="https://crag.example.org/")
    monkeypatch.setattr(start, "room_for_files", lambda: 1024)
    monkeypatch.setattr("os.umask", lambda mask: mask)
    start.prepared()
    said = [each.getMessage() for each in caplog.records if "Nobody is let in" in each.getMessage()]
    assert len(said) == 1 and "redirect_uri" in said[0] and SECRET not in caplog.text


def test_without_a_section_nothing_is_as_with_one(tmp_path: Path) -> None:
    assert start.rules(AppConfig.of(data=tmp_path)).signing is None
