"""A browser at the app and at a real provider: signing in and out, three roles, and removed while working."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from crag.admin.people import People
from tests.support.app_server import serving
from tests.support.browsing import ARGUMENTS, OFF_SCREEN, settled
from tests.support.signing_in import openid_provider, people_of, secrets_file

playwright = pytest.importorskip("playwright.sync_api", reason="needs the playwright package")

pytestmark = pytest.mark.heavy

LOOPBACK = ("localhost", "127.0.0.1")
PATIENCE = 60_000


@dataclass(frozen=True)
class Place:
    """The app, its data, and the provider's address."""

    url: str
    data: Path
    issuer: str

    @property
    def people(self) -> People:
        return people_of(self.data)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("browsed")
    with openid_provider() as provider:
        for subject, groups in {"ada": [], "ed": ["writers"], "vera": []}.items():
            about = {"email": f"{subject}@example.org", "name": f"{subject.capitalize()} Example", "groups": groups}
            provider.knows(subject, **about)
        file = secrets_file(folder, provider.section())
        chosen = {"CRAG_ADMINS": "ada@example.org", "CRAG_EDITORS_GROUP": "writers"}
        with serving(folder, options=["--secrets.files", str(file)], **chosen) as served:
            yield Place(served.url.replace("127.0.0.1", "localhost"), served.data, provider.url)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs Debian's chromium on the path")
    with playwright.sync_playwright() as found:
        chrome = found.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield chrome
        chrome.close()


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A new browser of somebody; nothing leaves loopback, and nothing breaks the content policy."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    page, strange, said = context.new_page(), [], []
    page.on("request", lambda request: strange.append(request.url) if not _inside(request.url) else None)
    page.on("console", lambda line: said.append(line.text) if "Content Security Policy" in line.text else None)
    yield page
    context.close()
    ours = [each for each in strange if "oauth2" not in each and "cdn" not in each]
    assert not ours and not said


def _inside(url: str) -> bool:
    return not url.startswith("http") or url.split("/")[2].partition(":")[0] in LOOPBACK


def sign_in(page: Any, place: Place, subject: str, path: str = "") -> None:
    page.goto(place.url + path)
    page.get_by_role("button", name="Sign in").click()
    page.locator("input[name=sub]").fill(subject)
    page.get_by_role("button", name="Authorize").click()
    page.wait_for_url(f"{place.url}/**")
    page.locator(".st-key-who", has_text=f"{subject.capitalize()} Example").wait_for()
    settled(page)


def test_the_sign_in_page_shows_who_and_what_is_asked_and_nothing_of_a_library(place: Place, tab: Any) -> None:
    for width in (1440, 420):
        tab.set_viewport_size({"width": width, "height": 800})
        tab.goto(f"{place.url}/documents")
        tab.get_by_role("button", name="Sign in").wait_for()
        settled(tab)
        said = tab.inner_text("body")
        assert "CRAG Explorer" in said and "your e-mail" in said
        assert not any(word in said for word in ("Documents", "library is empty", "Records", "Settings"))
        assert tab.evaluate(OFF_SCREEN) == []


def test_in_and_out_again_in_every_tab(place: Place, tab: Any) -> None:
    sign_in(tab, place, "ada")
    tab.get_by_text("Three questions to a sample").wait_for()
    other = tab.context.new_page()
    other.goto(f"{place.url}/settings")
    other.locator(".st-key-who", has_text="Ada Example").wait_for()
    kept = tab.context.cookies()
    assert {each["name"]: each["httpOnly"] for each in kept}["_streamlit_user"] is True
    tab.locator(".st-key-who").get_by_role("button").click()
    assert "admin" in tab.get_by_test_id("stPopoverBody").inner_text()
    tab.get_by_role("button", name="Sign out").click()
    tab.wait_for_url(f"{place.issuer}/**")  # the provider says good-bye too
    assert not any(each["name"] == "_streamlit_user" for each in tab.context.cookies())
    tab.context.add_cookies([each for each in kept if each["name"] == "_streamlit_user"])  # as if it had been copied
    tab.goto(place.url)
    tab.get_by_text("You have signed out").wait_for()
    other.reload()
    other.get_by_text("You have signed out").wait_for()
