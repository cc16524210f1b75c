"""A real server on a free loopback port, and a real browser that may speak to nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.support.app_server import Served, gated, serving

HEADER, POLICY = "content-security-policy", "Content Security Policy"
"""Of what a policy forbids, Chromium says so in the console."""

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


@pytest.fixture(scope="session")
def served(tmp_path_factory) -> Iterator[Served]:
    with gated(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture
def served_to_many(tmp_path) -> Iterator[Served]:
    """An app as it is where others can reach it: each browser has its own library."""
    with gated(tmp_path, CRAG_WORKSPACES="private") as found:
        yield found


@pytest.fixture
def served_fresh(tmp_path) -> Iterator[Served]:
    """The app itself, which nobody has opened yet."""
    with serving(tmp_path) as found:
        yield found


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
    """Opens a page of the app in a fresh browser profile.

    At the end nothing may have left this machine, every answer must have carried the app's policy, and the app may have
    wanted nothing that this forbids.
    """
    left, contexts, forbidden, unarmed = [], [], [], []

    def opened(path: str = "", *, width: int = 1440, theme: str = "light", base: str = ""):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
        context.set_default_timeout(40_000)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: left.append(request.url))
        page.on("response", lambda found: HEADER in found.headers or unarmed.append(found.url))
        page.on("console", lambda said: POLICY in said.text and forbidden.append(said.text))
        page.goto((base or served.url) + path)
        return page

    yield opened
    for context in contexts:
        context.close()
    served.gate.unlink(missing_ok=True)
    outside = [url for url in left if not url.startswith(("data:", "blob:")) and urlsplit(url).hostname != "127.0.0.1"]
    assert not outside
    assert not forbidden
    assert not [url for url in unarmed if not url.startswith(("data:", "blob:"))]
    assert left, "the browser asked the app for something"
