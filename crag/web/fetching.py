"""The pages behind web results: fetched side by side within limits of address, size, type and time."""

from __future__ import annotations

import asyncio
import codecs
import logging
import re
import threading
import zlib
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import urljoin, urlsplit

import httpx

from crag.core.errors import ProviderError, WebSearchError
from crag.core.types import Unread, WebPage
from crag.runtime.connection import BoundedClient, OversizedError, PackingError
from crag.runtime.waiting import CLOCK, Clock, iterate
from crag.text.encodings import decode_text
from crag.web.addresses import AddressError, Place, guarded_transport
from crag.web.webpage import read_page

log = logging.getLogger(__name__)

MAX_BYTES = 2_000_000
"""Of one page, unpacked."""
SECONDS = 8.0
"""For one page, from its first request to its last byte. All together have twice as long."""
REDIRECTS = 4
PARALLEL = 5
TYPES = {"text/html": ".html", "application/xhtml+xml": ".html", "text/plain": ".txt", "text/markdown": ".md"}
AGENT = "Mozilla/5.0 (compatible; CRAG-Explorer)"
LATE = "it took too long"
UNREAD = "there was no time left for it"


class PageFetcher:
    """Fetches pages; a page that can't be had keeps the provider's snippet, and says so by `fetched`."""

    def __init__(
        self,
        *,
        allow_private: bool = False,
        trusted: Collection[Place] = (),
        seconds: float = SECONDS,
        clock: Clock = CLOCK,
    ) -> None:
        """`trusted`: the IP addresses and ports of servers in this network whose pages are fetched all the same.

        `seconds`: for one page; all together have twice as long.
        """
        self._allow_private, self._trusted = allow_private, trusted
        self._seconds, self._clock = seconds, clock

    def fetched(
        self, pages: Sequence[WebPage], *, seconds: float, cancel: threading.Event
    ) -> tuple[list[WebPage], list[Unread]]:
        """The pages in order, with their main text where it could be had; and why of each of the others not.

        All of it takes at most so many seconds. Raises CancelledError on Stop.
        """
        found = list(pages)
        reasons = dict.fromkeys(range(len(pages)), UNREAD)
        limit = max(0.0, min(seconds, self._seconds * 2))
        try:
            ready = iterate(lambda: self._all(pages), seconds=limit, cancel=cancel, clock=self._clock)
            for place, text, reason in ready:
                reasons[place] = reason
                if not reason:
                    found[place] = replace(pages[place], text=text, fetched=True)
        except ProviderError as error:
            log.info("pages were given up: %s", error.message)
        return found, [Unread(name=_host(pages[place].url), why=why) for place, why in reasons.items() if why]

    async def _all(self, pages: Sequence[WebPage]) -> AsyncIterator[tuple[int, str, str]]:
        """Of each page, as it is ready: its place, its text, and why there is none."""
        room = asyncio.Semaphore(PARALLEL)

        async def one(client: httpx.AsyncClient, place: int) -> tuple[int, str, str]:
            async with room:
                try:
                    return place, await asyncio.wait_for(_text(client, pages[place]), self._seconds), ""
                except Exception as error:  # noqa: BLE001 - whatever a hostile page breaks, the others are still read
                    return place, "", reason_of(error)

        async with BoundedClient(
            transport=guarded_transport(self._allow_private, self._trusted),
            headers={"User-Agent": AGENT, "Accept": ", ".join(TYPES)},
            limit=MAX_BYTES,
            follow_redirects=False,
            timeout=self._seconds,
            trust_env=False,
        ) as client:
            tasks = [asyncio.create_task(one(client, place)) for place in range(len(pages))]
            try:
                for ready in asyncio.as_completed(tasks):
                    yield await ready
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def follow_redirects(
    client: httpx.AsyncClient, address: str, headers: Mapping[str, str] | None = None
) -> AsyncIterator[httpx.Response]:
    """What is at the end of the redirects of an address, each of them checked. Raises what `reason_of` knows."""
    for _ in range(REDIRECTS + 1):
        check_address(address)
        async with client.stream("GET", address, headers=headers) as response:
            if not response.has_redirect_location:
                yield response
                return
            address = urljoin(address, response.headers["location"])
    raise WebSearchError("it leads from one address to the next without end")


async def _text(client: httpx.AsyncClient, page: WebPage) -> str:
    """The main text of a page. Raises what `reason_of` knows."""
    async with follow_redirects(client, page.url) as response:
        if response.status_code != 200:
            raise WebSearchError(f"the server said {response.status_code}")
        kind, _, more = response.headers.get("content-type", "").partition(";")
        suffix = TYPES.get(kind.strip().lower())
        if suffix is None:
            raise WebSearchError("it is no page of text")
        data = await response.aread()
    return await asyncio.to_thread(_read, data, suffix, more)


def check_address(address: str) -> None:
    """Raises WebSearchError, ValueError for an address that no page of the web has."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise WebSearchError("its address is not one of the web")
    if "@" in parts.netloc:
        raise WebSearchError("its address carries a user name")


def _read(data: bytes, suffix: str, parameters: str) -> str:
    """The main text. Raises WebSearchError where there is none."""
    try:
        marked = codecs.BOM_UTF8 + decode_text(data, parameters.encode("utf-8", "replace")).encode("utf-8", "replace")
        page = read_page(marked, suffix, "")
    except ValueError as error:
        raise WebSearchError(str(error)) from error
    # The first line of a page without markup may be all there is of its title; it is evidence like the rest.
    whole = suffix == ".html" or page.text.startswith(page.title)
    return page.text if whole else f"{page.title}\n{page.text}"


def _host(url: str) -> str:
    """The host of an address, as a person may be shown it: without user, password and query."""
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None
    return re.sub(r"[^\w.:-]", "", host or "")[:100] or "A page without an address"


def reason_of(error: Exception) -> str:
    """Why a page was not read, as the end of a sentence without its full stop."""
    match error:
        case AddressError():
            return f"{error.message} (Settings do not allow it)"
        case WebSearchError():
            return error.message
        case TimeoutError() | httpx.TimeoutException():
            return LATE
        case OversizedError():
            return f"it is larger than {error.limit // 1_000_000} MB"
        case PackingError():
            return "it is packed in a way that was not asked for"
        case httpx.RemoteProtocolError():
            return "its reply broke off or makes no sense"
        case httpx.ReadError():
            return "its reply broke off"
        case httpx.InvalidURL() | ValueError():
            return "its address is not one of the web"
        case httpx.HTTPError():
            return "it can't be reached"
        case zlib.error():
            return "it came damaged"
        case _:
            log.warning("a page broke its reader with %s", type(error).__name__)
            return "it can't be read"
