"""Pages behind web results: what is fetched, what is refused, and that nothing of this network ever is."""

import gzip
import socket
import threading
from collections.abc import Callable, Iterator

import httpcore
import pytest

from crag.core.errors import CancelledError
from crag.core.types import Unread, WebPage
from crag.web.addresses import is_public
from crag.web.fetching import MAX_BYTES, REDIRECTS, PageFetcher
from tests.support.web_server import Reply, Request, Server, serving

PAGE = b"<html><title>The bridge</title><body><p>" + b"The bridge was opened in 1890. " * 10 + b"</p></body></html>"
SNIPPET = "the provider's words"


def redirect(to: str, status: int = 302, **more: bytes) -> Reply:
    return Reply(status=status, headers={"Location": to}, **more)  # type: ignore[arg-type]


REPLIES = {
    "/page": Reply(body=PAGE),
    "/plain": Reply(kind="text/plain", body=b"Opened in 1890.\nIt is a bridge."),
    "/markdown": Reply(kind="text/markdown; charset=utf-8", body=b"# The bridge\n\nOpened in **1890**."),
    "/gzip": Reply(body=gzip.compress(PAGE), headers={"Content-Encoding": "gzip"}),
    "/away": redirect("/page"),
    "/far": redirect("/away", 308),
    "/pdf": Reply(kind="application/pdf", body=b"%PDF-1.7"),
    "/image": Reply(kind="image/png", body=b"\x89PNG"),
    "/odd": Reply(kind="text/html/", body=PAGE),
    "/untyped": Reply(kind="", body=PAGE),
    "/missing": Reply(status=404, body=b"no"),
    "/broken": Reply(status=500, body=PAGE),
    "/nowhere": Reply(status=302, body=PAGE),
    "/empty": Reply(),
    "/binary": Reply(body=b"\x00\x01\x02" * 50),
    "/binary-declared": Reply(kind="text/html; charset=koi8-r", body=b"\x00\x01\x02" * 50),
    "/big": Reply(body=b"x" * (MAX_BYTES + 10)),
    "/endless": Reply(body=b"x" * 65_536, ends="endless"),
    "/cut": Reply(body=PAGE, ends="cut"),
    "/closed": Reply(ends="closed"),
    "/hang": Reply(ends="hang"),
    "/drip": Reply(ends="drip"),
    "/brotli": Reply(body=b"\x0b\x02\x80", headers={"Content-Encoding": "br"}),
    "/twice": Reply(body=gzip.compress(gzip.compress(PAGE)), headers={"Content-Encoding": "gzip, gzip"}),
    "/damaged": Reply(body=b"not gzip at all", headers={"Content-Encoding": "gzip"}),
    "/short": Reply(body=gzip.compress(PAGE)[:-12], headers={"Content-Encoding": "gzip"}),
    "/file": redirect("file:///etc/passwd"),
    "/ftp": redirect("ftp://127.0.0.1/x"),
    "/script": redirect("javascript:alert(1)"),
    "/user": redirect("http://user:secret@example.org/"),
    "/bracket": redirect("http://[::1"),
    "/blank": redirect(""),
}


def usual(request: Request) -> Reply:
    if request.path.startswith("/hop/"):
        return redirect(f"/hop/{int(request.path[5:]) + 1}")
    return REPLIES.get(request.path, REPLIES["/missing"])


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serving(usual) as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    running.anew(usual)
    return running


def result(url: str) -> WebPage:
    return WebPage(id=url, url=url, title="A result", text=SNIPPET, provider="p", query="q", rank=1)


def fetched(
    *urls: str, by: PageFetcher | None = None, seconds: float = 20, cancel: threading.Event | None = None
) -> tuple[list[WebPage], list[str]]:
    fetcher = by or PageFetcher(allow_private=True, seconds=10)
    return fetcher.fetched([result(url) for url in urls], seconds=seconds, cancel=cancel or threading.Event())


def trusting(*servers: Server) -> PageFetcher:
    """Allowed to connect to these servers and to no other of this network."""
    return PageFetcher(trusted=[each.place for each in servers])


def test_pages_become_their_main_text_in_order(server: Server) -> None:
    paths = ("/plain", "/page", "/away", "/far", "/gzip", "/markdown")
    pages, problems = fetched(*(server.address + path for path in paths))
    assert problems == []
    assert all(page.fetched and "1890" in page.text for page in pages)
    assert pages[0].text == "Opened in 1890.\nIt is a bridge."
    assert pages[1].text == pages[2].text == pages[3].text == pages[4].text
    assert "The bridge" in pages[5].text and "**" not in pages[5].text


@pytest.mark.parametrize(
    ("path", "why"),
    [
        *((path, "it is no page of text") for path in ("/pdf", "/image", "/odd", "/untyped")),
        ("/missing", "the server said 404"),
        ("/broken", "the server said 500"),
        ("/nowhere", "the server said 302"),
        ("/empty", "it holds no text"),
        ("/binary", "it is binary, not text"),
        ("/binary-declared", "it is binary, not text"),
        ("/big", "it is larger than 2 MB"),
        ("/endless", "it is larger than 2 MB"),
        ("/cut", "its reply broke off or makes no sense"),
        ("/closed", "its reply broke off or makes no sense"),
        ("/short", "its reply broke off"),
        ("/bracket", "its reply broke off or makes no sense"),
        ("/damaged", "it came damaged"),
        ("/brotli", "it is packed in a way that was not asked for"),
        ("/twice", "it is packed in a way that was not asked for"),
        ("/blank", "it leads from one address to the next without end"),
        ("/hop/0", "it leads from one address to the next without end"),
        ("/user", "its address carries a user name"),
        *((path, "its address is not one of the web") for path in ("/file", "/ftp", "/script")),
    ],
)
def test_what_cant_be_used_keeps_the_providers_words_and_says_why(server: Server, path: str, why: str) -> None:
    pages, problems = fetched(server.address + path, f"{server.address}/page")
    assert [page.fetched for page in pages] == [False, True]
    assert pages[0].text == SNIPPET
    assert problems == [Unread(name="127.0.0.1", why=why)]


def test_redirects_end(server: Server) -> None:
    fetched(f"{server.address}/hop/0")
    assert [request.path for request in server.seen] == [f"/hop/{n}" for n in range(REDIRECTS + 1)]


@pytest.mark.parametrize(
    "url",
    [
        *("", "no address", "http://", "http://[::1", "http://a\x00b/", "http://\ud800/", "//x/y"),
        *("http://127.0.0.1:99999/", "http://" + "a" * 64 + ".com/", "http://①②⑦.0.0.1:9/"),
        "http://user:secret@host.example/x?key=secret",
    ],
)
def test_no_address_breaks_the_others_and_none_is_told_with_its_secrets(server: Server, url: str) -> None:
    pages, problems = fetched(url, f"{server.address}/page")
    assert [page.fetched for page in pages] == [False, True]
    [problem] = problems
    assert problem.why.startswith("it") and "secret" not in f"{problem}"


def test_every_page_not_read_is_named_in_the_order_of_the_results(server: Server) -> None:
    urls = [f"{server.address}{path}" for path in ("/missing", "/page", "/pdf")]
    _, problems = fetched(*urls, "http://127.0.0.1:9/refused")
    assert [problem.why for problem in problems] == [
        "the server said 404",
        "it is no page of text",
        "it can't be reached",
    ]


class TestTime:
    """One page's time, the time of all, and Stop."""

    @pytest.mark.parametrize("path", ["/hang", "/drip"])
    def test_a_page_that_does_not_end_is_given_up(self, server: Server, path: str) -> None:
        by = PageFetcher(allow_private=True, seconds=0.4)
        [page], problems = fetched(server.address + path, by=by)
        assert not page.fetched and page.text == SNIPPET
        assert problems == [Unread(name="127.0.0.1", why="it took too long")]

    def test_stop_ends_it_at_once(self, server: Server) -> None:
        cancel = threading.Event()

        def answer(request: Request) -> Reply:
            cancel.set()
            return REPLIES["/hang"]

        server.answer = answer
        with pytest.raises(CancelledError):
            fetched(f"{server.address}/hang", cancel=cancel)


RUSSIAN, JAPANESE, GREEK = "Мост открыт в 1890 году.", "橋は1890年に開通した。", "Η γέφυρα άνοιξε το 1890."


@pytest.mark.parametrize(
    ("parameters", "head", "encoding", "text"),
    [
        ("; charset=windows-1251", "", "cp1251", RUSSIAN),
        ("; charset=shift_jis", "", "shift_jis", JAPANESE),
        ("", '<meta charset="euc-jp">', "euc_jp", JAPANESE),
        ("; charset=iso-8859-7", '<meta charset="utf-8">', "iso8859-7", GREEK),
        ("; charset=iso-8859-1", "", "cp1252", "Über die Brücke – 1890"),
        ("; charset=../../etc/passwd", "", "utf-8", RUSSIAN),
        ("", '<meta charset="utf-8">', "utf-8-sig", RUSSIAN),
    ],
)
def test_pages_are_read_in_the_encoding_they_are_in(
    server: Server, parameters: str, head: str, encoding: str, text: str
) -> None:
    body = f"<html><head>{head}</head><body><p>{text}</p></body></html>".encode(encoding)
    server.answer = lambda request: Reply(kind=f"text/html{parameters}", body=body)
    [page], problems = fetched(f"{server.address}/")
    assert problems == [] and page.text == text


def test_no_codec_that_takes_minutes_is_used_on_a_page(server: Server) -> None:
    """Python's punycode takes more than a minute for this one."""
    body = b'<meta charset="punycode"><p>' + b"a" * 600_000 + b"-" + b"b9" * 300_000
    server.answer = lambda request: Reply(kind="text/html; charset=punycode", body=body)
    [page], problems = fetched(f"{server.address}/", by=PageFetcher(allow_private=True, seconds=10))
    assert problems == [] and page.fetched


class TestAddresses:
    """Nothing of this machine or its network is fetched, by whatever name or detour."""

    @pytest.mark.parametrize(
        "hosts",
        [
            ("127.0.0.1", "localhost", "LOCALHOST", "0.0.0.0", "127.1", "127.0.1", "0", "127.255.1.2"),
            ("2130706433", "0x7f000001", "0x7f.1", "017700000001", "0177.0.0.1"),
            ("[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]"),
            ("169.254.169.254", "[fe80::1%25lo]", "10.0.0.1", "192.168.0.1", "[fd00:ec2::254]", "100.100.100.200"),
            ("168.63.129.16", "192.0.0.192", "１２７.0.0.1", "user@127.0.0.1", "a:b@localhost"),
            ("127.0.0.1.", "localhost.", "0x7f.0x0.0x0.0x1", "0177.0.0.01", "127.0x1", "0x7F000001"),
            ("00000000177.1", "①②⑦.⓪.⓪.①", "127。0。0。1", "127．0．0．1", "127｡0｡0｡1", "ｌocalhost"),
            ("%6c%6f%63alhost", "%31%32%37.0.0.1", "127.0.0.1%00.example", "127.0.0.1%2f.example"),
            ("example@127.0.0.1", "example:80@[::1]", "%40127.0.0.1", "0xa9fea9fe", "2852039166"),
            ("0251.0376.0251.0376", "169.254.43518", "169.16689662", "0xA9.0xFE.0xA9.0xFE"),
            ("[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]", "[2002:7f00:1::]"),
            ("[::ffff:0:0]", "[2002:a9fe:a9fe::]", "[2001:0:4136:e378::]", "[0:0:0:0:0:0:0:1]"),
            ("[0000::0001]", "[::1%25lo]", "[fc00::1]", "[ff02::1]", "[fec0::1]", "[::ffff:10.0.0.1]"),
            ("[64:ff9b:1::7f00:1]", "172.16.0.1", "172.31.255.254", "100.64.0.1", "100.127.255.254"),
            ("198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "0.1.2.3"),
        ],
    )
    def test_none_of_its_hosts_is_asked(
        self, server: Server, hosts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opened: list[str] = []
        resolver = socket.getaddrinfo

        def resolved(host: bytes | str, port: int, *_: object, **__: object) -> object:
            """As the system does, but no name is looked up anywhere."""
            name = host.decode() if isinstance(host, bytes) else host
            here = name.lower().rstrip(".") == "localhost"
            return resolver(host, port, type=socket.SOCK_STREAM, flags=0 if here else socket.AI_NUMERICHOST)

        async def connect(self: object, host: str, *_: object, **__: object) -> None:
            opened.append(host)
            raise httpcore.ConnectError

        monkeypatch.setattr(socket, "getaddrinfo", resolved)
        monkeypatch.setattr(httpcore.AnyIOBackend, "connect_tcp", connect)
        port = server.place[1]
        pages, problems = fetched(*(f"http://{host}:{port}/page" for host in hosts), by=PageFetcher(seconds=20))
        assert not [page.url for page in pages if page.fetched] and {page.text for page in pages} == {SNIPPET}
        assert len(pages) == len(problems) == len(hosts)
        assert server.seen == [] and server.connections == 0 and opened == []

    @pytest.mark.parametrize("inner", ["169.254.169.254", "10.0.0.1", "127.0.0.2", "::1", "fd00:ec2::254"])
    @pytest.mark.parametrize("name", ["metadata.google.internal", "instance-data", "127.0.0.1.nip.example"])
    def test_nor_one_by_a_name_that_leads_there(
        self, server: Server, monkeypatch: pytest.MonkeyPatch, name: str, inner: str
    ) -> None:
        family, port = socket.AF_INET6 if ":" in inner else socket.AF_INET, server.place[1]
        found = [(family, socket.SOCK_STREAM, 6, "", (inner, port))]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        [page], [problem] = fetched(f"http://{name}:{port}/page", by=PageFetcher(seconds=2))
        assert not page.fetched and "network" in problem.why and server.connections == 0

    @pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/", "unix:/run/x"])
    def test_nor_is_another_scheme(self, url: str) -> None:
        assert fetched(url, by=PageFetcher())[1][0].why == "its address is not one of the web"

    @pytest.mark.parametrize(
        ("host", "status"),
        [
            *(("127.0.0.1", status) for status in (301, 302, 303, 307, 308)),
            *((host, 302) for host in ("localhost", "2130706433", "[::ffff:127.0.0.1]")),
        ],
    )
    def test_a_redirect_from_a_server_that_is_allowed_is_refused(self, server: Server, host: str, status: int) -> None:
        with serving(usual) as inner:
            to = f"http://{host}:{inner.place[1]}/page"
            server.answer = lambda request: redirect(to, status)
            [page], [problem] = fetched(f"{server.address}/", by=trusting(server))
            assert len(server.seen) == 1 and inner.connections == 0
        assert not page.fetched
        assert "an address of this machine or its network (Settings do not allow it)" in problem.why

    def test_a_redirect_to_the_clouds_inner_address_is_refused(self, server: Server) -> None:
        server.answer = lambda request: redirect("http://169.254.169.254/latest/meta-data/")
        why = "169.254.169.254 is an address of this machine or its network (Settings do not allow it)"
        assert fetched(f"{server.address}/", by=trusting(server))[1] == [Unread(name="127.0.0.1", why=why)]

    def test_a_redirect_within_a_server_that_is_allowed_is_followed(self, server: Server) -> None:
        pages, problems = fetched(f"{server.address}/far", f"{server.address}/page", by=trusting(server))
        assert problems == [] and all(page.fetched for page in pages)
        again = [f"http://localhost:{server.place[1]}/page"]
        assert fetched(*again, by=PageFetcher(trusted=[server.place, ("::1", server.place[1])]))[1] == []

    def test_a_kept_connection_is_used_for_its_own_server_alone(self, server: Server) -> None:
        """A second host on the same port is another connection, and is checked as such."""
        port = server.place[1]
        server.answer = lambda request: redirect(f"http://127.0.0.2:{port}/page", body=b"moved")
        [page], [problem] = fetched(f"{server.address}/", by=trusting(server))
        assert not page.fetched and "127.0.0.2 is an address of this machine" in problem.why
        assert [request.headers["Host"] for request in server.seen] == [f"127.0.0.1:{port}"]

    def test_one_setting_allows_them_all(self, server: Server) -> None:
        [page], problems = fetched(f"{server.address}/page", by=PageFetcher(allow_private=True))
        assert page.fetched and problems == []

    def test_no_proxy_of_the_environment_is_asked_instead(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A proxy would open the connections, unchecked."""
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, server.address)
        _, [problem] = fetched("http://169.254.169.254/latest/", by=PageFetcher(seconds=2))
        assert "network" in problem.why and server.seen == []


class TestNames:
    """A name may have many addresses, and others at each asking. (The system's resolver stands aside here.)"""

    @pytest.fixture
    def asked(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        port = server.place[1]
        known = {"one": ["127.0.0.1"], "mixed": ["127.0.0.1", "10.0.0.1"], "first-dead": ["127.0.0.2", "127.0.0.1"]}
        names: list[str] = []

        def resolved(host: bytes | str, *_: object, **__: object) -> list[object]:
            name = host.decode() if isinstance(host, bytes) else host
            names.append(name)
            found = known.get(name.removesuffix(".example"), []) if names.count(name) == 1 else ["10.0.0.1"]
            if not found:
                raise socket.gaierror
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in found]

        monkeypatch.setattr(socket, "getaddrinfo", resolved)
        return names

    @pytest.fixture
    def by(self, server: Server) -> PageFetcher:
        return PageFetcher(trusted=[server.place, ("127.0.0.2", server.place[1])])

    def test_the_address_that_was_checked_is_the_one_connected_to(
        self, server: Server, asked: list[str], by: PageFetcher
    ) -> None:
        [page], _ = fetched(f"http://one.example:{server.place[1]}/page", by=by)
        assert page.fetched and asked == ["one.example"]

    def test_one_inner_address_among_several_is_enough_to_refuse(
        self, server: Server, asked: list[str], by: PageFetcher
    ) -> None:
        _, [problem] = fetched(f"http://mixed.example:{server.place[1]}/page", by=by)
        assert "mixed.example is an address of this machine" in problem.why and server.connections == 0

    def test_where_nobody_answers_the_next_address_is_tried(
        self, server: Server, asked: list[str], by: PageFetcher
    ) -> None:
        assert fetched(f"http://first-dead.example:{server.place[1]}/page", by=by)[1] == []
        assert asked == ["first-dead.example"]


@pytest.mark.parametrize(
    ("address", "public"),
    [
        *((each, True) for each in ("93.184.216.34", "8.8.8.8", "1.1.1.1", "2606:4700::1111", "64:ff9b::808:808")),
        *((each, True) for each in ("::ffff:8.8.8.8", "2002:808:808::")),
        *((each, False) for each in ("10.0.0.1", "172.16.0.1", "192.168.1.1", "127.0.0.1", "0.0.0.0", "0.1.2.3")),
        *((each, False) for each in ("169.254.169.254", "168.63.129.16", "192.0.0.192", "100.100.100.200")),
        *((each, False) for each in ("100.64.0.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255")),
        *((each, False) for each in ("::", "::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1")),
        *((each, False) for each in ("::ffff:10.0.0.1", "::7f00:1", "::ffff:0:7f00:1", "64:ff9b::7f00:1")),
        *((each, False) for each in ("64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "2002:7f00:1::", "2002:a00:1::")),
        *((each, False) for each in ("2001:db8::1", "3fff::1", "100::1", "5f00::1", "2001:0:4136:e378::")),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_a_hostile_page_does_not_end_the_others(server: Server) -> None:
    deep: Callable[[int], bytes] = lambda n: b"<div>" * n + b"The bridge of 1890"  # noqa: E731
    server.answer = lambda request: Reply(body=deep(50_000)) if request.path == "/deep" else REPLIES["/page"]
    pages, _ = fetched(f"{server.address}/deep", f"{server.address}/page")
    assert pages[1].fetched
