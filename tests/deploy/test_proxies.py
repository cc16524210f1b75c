"""The proxies as examples have them: checked by their own programs, run before two app servers."""

import re
import shutil
import ssl
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import yaml
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

from tests.support.app_server import ROOT, Served, serving
from tests.support.eventually import eventually
from tests.support.other_programs import at_work, free_port

FOLDER = ROOT / "deploy" / "proxies"
LIMIT_MB = 12
TOKEN = "a scraper's token of the tests"
MB = 2**20


@dataclass(frozen=True)
class Proxy:
    """A program, its example, how the example is written for a test, and how it is checked and run."""

    program: str
    file: str
    written: Callable[[str, Path], str]
    check: tuple[str, ...]
    run: tuple[str, ...]


def nginx(text: str, folder: Path) -> str:
    """The whole of a configuration around the example, which is one file of conf.d."""
    temporary = " ".join(
        f"{each}_temp_path {folder}/{each};" for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main = f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/error; events {{}}"
    text = text.replace("client_max_body_size 201m", f"client_max_body_size {LIMIT_MB + 1}m")
    return f"{main} http {{ access_log off; {temporary}\n{text}\n}}"


def caddy(text: str, folder: Path) -> str:
    text = text.replace("crag.example.org", "https://127.0.0.1:443").replace("201MiB", f"{LIMIT_MB + 1}MiB")
    return text.replace("admin off", "admin off\n\tauto_https disable_redirects\n\tskip_install_trust")


def haproxy(text: str, folder: Path) -> str:
    return text.replace("210763776", str((LIMIT_MB + 1) * MB)).replace("inter 5s", "inter 1s")


PROXIES = [
    Proxy("nginx", "nginx.conf", nginx, ("-t", "-c"), ("-c",)),
    Proxy(
        "caddy", "Caddyfile", caddy, ("validate", "--adapter", "caddyfile", "--config"),
        ("run", "--adapter", "caddyfile", "--config"),
    ),
    Proxy("haproxy", "haproxy.cfg", haproxy, ("-c", "-f"), ("-db", "-f")),
]  # fmt: skip


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a certificate for this machine's own address, of its key, and of both in one file."""
    folder = tmp_path_factory.mktemp("tls")
    openssl = shutil.which("openssl") or pytest.skip("openssl is not installed")
    made = f"req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout {folder}/key.pem"
    made += f" -out {folder}/cert.pem -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    subprocess.run([openssl, *made.split()], check=True, capture_output=True)
    (folder / "both.pem").write_bytes((folder / "cert.pem").read_bytes() + (folder / "key.pem").read_bytes())
    return folder


def configured(proxy: Proxy, folder: Path, certificate: Path, ports: tuple[int, int, int]) -> tuple[str, Path]:
    """The program, and the example with ports, certificate and limit of the test in place of its own."""
    program = shutil.which(proxy.program) or shutil.which(proxy.program, path="/usr/sbin")
    if program is None:
        pytest.skip(f"{proxy.program} is not installed: apt-get install {proxy.program}")
    listens, one, two = ports
    text = (FOLDER / proxy.file).read_text(encoding="utf-8")
    assert text.count("8501") == 1 and text.count("8502") == 1 and "/etc/ssl/crag" in text
    text = proxy.written(text, folder).replace("/etc/ssl/crag", str(certificate))
    text = text.replace("127.0.0.1:8501", f"127.0.0.1:{one}").replace("127.0.0.1:8502", f"127.0.0.1:{two}")
    text = re.sub(r"(listen |bind :|https://127.0.0.1:)443", rf"\g<1>{listens}", text)
    text = text.replace(f"listen {listens}", f"listen 127.0.0.1:{listens}").replace("bind :", "bind 127.0.0.1:")
    file = folder / proxy.file
    file.write_text(text, encoding="utf-8")
    return program, file


@pytest.mark.parametrize("proxy", PROXIES, ids=lambda each: each.program)
def test_the_example_passes_the_program_s_own_check(proxy: Proxy, tmp_path: Path, certificate: Path) -> None:
    program, file = configured(proxy, tmp_path, certificate, (9443, 8501, 8502))
    ran = subprocess.run([program, *proxy.check, file], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "warning" not in ran.stderr.lower().replace('"level":"warn"', ""), ran.stderr


@pytest.mark.parametrize(
    ("file", "stays", "closes", "never"),
    [
        ("nginx.conf", "hash $crag_at consistent;", "default upgrade;", "keepalive "),
        ("Caddyfile", "lb_policy cookie crag_at", "keepalive off", "keepalive_"),
        ("haproxy.cfg", "cookie crag_at insert", "option http-server-close", "http-keep-alive"),
        ("traefik.yaml", "name: crag_at", "maxIdleConnsPerHost: -1", "idleConnTimeout"),
    ],
)
def test_a_browser_stays_at_one_server_and_no_connection_to_several_is_kept(
    file: str, stays: str, closes: str, never: str
) -> None:
    text = (FOLDER / file).read_text(encoding="utf-8")
    code = "\n".join(line.partition("#")[0] for line in text.splitlines())
    assert code.count("127.0.0.1:8501") == 1 and code.count("127.0.0.1:8502") == 1
    assert stays in code and closes in code and never not in code


def test_the_traefik_example_names_only_what_it_defines() -> None:
    http = yaml.safe_load((FOLDER / "traefik.yaml").read_text(encoding="utf-8"))["http"]
    routers, service = http["routers"].values(), http["services"]["crag"]["loadBalancer"]
    assert {each["service"] for each in routers} == set(http["services"])
    assert {name for each in routers for name in each["middlewares"]} == set(http["middlewares"])
    assert {service["serversTransport"]} == set(http["serversTransports"])
    assert service["healthCheck"]["path"] == "/healthz" and service["sticky"]["cookie"]["httpOnly"]


@contextmanager
def running(proxy: Proxy, folder: Path, certificate: Path, apps: tuple[Served, Served]) -> Iterator[str]:
    """The proxy before two apps; its address."""
    port = free_port()
    program, file = configured(proxy, folder, certificate, (port, apps[0].port, apps[1].port))
    own = {"PATH": "/usr/sbin:/usr/bin:/bin", "HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    url = f"https://127.0.0.1:{port}"
    with at_work([program, *proxy.run, file], folder / "said", cwd=folder, env=own) as process:
        eventually(lambda: answers(url) or process.poll() is not None)
        assert process.poll() is None, (folder / "said").read_text()
        yield url


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", verify=False, timeout=10).status_code == 200
    except httpx.TransportError:
        return False


class Browser:
    """What a browser does: opens the page, keeps its cookies, opens the socket, uploads with its token."""

    def __init__(self, url: str, certificate: Path) -> None:
        self.url = url
        self.client = httpx.Client(base_url=url, verify=ssl.create_default_context(cafile=certificate), timeout=60)
        self.first = self.client.get("/")
        self.client.get("/_stcore/health")  # which gives the token of uploads
        self.socket: ClientConnection | None = None
        self.session = ""

    def open(self, certificate: Path) -> None:
        """The page's script runs to its end."""
        cookies = "; ".join(f"{each.name}={each.value}" for each in self.client.cookies.jar)
        self.socket = connect(
            self.url.replace("https", "wss") + "/_stcore/stream",
            origin=self.url,
            subprotocols=["streamlit"],
            additional_headers={"Cookie": cookies},
            ssl=ssl.create_default_context(cafile=certificate),
            max_size=None,
            open_timeout=60,
            legacy=True,
        )
        ask = BackMsg()
        ask.rerun_script.query_string = ""
        self.socket.send(ask.SerializeToString())
        kind = ""
        while kind != "script_finished":
            message = ForwardMsg()
            message.ParseFromString(self.socket.recv(timeout=60))
            kind = message.WhichOneof("type")
            if kind == "new_session":
                self.session = message.new_session.initialize.session_id

    def upload(self, size: int) -> int:
        """The status of an upload of so many bytes."""
        token = self.client.cookies.get("_streamlit_xsrf", "")
        address = f"/_stcore/upload_file/{self.session}/{uuid.uuid4()}"
        files = {"file": ("big.txt", b"x" * size)}
        headers = {"X-Xsrftoken": token, "Origin": self.url}
        with self.client.stream("PUT", address, files=files, headers=headers) as reply:
            return reply.status_code

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()
        self.client.close()


def sessions(app: Served) -> int:
    found = httpx.get(f"{app.url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=20).text
    return int(float(re.findall(r"^crag_sessions (\S+)", found, flags=re.MULTILINE)[0]))


@pytest.fixture(scope="module")
def apps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Served]]:
    """Two app servers over one data folder, as behind a proxy."""
    chosen = {
        "CRAG_WORKSPACES": "private",
        "CRAG_METRICS": "token",
        "CRAG_METRICS_TOKEN": TOKEN,
        "STREAMLIT_SERVER_MAX_UPLOAD_SIZE": str(LIMIT_MB),
        "CRAG_DATA": str(tmp_path_factory.mktemp("shared-data")),
    }
    with ExitStack() as stack:
        one, two = (stack.enter_context(serving(tmp_path_factory.mktemp("app"), **chosen)) for _ in range(2))
        yield one, two


@pytest.mark.heavy
@pytest.mark.parametrize("proxy", PROXIES, ids=lambda each: each.program)
def test_browsers_open_the_app_upload_at_the_limit_and_stay_at_their_server(
    proxy: Proxy, tmp_path: Path, certificate: Path, apps: tuple[Served, Served]
) -> None:
    cert = certificate / "cert.pem"
    with running(proxy, tmp_path, certificate, apps) as url, ExitStack() as stack:
        browsers = []
        for _ in range(10):
            browsers.append(Browser(url, cert))
            stack.callback(browsers[-1].close)
            browsers[-1].open(cert)
        first = browsers[0].first
        assert "content-security-policy" in first.headers and first.headers["strict-transport-security"]
        cookie = next(each for each in first.headers.get_list("set-cookie") if each.startswith("crag_at="))
        assert "httponly" in cookie.lower() or proxy.program == "caddy"
        counts = [sessions(app) for app in apps]
        assert sum(counts) == 10 and min(counts) > 0, "both serve"
        # Of a session at the other server Streamlit refuses every upload.
        assert [browser.upload(1000) for browser in browsers] == [204] * 10
        assert browsers[0].upload(LIMIT_MB * MB - 1000) == 204, "with what stands around the file"
        assert browsers[0].upload((LIMIT_MB + 2) * MB) == 413
        for path in ("/metrics", "/_stcore/metrics", "/metrics/", "//metrics", "/%6detrics"):
            found = browsers[0].client.get(path, headers={"Authorization": f"Bearer {TOKEN}"})
            assert found.status_code in (400, 404) or "crag_" not in found.text, path
        other = connect_from(url, "https://evil.example", cert)
        assert other == 403, "a page of another site"


def connect_from(url: str, origin: str, certificate: Path) -> int:
    """The status with which a socket opened by a page of this origin is refused."""
    from websockets.exceptions import InvalidStatus

    address = url.replace("https", "wss") + "/_stcore/stream"
    try:
        with connect(address, origin=origin, ssl=ssl.create_default_context(cafile=certificate), open_timeout=60):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code
