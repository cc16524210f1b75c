"""The app as it is served: refusals that reach nobody outside, headers, metrics, health, sizes, and a good end."""

import contextlib
import http.client
import signal
import socket
import threading
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tests.support.app_server import ROOT, Served, serving

HOOK = str(ROOT / "benchmarks" / "attacks" / "hook")
EVIL = "http://evil.example"
PORTAL = "https://portal.example"
MB = 2**20


def ask(app: Served, path: str = "/", *, method: str = "GET", body=None, **headers: str) -> http.client.HTTPResponse:
    """One request; names of headers with _ for -. The answer is read."""
    line = http.client.HTTPConnection("127.0.0.1", app.port, timeout=60)
    line.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    found = line.getresponse()
    found.text = found.read().decode("utf-8", "replace")
    line.close()
    return found


def dial(app: Served, origin: str | None = None, **more):
    return connect(f"{app.url.replace('http', 'ws')}/_stcore/stream", origin=origin, open_timeout=60, **more)


def stops(app: Served, by: signal.Signals, base: str = "") -> None:
    """It ends in good order when told, with a visitor there."""
    with connect(f"{app.url.replace('http', 'ws')}{base}/_stcore/stream", open_timeout=60):
        app.process.send_signal(by)
        app.process.wait(60)
    said = app.log.read_text()
    assert "Traceback" not in said and f"CRAG Explorer: http://localhost:{app.port}" in said


@pytest.fixture(scope="module")
def outside(tmp_path_factory) -> Path:
    """Where the app writes down every address outside that it reaches for."""
    return tmp_path_factory.mktemp("outside") / "log"


@pytest.fixture(scope="module")
def app(tmp_path_factory, outside):
    with serving(tmp_path_factory.mktemp("app"), PYTHONPATH=f"{HOOK}:{ROOT}", OUTSIDE_LOG=str(outside)) as found:
        yield found


@pytest.fixture(scope="module")
def open_app(tmp_path_factory, outside):
    """The same for the whole network, with an address of Streamlit's that takes bodies."""
    log, options = outside.with_name("open"), ["--server.enableAgentApi", "true", "--server.corsAllowedOrigins", PORTAL]
    hooked = {"PYTHONPATH": f"{HOOK}:{ROOT}", "OUTSIDE_LOG": str(log)}
    with serving(tmp_path_factory.mktemp("open"), address="0.0.0.0", options=options, **hooked) as found:
        yield found


@pytest.mark.slow
def test_fifty_refused_origins_reach_nobody_and_another_visitor_is_served(app, outside) -> None:
    refused: list[int] = []

    def attack() -> None:
        refused.append(ask(app, "/_stcore/health", Origin=EVIL).status)
        with pytest.raises(InvalidStatus) as found:
            dial(app, EVIL)
        refused.append(found.value.response.status_code)

    attackers = [threading.Thread(target=attack) for _ in range(50)]
    for each in attackers:
        each.start()
    with dial(app, app.url):
        served = [ask(app, path).status for path in ("/", "/_stcore/health", "/favicon.png") for _ in range(5)]
    for each in attackers:
        each.join()
    assert refused == [403] * 100 and served == [200] * 15
    assert not outside.exists(), outside.read_text()


@pytest.mark.slow
def test_a_start_for_the_whole_network_reaches_nobody_and_keeps_its_metrics(open_app, outside) -> None:
    with pytest.raises(InvalidStatus):
        dial(open_app, EVIL)
    with dial(open_app, PORTAL) as line:
        assert line.response.status_code == 101, "let in without asking anybody which address this machine has"
    assert ask(open_app, "/_stcore/metrics").status == 404
    assert ask(open_app, Host="crag.example").status == 200
    assert f"localhost:{open_app.port}" in open_app.log.read_text()
    log = outside.with_name("open")
    assert not log.exists(), log.read_text()


@pytest.mark.slow
def test_metrics_are_the_owner_s_and_an_app_under_a_path_stops_when_told(app, tmp_path) -> None:
    assert ask(app, "/_stcore/metrics").text.startswith("# TYPE")
    with serving(tmp_path, CRAG_WORKSPACES="private", base="crag") as proxied:
        assert ask(proxied, "/crag/_stcore/metrics").status == 404
        assert ask(proxied, "/crag/", Host="crag.example").status == 200
        assert ask(proxied, "/crag/_stcore/health").text.strip() == "ok"
        stops(proxied, signal.SIGINT, "/crag")


def test_every_answer_is_armed(app) -> None:
    page = ask(app)
    script = page.text.partition('crossorigin src=".')[2].partition('"')[0]
    for path, status in ((script, 200), ("/favicon.png", 200), ("/settings", 200), ("/media/none.png", 404)):
        found = ask(app, path)
        assert found.status == status, path
        for each in (found, page, ask(app, path, Origin=EVIL), ask(app, path, method="OPTIONS")):
            assert "frame-ancestors 'none'" in each.headers["Content-Security-Policy"]
            assert each.headers["X-Frame-Options"] == "DENY"
            assert each.headers["X-Content-Type-Options"] == "nosniff"
            assert each.headers["Referrer-Policy"] == "no-referrer"
    assert ask(app, script, Accept_Encoding="gzip").headers["Cache-Control"].startswith("public")


def test_a_name_that_a_stranger_turned_to_this_machine_is_refused(app) -> None:
    found = ask(app, "/", Host="rebound.example")
    assert found.status == 403 and "CRAG_WORKSPACES=private" in found.text
    with socket.create_connection(("127.0.0.1", app.port)) as line:
        line.sendall(
            b"GET /_stcore/stream HTTP/1.1\r\nHost: rebound.example\r\nOrigin: http://rebound.example\r\n"
            b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        assert line.recv(100).split()[1] == b"403"
    assert ask(app, Host=f"localhost:{app.port}").status == 200


def test_bodies_that_are_too_large_are_cut_off(app, open_app) -> None:
    path = "/_stcore/agent/interact"
    assert ask(app, path, method="POST", body=b"x", Content_Length=str(2 * MB)).status == 413
    line = http.client.HTTPConnection("127.0.0.1", open_app.port, timeout=60)
    with contextlib.suppress(OSError):  # the server may have hung up before all was sent
        headers = {"Transfer-Encoding": "chunked", "Content-Type": "application/json"}
        line.request("POST", path, (b"x" * 2**16 for _ in range(32)), headers, encode_chunked=True)
    assert line.getresponse().status == 413
    line.close()
    assert ask(open_app, "/_stcore/health").status == 200


def test_a_socket_s_message_that_is_too_large_closes_it(app) -> None:
    for size in (9 * MB, 40 * MB):
        with dial(app, app.url, subprotocols=["streamlit"]) as line, pytest.raises(ConnectionClosed) as closed:
            line.send(b"\0" * size)
            while True:
                line.recv(timeout=60)
        assert closed.value.rcvd is None or closed.value.rcvd.code == 1009
    assert ask(app, "/_stcore/health").status == 200


@pytest.mark.slow
def test_health_says_when_files_run_out_and_when_they_are_back_and_it_stops_when_told(tmp_path) -> None:
    with serving(tmp_path, files=160) as app:
        assert ask(app, "/_stcore/health").text.strip() == "ok"
        held: list[socket.socket] = []
        status = 200
        while status == 200 and len(held) < 160:
            held += [socket.create_connection(("127.0.0.1", app.port)) for _ in range(4 if held else 96)]
            threading.Event().wait(0.3)  # until what was said of health is said anew
            found = ask(app, "/healthz")
            status = found.status
        assert status == 503 and "files are open" in found.text
        for each in held:
            each.close()
        while ask(app, "/healthz").status != 200:
            threading.Event().wait(0.2)
        stops(app, signal.SIGTERM)
