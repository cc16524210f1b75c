"""The map in a real browser: points taken with a lasso and with a box, and asked by themselves."""

import numpy as np
import pytest

from crag.core.config import AppConfig
from tests.support import local_models
from tests.support.browsing import settled, until
from tests.support.library_makers import make_document

pytestmark = pytest.mark.slow

expect = pytest.importorskip("playwright.sync_api", reason="needs the playwright package").expect

NAMES, EACH = ("harbour", "meadow"), 12
CHART = ".st-key-documents-map .js-plotly-plot"
PLACES = f"""() => {{
    const drawn = document.querySelector("{CHART}"), known = drawn && drawn.calcdata;
    const points = known && known.filter(([first]) => first.trace.customdata)
        .flatMap(each => each.map((point, place) => [each[0].trace.customdata[place], point.x, point.y]))
        .sort(([one], [other]) => one - other);
    if (!points || document.querySelectorAll("{CHART} .points path.point").length < {2 * EACH}) return null;
    const {{left, top}} = document.querySelector("{CHART} .nsewdrag").getBoundingClientRect();
    const {{xaxis, yaxis}} = drawn._fullLayout;
    return points.map(([, x, y]) => [left + xaxis.c2p(x), top + yaxis.c2p(y)]);
}}"""
"""Where the chunks are on the screen, in the order of their numbers; null until they are drawn."""
STILL = f"before => {{ const now = ({PLACES})(); return JSON.stringify(now) === JSON.stringify(before); }}"


@pytest.fixture(scope="module")
def served(served_to_many):
    return served_to_many


@pytest.fixture(scope="module")
def address(served, own_library):
    """Of a library with two documents whose chunks are far from each other's."""
    name, key = own_library()
    with local_models.engine(AppConfig.of(data=served.data)) as engine:
        dice, width = np.random.default_rng(1), engine.embedder.dimension
        for place, label in enumerate(NAMES):
            document, data, chunks = make_document(label, EACH, model=engine.embedder.id)
            vectors = np.eye(2, width)[[place]] + dice.normal(0, 0.3 / width**0.5, (EACH, width))
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            engine.library(name).documents.add(document, data, chunks, vectors.astype(np.float32))
    return f"/documents{key}"


def places(page):
    """Where the chunks of each document are on the screen, once they stay there: two arrays (12, 2) of pixels."""
    settled(page)
    page.locator(CHART).scroll_into_view_if_needed()
    until(page, f"() => ({PLACES})() !== null")
    found = page.evaluate(PLACES)
    while not page.evaluate(STILL, found):
        found = page.evaluate(PLACES)
    return np.array(found[:EACH]), np.array(found[EACH:])


def drag(page, corners):
    first, *rest = corners
    page.mouse.move(*first)
    page.mouse.down()
    for corner in rest:
        page.mouse.move(*corner, steps=6)
    page.mouse.up()


def test_a_lasso_and_a_box_select_chunks_that_are_then_asked_by_themselves(open_page, address):
    page = open_page(address)
    settled(page).get_by_role("radio", name="Map", exact=True).click()
    selected, ask = page.locator(".st-key-map-selection"), page.get_by_role("button", name="Ask only this document")

    harbour, meadow = places(page)
    (left, top), (right, bottom) = harbour.min(axis=0) - 12, harbour.max(axis=0) + 12
    inside = ((meadow > (left, top)) & (meadow < (right, bottom))).all(axis=1)
    assert not inside.any(), "the two documents lie apart"
    # From below: above the points stand the figure's buttons.
    drag(page, [(left, bottom), (left, top), (right, top), (right, bottom), (left + 2, bottom)])
    expect(selected).to_contain_text("Selected: 12 chunks of 1 document")
    expect(selected).to_contain_text("harbour.pdf: 12 chunks")

    page.get_by_role("button", name="Clear", exact=True).click()
    expect(selected).to_have_count(0)
    page.locator(f"{CHART} .modebar-btn[data-title='Box Select']").click()
    until(page, f"() => document.querySelector('{CHART}')._fullLayout.dragmode === 'select'")
    _, meadow = places(page)
    drag(page, [meadow.min(axis=0) - 12, meadow.max(axis=0) + 12])
    expect(selected).to_contain_text("meadow.pdf: 12 chunks")
    expect(selected).not_to_contain_text("harbour.pdf")

    ask.click()
    expect(page.locator(".st-key-scope")).to_contain_text("Asked of: meadow.pdf")
