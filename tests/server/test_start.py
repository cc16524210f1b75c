"""How the process starts: no look-up left, room for files, rules that follow the settings; what we use of Streamlit."""

import ast
import inspect
import os
import resource
import socket

import pytest
import streamlit
from streamlit import net_util, runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec
from streamlit.web import bootstrap
from streamlit.web.server import server_util

from crag.core.config import AppConfig
from crag.core.errors import SettingsError
from ui.app import program
from ui.documents import uploads
from ui.server import start


@pytest.fixture
def as_before(monkeypatch, tmp_path):
    """What a start changes of this process is changed back."""
    for name in [each for each in os.environ if each.startswith("CRAG_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CRAG_DATA", str(tmp_path))
    for name in start.LOOK_UPS:
        monkeypatch.setattr(net_util, name, getattr(net_util, name))
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
        monkeypatch.setattr("ui.access.workspaces.get_option", lambda name: known.get(name, before(name)))

    return set_to


def test_streamlit_looks_nowhere_for_this_machine_s_address(as_before, monkeypatch) -> None:
    for name in start.LOOK_UPS:
        assert callable(getattr(net_util, name)), "Streamlit has renamed it: find what looks outside now"
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("a look-up left"))
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: pytest.fail("a look-up left"))
    start.prepared()
    assert not server_util.is_url_from_allowed_origins("http://evil.example")
    assert server_util.is_url_from_allowed_origins("http://localhost:3000")


def test_these_are_all_the_look_ups_there_are() -> None:
    """What in Streamlit's server reaches for the network lies in one module, in these functions."""
    tree = ast.parse(inspect.getsource(net_util))
    public = {each.name for each in tree.body if isinstance(each, ast.FunctionDef) and not each.name.startswith("_")}
    assert public == set(start.LOOK_UPS)
    for module in (bootstrap, server_util):
        text = inspect.getsource(module)
        assert "import requests" not in text and "urlopen" not in text and ".connect(" not in text


def test_the_welcome_that_would_look_is_not_printed() -> None:
    """It is printed before the app is imported, so only the option can keep it quiet."""
    assert streamlit.get_option("logger.hideWelcomeMessage") is True
    assert 'get_option("logger.hideWelcomeMessage")' in inspect.getsource(bootstrap._print_url)


def test_a_start_makes_room_for_files_and_keeps_them_to_their_owner(as_before, tmp_path) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    start.prepared()
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


def test_the_rules_name_the_hosts_and_origins_that_the_owner_has(options, monkeypatch) -> None:
    options(
        server_allowedHosts=["App.example", "*.team.example"],
        server_corsAllowedOrigins=["https://portal.example/"],
        browser_serverAddress="crag.example",
    )
    monkeypatch.setattr(start.options, "is_manually_set", lambda name: name == "browser.serverAddress")
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


def test_streamlit_says_how_much_it_holds_and_lets_go_of_what_was_read(monkeypatch) -> None:
    manager = MemoryUploadedFileManager("/x")
    monkeypatch.setattr(runtime, "exists", lambda: True)
    monkeypatch.setattr(runtime, "get_instance", lambda: type("Runtime", (), {"uploaded_file_mgr": manager}))
    assert start.held_uploads() == 0
    records = [UploadedFileRec(file_id=each, name="a.pdf", type="", data=b"x" * 700) for each in "ab"]
    for record in records:
        manager.add_file("session", record)
    assert start.held_uploads() == 1400
    context = type("Context", (), {"uploaded_file_mgr": manager, "session_id": "session"})
    monkeypatch.setattr(uploads, "get_script_run_ctx", lambda: context)
    read = uploads.reader(UploadedFile(records[0], None))
    assert start.held_uploads() == 1400
    assert read() == b"x" * 700 and start.held_uploads() == 700
    assert read() == b"x" * 700


def test_what_listens_here_sends_every_part_of_an_answer_at_once() -> None:
    """Connections inherit it. A socket that does not listen is left as it is."""
    with socket.create_server(("127.0.0.1", 0)) as held, socket.socket() as idle:
        start.answer_at_once()
        with socket.create_connection(held.getsockname()):
            taken, _ = held.accept()
            with taken:
                assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert not idle.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
