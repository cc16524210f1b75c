"""Web pages, fetched within limits of address, size, type and time: those of web results, and one as a document."""

from __future__ import annotations

import asyncio
import codecs
import logging
import re
import threading
import zlib
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import httpx

from crag.core.errors import (
    CancelledError,
    CragError,
    GoneError,
    PageError,
    ProviderError,
    SignInError,
    UnreachableError,
    WebSearchError,
)
from crag.core.types import Unread, WebPage
from crag.runtime.connection import BoundedClient, OversizedError, PackingError
from crag.runtime.waiting import CLOCK, Clock, iterate, wait_for
from crag.text.encodings import decode_text
from crag.web.addresses import AddressError, Place, guarded_transport
from crag.web.webpage import read_page

log = logging.getLogger(__name__)

MAX_BYTES = 2_000_000
"""Of one page, unpacked."""
SECONDS = 8.0
"""For one page, from its first request to its last byte. All together have twice as long."""
DOCUMENT_SECONDS = 30.0
"""For a page that is added as a document."""
REDIRECTS = 4
PARALLEL = 5
TYPES = {"text/html": ".html", "application/xhtml+xml": ".html", "text/plain": ".txt", "text/markdown": ".md"}
AGENT = "Mozilla/5.0 (compatible; CRAG-Explorer)"
LATE = "it took too long"
MOST_ADDRESS = 2_000
_UNCHANGED, _GONE, _SIGN_IN = 304, (404, 410), (401, 403, 407)
UNREAD = "there was no time left for it"


@dataclass(frozen=True, slots=True)
class _Access:
    """The addresses that may be connected to: public ones and `trusted` ones, or all."""

    allow_private: bool
    trusted: Collection[Place]

    def client(self, *, accept: str, limit: int, seconds: float) -> BoundedClient:
        return BoundedClient(
            transport=guarded_transport(self.allow_private, self.trusted),
            headers={"User-Agent": AGENT, "Accept": accept},
            limit=limit,
            follow_redirects=False,
            timeout=seconds,
            trust_env=False,
        )


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
        """`trusted`: IP addresses and ports in this network that are allowed all the same.

        `seconds`: for one page; all together have twice as long.
        """
        self._access = _Access(allow_private, trusted)
        self._seconds, self._clock = seconds, clock

    def fetched(
        self, pages: Sequence[WebPage], *, seconds: float, cancel: threading.Event
    ) -> tuple[list[WebPage], list[Unread]]:
        """The pages in order, with their main text where it could be had; and why of each of the others not.

        All of it takes at most `seconds`. Raises CancelledError on Stop.
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

        async with self._access.client(accept=", ".join(TYPES), limit=MAX_BYTES, seconds=self._seconds) as client:
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


# A page as a document


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """What a server sent. `data` None: nothing changed since. `kind`: the media type that it claims, with parameters.

    `etag` and `last_modified` are what it tells a later change by; empty: nothing.
    """

    data: bytes | None
    kind: str
    etag: str
    last_modified: str

    def in_utf8(self) -> bytes:
        """The data of a text in UTF-8, with a mark where the text itself does not say so. Raises ValueError: no text.

        Which encoding it is may be said by the server alone.
        """
        assert self.data is not None
        text = decode_text(self.data, self.kind.encode("utf-8", "replace"))
        return self.data if text.encode() == self.data else codecs.BOM_UTF8 + text.encode()


def page_address(typed: str) -> str:
    """An address as it is kept, without its fragment. Raises PageError for one that no page of the web has."""
    address = urldefrag(typed.strip()).url
    try:
        if len(address) > MOST_ADDRESS or any(not character.isprintable() for character in address):
            raise ValueError
        check_address(address)
        urlsplit(address).port  # noqa: B018 - one that is none raises
    except (CragError, ValueError) as error:
        said = reason_of(error) if isinstance(error, CragError) else "it is no address"
        raise PageError(f"{typed.strip()[:80]} can't be added: {said}.", "Begin it with https:// or http://.") from None
    return address


def page_name(address: str) -> str:
    """What the page of an address is called where nobody gave it a name: host and path, as "example.org › help"."""
    parts = urlsplit(address)
    steps = [step for step in (*parts.path.split("/"), parts.query) if step]
    named = " › ".join([parts.netloc.removeprefix("www."), *map(unquote, steps)])
    return "".join(character for character in named if character.isprintable())


class Downloads:
    """Gets pages one at a time: never from this machine or its network, unless they are allowed or trusted."""

    def __init__(
        self,
        *,
        max_mb: int,
        allow_private: bool = False,
        trusted: Collection[Place] = (),
        seconds: float = DOCUMENT_SECONDS,
    ) -> None:
        """`max_mb`: of one page, unpacked. `trusted`: IP addresses and ports in this network, allowed all the same."""
        self._limit, self._seconds = max_mb * 1_000_000, seconds
        self._access = _Access(allow_private, trusted)

    def get(self, address: str, *, cancel: threading.Event, etag: str = "", last_modified: str = "") -> Download:
        """What stands at the address; of what `etag` or `last_modified` tell to be unchanged, no data.

        Raises GoneError, SignInError, other PageErrors for every other way not to get it, and CancelledError.
        """
        known = {"If-None-Match": etag, "If-Modified-Since": last_modified}
        asked = {name: value for name, value in known.items() if value}
        name = page_name(address)
        try:
            return wait_for(lambda: self._got(address, asked), seconds=self._seconds + 1, cancel=cancel)
        except PageError:
            raise
        except CancelledError as error:
            raise CancelledError(f"{name} was not fetched: it was stopped.") from error
        except AddressError as error:
            raise PageError(f"{name} was not fetched: {reason_of(error)}.", error.remedy) from error
        except UnreachableError as error:
            raise PageError(f"{name} was not fetched: {LATE}.") from error
        except Exception as error:  # whatever a hostile server breaks, it is said as one thing
            raise PageError(f"{name} was not fetched: {reason_of(error)}.") from error

    async def _got(self, address: str, asked: dict[str, str]) -> Download:
        accept = "text/html, */*;q=0.8"
        async with self._access.client(accept=accept, limit=self._limit, seconds=self._seconds) as client:
            return await asyncio.wait_for(self._answered(client, address, asked), self._seconds)

    async def _answered(self, client: BoundedClient, address: str, asked: dict[str, str]) -> Download:
        async with follow_redirects(client, address, asked) as response:
            status, name, headers = response.status_code, page_name(address), response.headers
            if status in _GONE:
                raise GoneError(f"There is no page {name}, its server says ({status}).")
            if status in _SIGN_IN:
                raise SignInError(f"{name} is shown only to those who sign in (the server said {status}).")
            if status != 200 and not (status == _UNCHANGED and asked):
                raise PageError(f"{name} was not fetched: the server said {status}.")
            declared = headers.get("content-length", "")
            if declared.isdigit() and int(declared) > self._limit:
                raise OversizedError(self._limit)
            return Download(
                data=None if status == _UNCHANGED else await response.aread(),
                kind=headers.get("content-type", ""),
                etag=_sendable(headers.get("etag", "")),
                last_modified=_sendable(headers.get("last-modified", "")),
            )


def _sendable(declared: str) -> str:
    """What a server said of itself, if it can be sent back to it."""
    return declared if declared.isascii() and declared.isprintable() and len(declared) <= MOST_ADDRESS else ""
