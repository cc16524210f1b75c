"""The edge around an app that says what reached it: refusals, sizes, metrics, health and headers, without a server."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.responses import PlainTextResponse

from crag.analysis.monitoring.health import Health
from crag.integrations.scraping import Scraping
from crag.runtime.origins import Origins
from ui.app.open_tabs import HEADER, HeldUploads, OpenTabs
from ui.server.body_limits import BODY_MB, Uploads
from ui.server.connection_limit import Caller, Most, Seats
from ui.server.headers import security_headers
from ui.server.health_routes import Watch
from ui.server.middleware import Edge, Rules

MB = 2**20
EVIL = (b"origin", b"http://evil.example")
HOST = (b"host", b"localhost")
TOKEN = "a token of the scraper's"
OFFERS = {"websocket.http.response": {}}


class Inner:
    """Reads the whole body and answers; `reached`: the paths, `read`: bytes."""

    def __init__(self) -> None:
        self.reached, self.read, self.headers = [], 0, []

    async def __call__(self, scope, receive, send) -> None:
        self.reached.append(scope.get("path"))
        self.headers = scope["headers"]
        if scope["type"] != "http":
            return
        more = True
        while more:
            message = await receive()
            self.read += len(message.get("body", b""))
            more = message.get("more_body", False)
        await PlainTextResponse("inner", headers={"x-frame-options": "ALLOWALL"})(scope, receive, send)


@pytest.fixture
def inner() -> Inner:
    return Inner()


@pytest.fixture
def edge(inner, tmp_path):
    def made(stored: int = 0, uploads_mb: int = 10, mode="off", alone=True, heard=None, own_mb=0, **chosen) -> Edge:
        health, uploads = Health(tmp_path), Uploads(uploads_mb * MB, lambda session: stored, lambda: own_mb * MB)
        heard = heard if heard is not None else []
        rules = {
            "callers": Origins(),
            "headers": security_headers(),
            "health": health,
            "uploads": uploads,
            "seats": Seats(lambda: Most(all=0, own=0), lambda session: False),
            "tabs": OpenTabs(lambda: 120.0),
            "held": HeldUploads(lambda session: True),
            "watch": Watch(health, Scraping(mode, TOKEN, alone, heard.append), uploads, lambda: 3, lambda: 7),
            "upload_mb": 5,
        }
        return Edge(inner, Rules(**{**rules, **chosen}))

    return made


def answer(edge, path="/", *, method="GET", headers=(), kind="http", chunks=(b"",), extensions=None):
    """Status, headers and body of an answer; messages as they were sent, for a websocket."""
    sent, left = [], list(chunks)
    scope = {
        "type": kind,
        "method": method,
        "path": path,
        "headers": [HOST, *headers],
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 5000),
        "extensions": extensions or {},
    }

    async def receive():
        if kind == "websocket":
            return {"type": "websocket.connect"}
        body = left.pop(0) if left else b""
        return {"type": "http.request", "body": body, "more_body": bool(left)}

    async def send(message):
        sent.append(message)

    with ThreadPoolExecutor(1) as apart:  # this thread may have the browser tests' event loop
        apart.submit(asyncio.run, edge(scope, receive, send)).result()
    if kind == "websocket":
        return sent
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"].decode()


def test_what_is_let_in_reaches_the_app_and_goes_back_armed(edge, inner) -> None:
    status, headers, body = answer(edge())
    assert (status, body, inner.reached) == (200, "inner", ["/"])
    assert headers[b"x-frame-options"] == b"DENY" and b"content-security-policy" in headers


def test_a_foreign_page_is_refused_before_the_app_hears_of_it(edge, inner) -> None:
    status, headers, body = answer(edge(), "/_stcore/health", headers=[EVIL])
    assert status == 403 and body.count("\n") == 1 and inner.reached == []
    assert b"content-security-policy" in headers and b"access-control-allow-origin" not in headers


def test_a_foreign_page_s_socket_is_refused_before_it_is_open(edge, inner) -> None:
    (closed,) = answer(edge(), "/_stcore/stream", headers=[EVIL], kind="websocket")
    assert closed["type"] == "websocket.close"
    start, _ = answer(edge(), headers=[EVIL], kind="websocket", extensions={"websocket.http.response": {}})
    assert start["status"] == 403 and inner.reached == []
    answer(edge(), "/_stcore/stream", headers=[(b"origin", b"http://localhost")], kind="websocket")
    assert inner.reached == ["/_stcore/stream"]


def test_a_page_that_is_let_in_looks_to_the_app_like_its_own_and_its_tab_has_a_name(edge, inner) -> None:
    """However a proxy has changed the Host, the app asks nobody which address this machine has."""
    forged = (HEADER.encode(), b"the tab of another")
    for origin in (b"https://crag.example:8443", b"http://localhost"):
        callers = Origins(local=False, origins=("https://crag.example:8443",), neighbours=True, any_origin=True)
        answer(edge(callers=callers), headers=[(b"origin", origin), forged], kind="websocket")
        found = [value for name, value in inner.headers if name == b"host"]
        assert found == [origin.partition(b"//")[2]] and (b"origin", origin) in inner.headers
    names = [value for name, value in inner.headers if name == HEADER.encode()]
    assert len(names) == 1 and len(names[0]) == 32 and names[0] != forged[1]
    answer(edge(), kind="websocket")
    assert HOST in inner.headers, "who names no page is as it was"


def test_what_the_app_has_taken_in_counts_until_it_is_taken_out(edge, inner) -> None:
    held = HeldUploads(lambda session: True)
    path = "/_stcore/upload_file/one/a"
    answer(edge(held=held), path, method="PUT", chunks=[b"x" * 700])
    assert (held.bytes(), held.bytes("one"), held.bytes("two")) == (700, 700, 0)
    assert answer(edge(held=held), path, method="PUT", chunks=[b"x" * MB] * 7)[0] == 413
    assert held.bytes() == 700, "what was refused is not held"
    answer(edge(held=held), path, method="DELETE")
    assert held.bytes() == 0


@pytest.mark.parametrize("base", ["", "/crag"])
def test_nothing_is_served_at_the_addresses_where_all_may_ask(edge, inner, base) -> None:
    for path in ("/media/x.png", "/media/"):
        assert answer(edge(base=base), base + path)[0] == 404
    assert inner.reached == []


@pytest.mark.parametrize("base", ["", "/crag"])
def test_health_is_the_app_s_unless_the_process_can_t_serve(edge, inner, tmp_path, base) -> None:
    for path in ("/_stcore/health", "/healthz"):
        assert answer(edge(base=base), base + path)[0] == 200
    assert inner.reached == [f"{base}/_stcore/health"] * 2
    full = Health(tmp_path, free=lambda _: 0)
    assert answer(edge(base=base, health=full), f"{base}/healthz")[0] == 200, "a new start makes no room"
    assert answer(edge(base=base, health=full), f"{base}/_stcore/health")[0] == 200, "or no browser would get in"


@pytest.mark.parametrize("base", ["", "/crag"])
def test_metrics_are_for_whom_they_are_set_and_nobody_else_learns_that_they_are_there(edge, inner, base) -> None:
    path, heard = f"{base}/metrics", []
    bearer = (b"authorization", f"Bearer {TOKEN}".encode())

    def ask(*headers, **set_to):
        return answer(edge(base=base, heard=heard, **set_to), path, headers=headers)

    assert "crag_build_info" in ask(mode="local")[2] and "crag_sessions" not in inner.reached
    assert "crag_runs_running" not in ask(mode="local")[2], "no engine is made for a scrape"
    assert ask(bearer, mode="token")[0] == 200
    assert heard == []
    for refused in (
        *(ask(mode="off"), ask(bearer, mode="off"), ask(mode="local", alone=False)),
        ask((b"x-forwarded-for", b"10.0.0.1"), mode="local"),
    ):
        assert refused[0] == 404 and refused[2] == "Not Found\n"
    for headers in ([], [(b"authorization", b"Bearer wrong")], [bearer, bearer], [(bearer[0], TOKEN.encode())]):
        status, headers_back, body = ask(*headers, mode="token")
        assert status == 401 and headers_back[b"www-authenticate"] == b"Bearer" and "crag" not in body
    assert len(heard) == 8 and TOKEN not in "".join(heard)
    assert inner.reached == []


@pytest.mark.parametrize("length", [str(BODY_MB * MB + 1), "9" * 30])
def test_a_body_that_says_it_is_too_large_is_not_read(edge, inner, length) -> None:
    status, headers, _ = answer(edge(), method="POST", headers=[(b"content-length", length.encode())])
    assert status == 413 and b"content-security-policy" in headers and inner.reached == []


@pytest.mark.parametrize("headers", [[], [(b"content-length", b"5")]])
def test_a_body_that_does_not_say_so_is_cut_off_where_it_is(edge, inner, headers) -> None:
    assert answer(edge(), method="POST", headers=headers, chunks=[b"x" * MB, b"x", b"x" * MB])[0] == 413
    assert inner.read == MB
    assert answer(edge(), method="POST", headers=headers, chunks=[b"x" * MB])[0] == 200


def test_an_upload_may_be_larger_but_no_larger_than_uploads_are(edge, inner) -> None:
    assert answer(edge(), "/_stcore/upload_file/a/b", method="PUT", chunks=[b"x" * MB] * 6)[0] == 200
    assert answer(edge(), "/_stcore/upload_file/a/b", method="PUT", chunks=[b"x" * MB] * 7)[0] == 413
    assert answer(edge(), "/upload_file/_stcore/upload_file/", method="PUT", chunks=[b"x" * MB] * 2)[0] == 413


def test_uploads_that_nobody_has_read_leave_no_room_for_more(edge, inner) -> None:
    path, said = "/_stcore/upload_file/a/b", [(b"content-length", b"%d" % (3 * MB))]
    full = edge(stored=8 * MB)
    status, _, body = answer(full, path, method="PUT", headers=said)
    assert status == 503 and "upload space is full" in body and inner.reached == []
    assert answer(full, path, method="PUT", chunks=[b"x" * MB] * 3)[0] == 503
    assert inner.read == 2 * MB
    assert answer(full, path, method="PUT", chunks=[b"x" * MB] * 2)[0] == 200, "what was refused is given back"
    assert answer(full, path, method="DELETE")[0] == 200


def test_who_comes_when_all_is_taken_gets_a_page_that_says_so_and_nothing_reaches_the_app(edge, inner) -> None:
    seats = Seats(lambda: Most(all=1, own=0), lambda session: session == "there")
    full, html = edge(seats=seats, base="/crag"), (b"accept", b"text/html,*/*")
    with seats.taken(Caller(browser="a")):
        for path in ("/crag/", "/crag/documents"):
            status, headers, body = answer(full, path, headers=[html])
            assert status == 503 and headers[b"retry-after"] == b"10" and headers[b"cache-control"] == b"no-store"
            assert "open in 1 tab at once" in body and 'http-equiv="refresh" content="10"' in body
            assert b"content-security-policy" in headers and "<script" not in body
        assert inner.reached == []
        for path, said in (("/crag/_stcore/health", html), ("/crag/", (b"accept", b"*/*")), ("/crag/static/x", html)):
            assert answer(full, path, headers=[said])[0] == 200
        inner.reached.clear()
        for given, let_in in (("none", False), ("none, gone", False), ("none, there", True)):
            asked = (b"sec-websocket-protocol", f"streamlit, {given}".encode())
            sent = answer(full, "/crag/_stcore/stream", headers=[asked], kind="websocket", extensions=OFFERS)
            assert bool(inner.reached) is let_in and bool(sent) is not let_in
        assert answer(full, "/crag/_stcore/stream", kind="websocket")[0]["code"] == 1013
    start = sent_when_full(full, seats)
    assert start["status"] == 503 and (b"retry-after", b"10") in start["headers"]
    assert answer(full, "/crag/", headers=[html])[0] == 200, "a place is free again"


def sent_when_full(full, seats):
    with seats.taken(Caller(browser="a")):
        return answer(full, "/crag/_stcore/stream", kind="websocket", extensions=OFFERS)[0]


def test_one_tab_s_files_are_refused_beyond_its_own_limit_and_it_is_told(edge) -> None:
    heard = []
    one = edge(stored=2 * MB, own_mb=3, untaken=lambda session, why: heard.append((session, why)))
    path = "/_stcore/upload_file/a-session/a-file"
    assert answer(one, path, method="PUT", chunks=(b"x" * MB,))[0] == 200 and heard == []
    assert answer(one, path, method="PUT", chunks=(b"x" * MB, b"x"))[0] == 413
    assert answer(one, path, method="PUT", headers=[(b"content-length", b"1048577")])[0] == 413
    assert heard == [("a-session", "One tab may upload 3 MB at once. Add fewer files at a time.")] * 2
    assert one._rules.uploads.held == 2 * MB, "nothing of them counts any more"


@pytest.mark.parametrize("base", ["", "/crag"])
def test_metrics_are_for_the_owner(edge, inner, base) -> None:
    for path in ("/_stcore/metrics", "/_stcore/metrics/"):
        assert answer(edge(base=base), base + path)[0] == 404
    assert inner.reached == []
    assert answer(edge(base=base, metrics=True), f"{base}/_stcore/metrics")[0] == 200
