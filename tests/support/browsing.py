"""What the browser tests do alike: wait for the script, ask, look for text off the screen."""

import time
from contextlib import contextmanager

ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
"""Of Chromium: it finds this machine alone."""
SECONDS = 40.0
OFF_SCREEN = """() => [...document.querySelectorAll('body *')].filter(e => {
    if (e.children.length) return false;
    const r = e.getBoundingClientRect();
    if (r.width === 0 || r.height === 0 || r.right <= innerWidth + 2 || !e.innerText) return false;
    for (let a = e.parentElement; a; a = a.parentElement)
        if (getComputedStyle(a).overflowX !== 'visible') return false;
    return true;
}).map(e => e.innerText.slice(0, 60))"""


def from_menu(page, name):
    """Opens a page of the menu "More"."""
    in_menu(page, name).click()


def in_menu(page, name):
    """The entries of the menu "More" with this name; it is open then."""
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Compare", exact=True).wait_for()
    return page.get_by_role("menuitem", name=name, exact=True)


STYLED = "() => getComputedStyle(document.documentElement).getPropertyValue('--quiet') !== ''"
"""Whether the app's style sheet holds: Streamlit loads what applies it after the first words are on the screen."""


def settled(page):
    page.locator("[data-test-script-state=notRunning]").wait_for(state="attached")
    until(page, STYLED)
    return page


def until(page, script, arg=None):
    """What the function returns in the page, once that is true.

    Playwright's own wait looks again from within the page, where our security policy forbids what it does for that.
    """
    ends = time.monotonic() + SECONDS
    while not (found := page.evaluate(script, arg)):
        assert time.monotonic() < ends, f"not within {SECONDS:g} seconds: {script}"
        page.wait_for_timeout(50)
    return found


def fits(page, *widths):
    """Nothing is off the screen at these widths (else at two), in either theme; the page is wide again afterwards."""
    for width in widths or (1440, 420):
        page.set_viewport_size({"width": width, "height": 900})
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            until(page, "theme => getComputedStyle(document.querySelector('.stApp')).colorScheme === theme", theme)
            until(page, f"() => ({OFF_SCREEN})().length === 0")
            until(page, "width => document.documentElement.scrollWidth <= width", width)
    page.set_viewport_size({"width": 1440, "height": 900})
    assert page.get_by_test_id("stException").count() == 0


def ask(page, question):
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill(question)
    box.press("Enter")
    page.locator(".question", has_text=question).wait_for()


def choose(page, key, row=0, across=60):
    """A click on a cell of the table whose key begins so, `across` pixels from its left.

    A click is lost where the table moves under it, so this waits until the script has ended and the table stands still.
    """
    settled(page)
    canvas = page.locator(f"[class*='st-key-{key}'] canvas").first
    canvas.evaluate("canvas => canvas.scrollIntoView({ block: 'center', behavior: 'instant' })")
    # Forced, for another layer of the table lies over its canvas and takes the click.
    place = {"x": across, "y": 52 + 35 * row}
    canvas.hover(position=place, force=True)
    settled(page)
    box = None
    while (now := canvas.bounding_box()) != box:
        box = now
        page.wait_for_timeout(100)
    canvas.click(position=place, force=True)


@contextmanager
def opened_file(browser, file, **how):
    """A page from disk; at the end it must have asked for nothing outside its folder and have had no trouble."""
    context = browser.new_context(**how)
    page, asked, troubles = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: message.type in ("error", "warning") and troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto(file.as_uri())
    yield page
    context.close()
    assert not troubles and all(url.startswith((file.parent.as_uri(), "data:", "blob:")) for url in asked)
