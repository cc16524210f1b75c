"""The pages behind web results: fetched side by side within limits of address, size, type and time."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from urllib.parse import urljoin, urlsplit

import httpx

from crag.core.errors import CragError, ProviderError, WebSearchError
from crag.core.types import WebPage
from crag.core.waiting import iterated
from crag.correct.addresses import guarded_transport
from crag.correct.webpage import read_page

__all__ = ["PageFetcher"]

log = logging.getLogger(__name__)

MAX_BYTES = 2_000_000
SECONDS = 8.0
"""For one page, from its first request to its last byte."""
REDIRECTS = 4
PARALLEL = 5
TYPES = {"text/html": ".html", "application/xhtml+xml": ".html", "text/plain": ".txt", "text/markdown": ".md"}
AGENT = "Mozilla/5.0 (compatible; CRAG-Explorer)"


class PageFetcher:
    """Fetches pages; a page that can't be had keeps the provider's snippet, and says so by `fetched`."""

    def __init__(self, *, allow_private: bool = False) -> None:
        self._allow_private = allow_private

    def fetched(
        self, pages: Sequence[WebPage], *, seconds: float, cancel: threading.Event
    ) -> tuple[list[WebPage], list[str]]:
        """The pages in order, with their main text where it could be had, and why it could not of the others.

        Raises CancelledError on Stop.
        """
        found, problems = list(pages), []
        limit = max(0.0, min(seconds, SECONDS * 2))
        try:
            for place, text, problem in iterated(lambda: self._all(pages), seconds=limit, cancel=cancel):
                if problem:
                    problems.append(f"{urlsplit(pages[place].url).netloc}: {problem}")
                else:
                    found[place] = replace(pages[place], text=text, fetched=True)
        except ProviderError as error:
            problems.append(error.message)
        return found, problems

    async def _all(self, pages: Sequence[WebPage]) -> AsyncIterator[tuple[int, str, str]]:
        room = asyncio.Semaphore(PARALLEL)

        async def one(client: httpx.AsyncClient, place: int) -> tuple[int, str, str]:
            async with room:
                try:
                    text = await asyncio.wait_for(_text(client, pages[place]), SECONDS)
                except TimeoutError:
                    return place, "", "it took too long"
                except (CragError, httpx.HTTPError, ValueError) as error:
                    return place, "", error.message if isinstance(error, CragError) else _reason(error)
                return place, text, ""

        async with httpx.AsyncClient(
            transport=guarded_transport(self._allow_private),
            headers={"User-Agent": AGENT, "Accept": ", ".join(TYPES)},
            follow_redirects=False,
            trust_env=False,
        ) as client:
            tasks = [asyncio.create_task(one(client, place)) for place in range(len(pages))]
            try:
                for ready in asyncio.as_completed(tasks):
                    yield await ready
            finally:
                for task in tasks:
                    task.cancel()


async def _text(client: httpx.AsyncClient, page: WebPage) -> str:
    """The main text of a page. Raises WebSearchError, httpx.HTTPError, ValueError."""
    address = page.url
    for _ in range(REDIRECTS + 1):
        if urlsplit(address).scheme not in ("http", "https"):
            raise WebSearchError("its address is not one of the web")
        async with client.stream("GET", address) as response:
            if response.is_redirect:
                address = urljoin(address, response.headers.get("location", ""))
                continue
            if response.status_code != 200:
                raise WebSearchError(f"the server said {response.status_code}")
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind not in TYPES:
                raise WebSearchError("it is no page of text")
            data = bytearray()
            async for part in response.aiter_bytes():
                data += part
                if len(data) > MAX_BYTES:
                    raise WebSearchError(f"it is larger than {MAX_BYTES // 1_000_000} MB")
        read = await asyncio.to_thread(read_page, bytes(data), TYPES[kind], page.title)
        return read.text
    raise WebSearchError("it leads from one address to the next without end")


def _reason(error: Exception) -> str:
    match error:
        case httpx.TimeoutException():
            return "it took too long"
        case httpx.HTTPError():
            return "it can't be reached"
        case _:
            return str(error)
