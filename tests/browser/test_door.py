"""A page opened before any other, by its address: it has the app's style and navigation all the same."""

from urllib.parse import urlsplit

import pytest

from tests.support.browsing import until

pytestmark = pytest.mark.slow


def test_the_first_page_that_anybody_opens_is_the_app_s(open_page, served_fresh) -> None:
    page = open_page("/settings", base=served_fresh.url, own=True)
    page.get_by_role("heading", name="Settings").first.wait_for()
    page.get_by_role("link", name="Documents").first.wait_for()
    assert page.get_by_role("link", name="app", exact=True).count() == 0
    assert urlsplit(page.url).path == "/settings"
    until(page, "() => [...document.querySelectorAll('style')].some(each => each.textContent.includes('.cx'))")
