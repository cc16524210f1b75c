"""A static site of runs in a real browser, from disk: the index leads to a page that replays, and nothing is loaded."""

import shutil

import pytest

from crag.core.config import AppConfig
from crag.core.protocols import RunRequest
from crag.core.sample import load_sample
from crag.export.html.site import write_site
from tests.support import local_models
from tests.support.browsing import opened_file

expect = pytest.importorskip("playwright.sync_api", reason="needs the playwright package").expect

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory, sample_data):
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(sample_data, folder / "data")
    with local_models.engine(AppConfig.of(data=folder / "data")) as engine:
        runs = [engine.trace(RunRequest(each.question)).run_id for each in load_sample().questions[:2]]
        assert len(list(write_site(engine, "default", runs, folder / "site"))) == 2
    return folder / "site"


def test_the_index_leads_to_a_run_that_replays_and_back(browser, site):
    viewport = {"width": 420, "height": 900}
    with opened_file(browser, site / "index.html", viewport=viewport, color_scheme="dark") as page:
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.get_by_role("heading", level=2).first.get_by_role("link").click()
        expect(page.locator(".action .word")).to_have_text("Your documents: enough")
        page.get_by_role("button", name="Replay").click()
        expect(page.locator(".action .word")).to_have_count(0)
        page.locator(".run[data-state=end]").wait_for()
        expect(page.locator(".action .word")).to_have_text("Your documents: enough")
        page.get_by_role("link", name="All runs").click()
        expect(page.get_by_role("heading", name="Recorded runs")).to_be_visible()
