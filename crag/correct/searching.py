"""Web search by Tavily or DuckDuckGo, through their own clients. Foreign errors are translated here."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import httpx
from pydantic import SecretStr

from crag.core.errors import CragError, KeyRejectedError, ProviderError, UnreachableError, WebSearchError
from crag.core.meter import Call, Meter
from crag.core.types import WebPage
from crag.core.waiting import abandonable, waited

if TYPE_CHECKING:
    from crag.correct.fetching import PageFetcher

__all__ = ["DuckDuckGoSearch", "TavilySearch"]

log = logging.getLogger(__name__)

SECONDS = 10.0
MAX_SNIPPET = 10_000
"""Characters of a provider's own text of a page that are used."""
MAX_QUERY = 400
"""Tavily refuses longer queries."""


class _Metered:
    """A web provider within one run: searches are admitted, timed and counted, and end on Stop."""

    name = ""
    leaves = True

    def __init__(self, meter: Meter, fetcher: PageFetcher | None = None) -> None:
        """`fetcher` reads the pages behind the results; None: the provider's own text of them is all there is."""
        self._meter, self._fetcher = meter, fetcher
        self.id = f"{self.name}+pages" if fetcher else self.name
        self.problems: tuple[str, ...] = ()
        """Which pages of the last search could not be read, and why."""

    def search(self, query: str, max_results: int) -> list[WebPage]:
        """At most `max_results` pages, best first. Raises ProviderError, CancelledError."""
        asked = " ".join(query.encode("utf-8", "replace").decode().split()).replace("\x00", "")[:MAX_QUERY]
        if not asked or max_results < 1:
            return []
        seconds = min(SECONDS, self._meter.admit())
        began = self._meter.left()
        error: CragError | None = None
        try:
            rows = self._found(asked, max_results, seconds)
        except CragError as failure:
            error = failure
            raise
        finally:
            self._meter.record(
                Call(
                    step=self._meter.step,
                    provider=self.name,
                    model="",
                    seconds=began - self._meter.left(),
                    error=error.message if error else None,
                )
            )
        pages = _pages(rows, self.name, query)[:max_results]
        if self._fetcher is None or not pages:
            return pages
        pages, problems = self._fetcher.fetched(pages, seconds=self._meter.left(), cancel=self._meter.cancel)
        self.problems = tuple(problems)
        return pages

    def _found(self, query: str, max_results: int, seconds: float) -> list[Mapping[str, Any]]:
        raise NotImplementedError


class TavilySearch(_Metered):
    """Tavily, with the caller's own key: without one its client would go to the network all the same."""

    name = "tavily"

    def __init__(
        self, key: SecretStr, meter: Meter, fetcher: PageFetcher | None = None, base_url: str | None = None
    ) -> None:
        """Raises KeyRejectedError without a key. `base_url`: another address than Tavily's own."""
        super().__init__(meter, fetcher)
        if not key.get_secret_value().strip():
            raise KeyRejectedError("Tavily needs a key.")
        self._key, self._base_url = key, base_url

    def _found(self, query: str, max_results: int, seconds: float) -> list[Mapping[str, Any]]:
        async def searched() -> Any:
            from tavily import AsyncTavilyClient

            client = AsyncTavilyClient(self._key.get_secret_value(), api_base_url=self._base_url)
            try:
                return await client.search(query, max_results=max_results, timeout=seconds)
            finally:
                await client.close()

        try:
            reply = waited(searched, seconds=seconds + 1, cancel=self._meter.cancel)
        except CragError:
            raise
        except Exception as error:
            raise _tavily_error(error) from error
        rows = reply.get("results") if isinstance(reply, dict) else None
        if not isinstance(rows, list):
            raise WebSearchError("Tavily's reply holds no list of results.")
        return [
            {
                "url": row.get("url"),
                "title": row.get("title"),
                "text": row.get("content"),
                "date": row.get("published_date"),
            }
            for row in rows
            if isinstance(row, dict)
        ]


def _tavily_error(error: Exception) -> ProviderError:
    from tavily import errors as theirs

    match error:
        case theirs.InvalidAPIKeyError() | theirs.MissingAPIKeyError():
            return KeyRejectedError("Tavily does not accept the key.")
        case theirs.UsageLimitExceededError():
            return WebSearchError("Tavily allows no more searches at present.", "Wait, or look at your plan at Tavily.")
        case theirs.ForbiddenError():
            return WebSearchError("Tavily refused the search: the plan's limit may be reached.", "Look at your plan.")
        case theirs.BadRequestError():
            return WebSearchError("Tavily did not understand the search.")
        case theirs.TimeoutError() | httpx.TimeoutException():
            return UnreachableError("Tavily did not reply in time.")
        case httpx.HTTPStatusError():
            return WebSearchError(f"Tavily failed (status {error.response.status_code}).", "Try again later.")
        case httpx.HTTPError():
            return UnreachableError("Tavily can't be reached.")
        case _:
            log.warning("an unexpected %s from Tavily", type(error).__name__)
            return WebSearchError("Tavily's reply can't be read.")


class DuckDuckGoSearch(_Metered):
    """DuckDuckGo, without a key, through the ddgs client held to this one engine."""

    name = "duckduckgo"

    def _found(self, query: str, max_results: int, seconds: float) -> list[Mapping[str, Any]]:
        def searched() -> list[dict[str, Any]]:
            from ddgs import DDGS

            client = DDGS(timeout=max(1, round(seconds / 2)))
            found: list[dict[str, Any]] = client.text(query, max_results=max_results, backend="duckduckgo")
            return found

        try:
            rows = abandonable(searched, seconds=seconds, cancel=self._meter.cancel)
        except CragError:
            raise
        except Exception as error:
            if "no results" in str(error).lower():
                return []
            raise _duckduckgo_error(error) from error
        return [{"url": row.get("href"), "title": row.get("title"), "text": row.get("body")} for row in rows]


def _duckduckgo_error(error: Exception) -> ProviderError:
    from ddgs.exceptions import RatelimitException, TimeoutException

    match error:
        case RatelimitException():
            return WebSearchError("DuckDuckGo allows no more searches at present.", "Wait a few minutes.")
        case TimeoutException():
            return UnreachableError("DuckDuckGo did not reply in time.")
        case _:
            return WebSearchError(
                "DuckDuckGo gave no results that can be read.", "Try again, or choose another web provider in Settings."
            )


def _pages(rows: Sequence[Mapping[str, Any]], provider: str, query: str) -> list[WebPage]:
    """Results as pages: with an address of the web and some text, each address once."""
    found: dict[str, WebPage] = {}
    for row in rows:
        url, text = _line(row.get("url"), 2000), str(row.get("text") or "")[:MAX_SNIPPET].strip()
        if url.startswith(("http://", "https://")) and text and url not in found:
            found[url] = WebPage(
                id="web-" + hashlib.sha256(f"{url}\n{text}".encode("utf-8", "replace")).hexdigest()[:24],
                url=url,
                title=_line(row.get("title"), 200) or url,
                text=text,
                provider=provider,
                query=query,
                rank=len(found) + 1,
                published=_line(row.get("date"), 40) or None,
            )
    return list(found.values())


def _line(value: object, limit: int) -> str:
    """Text on one line; nothing of what is no text."""
    return " ".join(value.split())[:limit] if isinstance(value, str) else ""
