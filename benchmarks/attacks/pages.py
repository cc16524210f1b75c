"""Web pages made to keep the process busy: seconds, and how long nothing else of the process could run."""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from benchmarks.attacks.figure import Figure, main
from crag.web.webpage import read_page
from tests.support.hostile_pages import PAGES, SIZE

FINDING = 4
GIVEN_UP = 30.0
"""Seconds after which a page is not waited for."""


def text_of(data: bytes, suffix: str) -> None:
    with contextlib.suppress(ValueError):
        read_page(data, suffix, "a page")


def held(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the work, and the longest in which another thread, that only looks at the clock, had no turn."""
    text_of(b"<p>The bridge was opened to traffic in the spring of 1890.</p>" * 5, ".html")
    longest, over = 0.0, threading.Event()

    def ticking() -> None:
        nonlocal longest
        last = time.perf_counter()
        while not over.is_set():
            time.sleep(0.001)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now

    clock = threading.Thread(target=ticking)
    clock.start()
    began = time.perf_counter()
    work()
    seconds = time.perf_counter() - began
    over.set()
    clock.join()
    return seconds, longest


def one_markdown_page() -> Figure:
    page = b"__a " * (SIZE // 4)
    seconds, longest = held(lambda: text_of(page, ".md"))
    return Figure(
        finding=FINDING, what='Markdown page of "__a ", 2 MB', value=f"{seconds:.2f} s, lock held for {longest:.2f} s"
    )


def five_markdown_pages() -> Figure:
    page = b"__a " * (SIZE // 4)

    def five() -> None:
        with ThreadPoolExecutor(5) as threads:
            list(threads.map(lambda _: text_of(page, ".md"), range(5)))

    seconds, longest = held(five)
    return Figure(finding=FINDING, what="five of them at once", value=f"{seconds:.2f} s, lock held for {longest:.2f} s")


def worst_of_the_hostile_pages() -> Figure:
    """Each in a process of its own, which can be ended: nothing else ends a pattern that holds the lock."""
    text_of(b"<p>The bridge was opened to traffic in the spring of 1890.</p>" * 5, ".html")
    took: dict[str, float] = {}
    for page in PAGES:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        reading = multiprocessing.get_context("fork").Process(target=text_of, args=(page.make(SIZE), page.suffix))
        reading.start()
        reading.join(GIVEN_UP)
        reading.kill()
        reading.join()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took[page.name] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    worst = max(took, key=lambda name: took[name])
    endless = sum(seconds > 0.9 * GIVEN_UP for seconds in took.values())
    value = f"{worst}: {took[worst]:.2f} s of processor time; all {len(took)} together {sum(took.values()):.0f} s"
    value += f"; {endless} given up after {GIVEN_UP:.0f} s" if endless else ""
    return Figure(finding=FINDING, what="worst of the hostile pages", value=value)


if __name__ == "__main__":
    main([one_markdown_page, five_markdown_pages, worst_of_the_hostile_pages])
