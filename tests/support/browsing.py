"""What the browser tests do alike: wait for the script, ask, look for text off the screen."""

OFF_SCREEN = """() => [...document.querySelectorAll('body *')].filter(e => {
    const r = e.getBoundingClientRect();
    if (!e.innerText || e.children.length || r.width === 0 || r.height === 0 || r.right <= innerWidth + 2) return false;
    for (let a = e.parentElement; a; a = a.parentElement)
        if (getComputedStyle(a).overflowX !== 'visible') return false;
    return true;
}).map(e => e.innerText.slice(0, 60))"""


def settled(page):
    page.locator("[data-test-script-state=notRunning]").wait_for(state="attached")
    return page


def ask(page, question):
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill(question)
    box.press("Enter")
    page.locator(".question", has_text=question).wait_for()
