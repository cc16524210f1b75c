"""Web search by Tavily or DuckDuckGo, through their own clients. Foreign errors are translated here."""

from __future__ import annotations

import hashlib
import logging
import re
import ssl
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urldefrag, urlsplit

import httpx
from pydantic import SecretStr

from crag.core.connection import BoundedClient, OversizedError, PackingError
from crag.core.errors import CragError, KeyRejectedError, UnreachableError, WebSearchError
from crag.core.meter import Meter
from crag.core.outgoing import outgoing
from crag.core.types import WebPage
from crag.core.waiting import wait_for

if TYPE_CHECKING:
    from crag.web.fetching import PageFetcher

__all__ = ["DuckDuckGoSearch", "TavilySearch"]

log = logging.getLogger(__name__)

SECONDS = 10.0
"""For one search."""
MAX_SNIPPET = 10_000
"""Characters of a provider's own text of a page that are used."""
ELSEWHERE = "Try again later, or choose another web provider in Settings."
CONNECTION = "Check this machine's connection to the internet, or choose another web provider in Settings."

Row = Mapping[str, Any]
"""A result as the provider gave it: `url`, `title`, `text`, and `date` if known; each may be anything."""


class _Metered:
    """A web provider within one run: searches are admitted, timed and counted, and end on Stop."""

    name = ""
    leaves = True

    def __init__(self, meter: Meter, fetcher: PageFetcher | None, seconds: float) -> None:
        """`fetcher` reads the pages behind the results; None: the provider's own text of them is all there is."""
        self._meter, self._fetcher, self._seconds = meter, fetcher, seconds
        self.id = f"{self.name}+pages" if fetcher else self.name
        self.problems: tuple[str, ...] = ()
        """What is to be known of the last search: which pages could not be read, and why."""

    def search(self, query: str, max_results: int) -> list[WebPage]:
        """At most `max_results` pages, best first, each with the query as it was sent.

        Raises ProviderError, CancelledError.
        """
        self.problems = ()
        sent = outgoing(query)
        if not sent or max_results < 1:
            return []
        rows, problems = self._asked(sent, max_results)
        pages = _pages(rows, self.name, sent)[:max_results]
        if self._fetcher is not None and pages:
            pages, unread = self._fetcher.fetched(pages, seconds=self._meter.left(), cancel=self._meter.cancel)
            problems += unread
        self.problems = tuple(problems)
        return pages

    def _asked(self, query: str, max_results: int) -> tuple[list[Row], list[str]]:
        """One search, admitted and recorded."""
        # What a server or its client writes may repeat the key, and would be in a traceback: it is a secret.
        with self._meter.call(self.name, translate=self._translated, secret=True) as call:
            return self._found(query, max_results, min(self._seconds, call.seconds))

    def _translated(self, error: Exception) -> Exception:
        """Whatever its client raises, as ours."""
        raise NotImplementedError

    def _found(self, query: str, max_results: int, seconds: float) -> tuple[list[Row], list[str]]:
        """The results, and what is to be known of them. Raises what `_translated` takes."""
        raise NotImplementedError


class TavilySearch(_Metered):
    """Tavily, with the caller's own key: without one its client would go to the network all the same."""

    name = "tavily"

    def __init__(
        self,
        key: SecretStr,
        meter: Meter,
        fetcher: PageFetcher | None = None,
        base_url: str | None = None,
        seconds: float = SECONDS,
    ) -> None:
        """Raises KeyRejectedError without a key. `base_url`: another address than Tavily's own."""
        super().__init__(meter, fetcher, seconds)
        self._key, self._base_url = key.get_secret_value().strip(), base_url
        if not self._key:
            raise KeyRejectedError("Tavily needs a key.")
        if not re.fullmatch(r"[!-~]+", self._key):
            raise KeyRejectedError("Tavily's key holds characters that no key has.")

    def _found(self, query: str, max_results: int, seconds: float) -> tuple[list[Row], list[str]]:
        async def searched() -> Any:
            from tavily import AsyncTavilyClient

            # A connection of our own: it follows no redirect with the key, and its certificates are loaded but once.
            async with BoundedClient(verify=_certificates(), follow_redirects=False) as connection:
                client = AsyncTavilyClient(self._key, api_base_url=self._base_url, client=connection)
                return await client.search(query, max_results=max_results, timeout=seconds)

        reply = wait_for(searched, seconds=seconds, cancel=self._meter.cancel)
        rows = reply.get("results") if isinstance(reply, dict) else None
        # The client itself puts an empty list where there is none; a real reply repeats the query.
        if not isinstance(rows, list) or (not rows and "query" not in reply):
            raise WebSearchError("Tavily's reply holds no list of results.", ELSEWHERE)
        names = {"url": "url", "title": "title", "text": "content", "date": "published_date"}
        return [{ours: row.get(theirs) for ours, theirs in names.items()} for row in rows if isinstance(row, dict)], []

    def _translated(self, error: Exception) -> Exception:
        from tavily import errors as theirs

        match error:
            case UnreachableError():
                return UnreachableError("Tavily did not reply in time.", CONNECTION)
            case CragError():
                return error
            case theirs.InvalidAPIKeyError() | theirs.MissingAPIKeyError():
                return KeyRejectedError("Tavily does not accept the key.")
            case theirs.UsageLimitExceededError():
                return WebSearchError(
                    "Tavily allows no more searches at present.", "Wait, or look at your plan at Tavily."
                )
            case theirs.ForbiddenError():
                return WebSearchError(
                    "Tavily refused the search: the plan's limit may be reached.", "Look at your plan."
                )
            case theirs.BadRequestError():
                return WebSearchError("Tavily did not understand the search.", "Ask in other words.")
            case theirs.TimeoutError() | httpx.TimeoutException():
                return UnreachableError("Tavily did not reply in time.", CONNECTION)
            case OversizedError():
                return WebSearchError(f"Tavily sent more than {error.limit // 1_000_000} MB.", ELSEWHERE)
            case PackingError() | zlib.error():
                return WebSearchError("Tavily sent a reply that can't be unpacked.", ELSEWHERE)
            case httpx.HTTPStatusError():
                return WebSearchError(f"Tavily failed (status {error.response.status_code}).", ELSEWHERE)
            case httpx.RemoteProtocolError() | httpx.ReadError():
                return UnreachableError("Tavily broke off its reply.", ELSEWHERE)
            case httpx.HTTPError() | httpx.InvalidURL():
                return UnreachableError("Tavily can't be reached.", CONNECTION)
            case _:
                log.warning("an unexpected %s from Tavily", type(error).__name__)
                return WebSearchError("Tavily's reply can't be read.", ELSEWHERE)


@cache
def _certificates() -> ssl.SSLContext:
    return httpx.create_ssl_context()


class DuckDuckGoSearch(_Metered):
    """DuckDuckGo, without a key, through the ddgs client held to this one engine."""

    name = "duckduckgo"

    def __init__(
        self,
        meter: Meter,
        fetcher: PageFetcher | None = None,
        base_url: str | None = None,
        seconds: float = SECONDS,
    ) -> None:
        """`base_url`: another address than DuckDuckGo's own."""
        super().__init__(meter, fetcher, seconds)
        self._base_url = base_url

    def _found(self, query: str, max_results: int, seconds: float) -> tuple[list[Row], list[str]]:
        # Imported here: the engine brings a browser's worth of client, which a run without it should not pay for.
        from crag.web import duckduckgo

        address = self._base_url or duckduckgo.ADDRESS
        reply = wait_for(
            lambda: duckduckgo.reply(query, address=address, seconds=seconds),
            seconds=seconds,
            cancel=self._meter.cancel,
        )
        unsure = not reply.rows and not reply.sure
        return list(reply.rows), ["DuckDuckGo gave no results: there are none, or it refused the search."] * unsure

    def _translated(self, error: Exception) -> Exception:
        from crag.web import duckduckgo

        return duckduckgo.translated(error)


def _pages(rows: Sequence[Row], provider: str, query: str) -> list[WebPage]:
    """Results as pages: with an address of the web and some text, each address once."""
    found: dict[str, WebPage] = {}
    for row in rows:
        url, text = _address(row.get("url")), _plain(row.get("text"), MAX_SNIPPET)
        place = urldefrag(url).url
        if url and text and place not in found:
            found[place] = WebPage(
                id="web-" + hashlib.sha256(f"{url}\n{text}".encode()).hexdigest()[:24],
                url=url,
                title=_line(row.get("title"), 200) or url,
                text=text,
                provider=provider,
                query=query,
                rank=len(found) + 1,
                published=_line(row.get("date"), 40) or None,
            )
    return list(found.values())


_TAG = re.compile(r"<[A-Za-z/!?][^<>]*>")
_UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\xa0<>\"'`\\^{|}\ud800-\udfff]")


def _address(value: object) -> str:
    """The address, if it is one that a browser may be sent to, with every unsafe character escaped; else nothing."""
    url = value.strip()[:2001] if isinstance(value, str) else ""
    url = _UNSAFE.sub(lambda unsafe: quote(unsafe.group(), errors="replace"), url)
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and re.fullmatch(r"[\w.:-]+", parts.hostname or "")
        return url if usable and "@" not in parts.netloc and parts.port != 0 and len(url) <= 2000 else ""
    except ValueError:
        return ""


def _plain(value: object, limit: int) -> str:
    """Text without tags and without characters that can't be seen; nothing of what is no text."""
    text = _UNSEEN.sub("", value[:limit]) if isinstance(value, str) else ""
    # Removing an inner tag may complete an outer one: what is left of tags is broken.
    return re.sub(r"<(?=[A-Za-z/!?])", "< ", _TAG.sub(" ", text)).strip()


def _line(value: object, limit: int) -> str:
    """The same on one line."""
    return " ".join(_plain(value, 10 * limit).split())[:limit]
