"""A real server on a free loopback port, and a real browser that may speak to nothing else."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from urllib.parse import urljoin, urlsplit

import pytest

from crag.core.config import AppConfig
from crag.core.protocols import RunRequest
from crag.core.sample import load_sample
from crag.core.trace import Trace
from crag.storage.private import name_of
from tests.support import local_models
from tests.support.app_server import Served, gated, over_the_sample, serving
from tests.support.browsing import ARGUMENTS, settled
from tests.support.web_server import Reply, Server
from tests.support.web_server import serving as answering
from ui.app import saved_choices

HEADER, POLICY = "content-security-policy", "Content Security Policy"
"""Of what a policy forbids, Chromium says so in the console."""

FAILED = pytest.StashKey[bool]()
"""Whether the test itself has failed."""
PATIENCE = 40_000
"""Milliseconds that a busy machine may take for what is waited for."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    item.stash[FAILED] = call.when == "call" and report.failed
    return report


@pytest.fixture(scope="session")
def served(tmp_path_factory, sample_data) -> Iterator[Served]:
    """The app with a gate over the sample library."""
    with over_the_sample(tmp_path_factory.mktemp("browser"), sample_data) as found:
        yield found


@pytest.fixture(scope="session")
def answered(served) -> str:
    """The address of a run of the sample's first question that has ended."""
    with local_models.engine(AppConfig.of(data=served.data)) as engine:
        trace = Trace.from_events(engine.ask(RunRequest(load_sample().questions[0].question, via="app")))
    return f"/?run={trace.run_id}"


@pytest.fixture(scope="session")
def portal() -> Iterator[Server]:
    """A page of another origin that the app `served_to_many` may be framed by."""
    with answering(lambda request: Reply()) as found:
        yield found


@pytest.fixture(scope="session")
def served_to_many(tmp_path_factory, portal) -> Iterator[Served]:
    """An app as it is where others can reach it: each browser has its own library. It has room for 1 MB of uploads."""
    chosen = {"CRAG_WORKSPACES": "private", "CRAG_FRAMED_BY": portal.address, "CRAG_UPLOADS_MB": "1"}
    with gated(tmp_path_factory.mktemp("many"), **chosen) as found:
        yield found


@pytest.fixture(scope="module")
def own_library(served_to_many) -> Callable[[], tuple[str, str]]:
    """Gives out a library there: the name of its workspace, and what its address ends in."""

    def given() -> tuple[str, str]:
        with local_models.engine(AppConfig.of(data=served_to_many.data)) as engine:
            key = engine.private_libraries.issue()
        return name_of(key), f"?w={key}"

    return given


@pytest.fixture
def served_fresh(tmp_path) -> Iterator[Served]:
    """The app itself, which nobody has opened yet."""
    with serving(tmp_path) as found:
        yield found


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the playwright package")
    playwright.expect.set_options(timeout=PATIENCE)
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs Debian's chromium on the path")
    with playwright.sync_playwright() as driver:
        yield driver.chromium.launch(executable_path=chromium, args=ARGUMENTS)


@pytest.fixture(scope="session")
def tab(browser):
    """A tab that one test after another opens its first page in: the app's script is compiled once."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


def left_empty(tab) -> None:
    """Nothing stored, and no page in it: one left open takes a tenth of a processor from all tests that follow.

    A word of the same server stands there, so that the browser keeps the process that has compiled the app's script.
    """
    from playwright.sync_api import Error  # only here: it may not be installed

    if tab.url.startswith("http"):
        tab.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        with suppress(Error):  # where its server has ended, the browser shows a page of its own
            tab.goto(urljoin(tab.url, "/_stcore/health"))
    tab.context.clear_cookies()


@pytest.fixture
def open_page(request, browser, tab):
    """Opens a page of the app: the first in the tab that the test before left empty, any other
    (and with `own` the first too) in a browser profile of its own, or in another tab of the page `beside`.

    At the end nothing may have left this machine, every answer must have carried the app's policy, and the app may have
    wanted nothing that this forbids.
    """
    left, opened_here, forbidden, unarmed = [], [], [], []
    heard = {
        "request": lambda request: left.append(request.url),
        "response": lambda found: HEADER in found.headers or unarmed.append(found.url),
        "console": lambda said: POLICY in said.text and forbidden.append(said.text),
    }
    pages, apps = [], []

    def opened(path: str = "", *, width=1440, theme="light", base="", own=False, beside=None):
        if beside is not None:
            page = beside.context.new_page()
            opened_here.append(page)
        elif pages or own:
            opened_here.append(browser.new_context())
            page = opened_here[-1].new_page()
        else:
            page = tab
        pages.append(page)
        page.set_default_timeout(PATIENCE)
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        for name, listen in heard.items():
            page.on(name, listen)
        if not base:
            apps.append(request.getfixturevalue("served"))
        page.goto((base or apps[-1].url) + path)
        return page

    yield opened
    for page in pages if request.node.stash.get(FAILED, False) else ():
        request.node.add_report_section("teardown", page.url, page.locator("body").aria_snapshot())
    for name, listen in heard.items():
        for page in pages:
            page.remove_listener(name, listen)
    for each in opened_here:
        each.close()
    left_empty(tab)
    for app in apps:
        app.gate.unlink(missing_ok=True)
        (app.data / saved_choices.FILE).unlink(missing_ok=True)
    outside = [url for url in left if not url.startswith(("data:", "blob:")) and urlsplit(url).hostname != "127.0.0.1"]
    assert not outside
    assert not forbidden
    assert not [url for url in unarmed if not url.startswith(("data:", "blob:"))]
    assert left, "the browser asked the app for something"


@pytest.fixture
def page(open_page, answered):
    """A finished run of the sample on Ask."""
    page = open_page(answered)
    page.locator(".sources li").first.wait_for()
    return settled(page)
