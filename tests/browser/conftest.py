"""A real server on a free loopback port, and a real browser that may speak to nothing else."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


@dataclass(frozen=True)
class Served:
    """A running app: its address, its data folder, and the gate that holds its evaluator."""

    url: str
    data: Path
    gate: Path


@pytest.fixture(scope="session")
def served(tmp_path_factory) -> Iterator[Served]:
    with _serving(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture
def served_to_many(tmp_path) -> Iterator[Served]:
    """An app as it is where others can reach it: each browser has its own library."""
    with _serving(tmp_path, CRAG_WORKSPACES="private") as found:
        yield found


@pytest.fixture
def served_fresh(tmp_path) -> Iterator[Served]:
    """The app itself, which nobody has opened yet."""
    with _serving(tmp_path, ROOT / "app.py") as found:
        yield found


@contextmanager
def _serving(folder: Path, script: Path = Path(__file__).parent / "gated_app.py", **chosen: str) -> Iterator[Served]:
    data, gate, log = folder / "data", folder / "gate", folder / "log"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CRAG_")}
    environment |= {"CRAG_DATA": str(data), "CRAG_TEST_GATE": str(gate), "PYTHONPATH": str(ROOT), **chosen}
    environment["PYTHONPATH"] += os.pathsep + os.environ.get("PYTHONPATH", "")
    command = [sys.executable, "-m", "streamlit", "run", str(script)]
    command += ["--server.port", str(port), "--server.address", "127.0.0.1"]
    with log.open("wb") as out:
        server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=subprocess.STDOUT)
    try:
        _await(f"http://127.0.0.1:{port}/_stcore/health", server, log)
        yield Served(url=f"http://127.0.0.1:{port}", data=data, gate=gate)
    finally:
        server.terminate()
        server.wait(20)


def _await(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=2).close()
            return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"the app did not start:\n{log.read_text()[-3000:]}")


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the playwright package")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs Debian's chromium on the path")
    with playwright.sync_playwright() as driver:
        yield driver.chromium.launch(executable_path=chromium, args=ARGUMENTS)


@pytest.fixture
def open_page(browser, served):
    """Opens a page of the app in a fresh browser profile; at the end nothing may have left this machine."""
    left, contexts = [], []

    def opened(path: str = "", *, width: int = 1440, theme: str = "light", base: str = ""):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
        context.set_default_timeout(40_000)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: left.append(request.url))
        page.goto((base or served.url) + path)
        return page

    yield opened
    for context in contexts:
        context.close()
    served.gate.unlink(missing_ok=True)
    outside = [url for url in left if not url.startswith(("data:", "blob:")) and urlsplit(url).hostname != "127.0.0.1"]
    assert not outside
    assert left, "the browser asked the app for something"
