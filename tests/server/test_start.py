"""How the process starts: room for files, rules that follow the settings; what we use of Streamlit."""

import os
import resource
import socket

import pytest
import streamlit

from crag.core.config import AppConfig
from crag.core.errors import SettingsError
from ui.app import program
from ui.components import script_context
from ui.server import headers, start


@pytest.fixture
def as_before(monkeypatch, tmp_path):
    """What a start changes of this process is changed back."""
    for name in [each for each in os.environ if each.startswith("CRAG_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CRAG_DATA", str(tmp_path))
    files, mask = resource.getrlimit(resource.RLIMIT_NOFILE), os.umask(0o022)
    yield monkeypatch
    os.umask(mask)
    resource.setrlimit(resource.RLIMIT_NOFILE, files)


@pytest.fixture
def options(monkeypatch):
    def set_to(**values) -> None:
        known = {name.replace("_", "."): value for name, value in values.items()}
        before = streamlit.get_option
        monkeypatch.setattr("streamlit.get_option", lambda name: known.get(name, before(name)))

    return set_to


def test_a_start_makes_room_for_files_and_keeps_them_to_their_owner(as_before, tmp_path, caplog) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    start.prepared()
    assert ("files may be open at once" in caplog.text) == (hard != resource.RLIM_INFINITY and hard < 1024)
    most = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, hard)
    (tmp_path / "new").write_text("")
    assert (tmp_path / "new").stat().st_mode & 0o077 == 0


def test_a_start_with_settings_that_make_no_sense_is_the_strictest(as_before) -> None:
    as_before.setenv("CRAG_MAX_PAGES", "many")
    as_before.setenv("CRAG_FRAMED_BY", "https://a.example")
    (middleware,) = start.prepared()["middleware"]
    assert dict(middleware.args[0].headers)[b"x-frame-options"] == b"DENY"


def test_the_rules_follow_the_place_that_is_listened_on(options) -> None:
    options(server_address="127.0.0.1")
    alone = start.rules(AppConfig())
    assert alone.callers.local and not alone.callers.proxied and alone.metrics and alone.base == ""
    proxied = start.rules(AppConfig.of(workspaces="private"))
    assert proxied.callers.local and proxied.callers.proxied and not proxied.metrics
    options(server_address="0.0.0.0", server_baseUrlPath="/crag/", server_maxUploadSize=7)
    for workspaces in ("auto", "one"):
        open_ = start.rules(AppConfig.of(workspaces=workspaces))
        assert not open_.callers.local and not open_.metrics and open_.base == "/crag" and open_.upload_mb == 7


def test_the_rules_name_the_hosts_and_origins_that_the_owner_has(options) -> None:
    options(
        server_allowedHosts=["App.example", "*.team.example"],
        server_corsAllowedOrigins=["https://portal.example/"],
        browser_serverAddress="crag.example",
    )
    callers = start.rules(AppConfig()).callers
    assert callers.hosts == ("app.example", "*.team.example", "crag.example")
    assert callers.origins == ("https://portal.example", "crag.example")
    assert start._address() == "http://crag.example:8501"


def test_what_may_frame_the_app_is_chosen_and_stored(as_before, tmp_path) -> None:
    as_before.setenv("CRAG_FRAMED_BY", " https://Portal.example , http://10.0.0.7:8080/ ")
    assert program.at_start().serving.framed_by == ("https://portal.example", "http://10.0.0.7:8080")
    as_before.delenv("CRAG_FRAMED_BY")
    (tmp_path / "settings.json").write_text('{"framed_by": ["https://stored.example"], "uploads_mb": 3}')
    config = program.at_start()
    assert (config.serving.framed_by, config.serving.uploads_mb) == (("https://stored.example",), 3)
    told = dict(start.rules(config).headers)
    assert b"frame-ancestors https://stored.example" in told[b"content-security-policy"]


@pytest.mark.parametrize(
    "given",
    [
        "*",
        "https://",
        "portal.example",
        "https://a.example/x",
        "https://a.example; script-src *",
        "https://a b",
        "'self'",
    ],
)
def test_what_is_no_origin_may_frame_nothing(given, monkeypatch) -> None:
    monkeypatch.setenv("CRAG_FRAMED_BY", given)
    with pytest.raises(SettingsError, match=r"framed_by.*origin"):
        AppConfig.from_environment()


def test_a_streamlit_that_does_not_fit_is_said_in_the_log_at_the_start(
    as_before, monkeypatch, tmp_path, caplog
) -> None:
    start.prepared()
    assert "does not fit" not in caplog.text
    monkeypatch.setattr(script_context, "_READ", ("session_id", "gone_since"))
    monkeypatch.setattr(headers, "INDEX", tmp_path / "none.html")
    start.prepared()
    said = [each.getMessage() for each in caplog.records if each.levelname == "ERROR"]
    assert len(said) == 2 and all(streamlit.__version__ in each for each in said)
    assert "gone_since" in said[0] and "ui/components/script_context.py relies on it" in said[0]
    assert "static/index.html" in said[1] and "ui/server/headers.py relies on it" in said[1]


def test_what_listens_here_sends_every_part_of_an_answer_at_once() -> None:
    """Connections inherit it. A socket that does not listen is left as it is."""
    with socket.create_server(("127.0.0.1", 0)) as held, socket.socket() as idle:
        start.answer_at_once()
        with socket.create_connection(held.getsockname()):
            taken, _ = held.accept()
            with taken:
                assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert not idle.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
