"""What web providers share: a search within its limits, its failures as ours, its results cleaned."""

from __future__ import annotations

import hashlib
import logging
import re
import unicodedata
import zlib
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urldefrag

from crag.core.errors import CragError, KeyRejectedError, ProviderError, UnreachableError, WebSearchError
from crag.core.types import Unread, WebPage
from crag.runtime.circuits import Service
from crag.runtime.provider import WebParts
from crag.text.addresses import usable_address
from crag.text.characters import read_json

MAX_QUERY = 400
"""Tavily refuses longer queries."""


def outgoing(query: str) -> str:
    """The query as it is sent: one line of at most 400 characters, without control characters."""
    plain = "".join(" " if unicodedata.category(each) in ("Cc", "Cs") else each for each in query)
    return " ".join(plain.split())[:MAX_QUERY].rstrip()


log = logging.getLogger(__name__)

SECONDS = 10.0
"""For one search."""
MAX_SNIPPET = 10_000
"""Characters of a provider's own text of a page that are used."""
ELSEWHERE = "Try again later, or choose another web provider in Settings."
CONNECTION = "Check this machine's connection to the internet, or choose another web provider in Settings."

Row = Mapping[str, Any]
"""A result as the provider gave it: `url`, `title`, `text`, and `date` if known; each may be anything."""


class Searching:
    """A web provider within one run. One of its own says `name`, `title` and how results are `_found`."""

    name = ""
    title = ""
    leaves = True
    needs_key = False
    most_words = MAX_QUERY
    """Of a query, where a provider takes fewer than there can be."""
    connection = CONNECTION
    """What to do where it can't be reached."""

    def __init__(self, parts: WebParts) -> None:
        """Raises KeyRejectedError without a key, where it needs one, and for what can be none."""
        self._meter, self._fetcher = parts.meter, parts.fetcher
        self._address = parts.address.strip().rstrip("/")
        self._key = parts.key.get_secret_value().strip() if parts.key else ""
        if self.needs_key and not self._key:
            raise KeyRejectedError(f"{self.title} needs a key.")
        if self._key and not re.fullmatch(r"[!-~]+", self._key):
            raise KeyRejectedError(f"{self.title}'s key holds characters that no key has.")
        self.id = f"{self.name}+pages" if self._fetcher else self.name
        self.problems: tuple[Unread, ...] = ()
        """What is to be known of the last search: which pages could not be read, and why."""

    def search(self, query: str, max_results: int) -> list[WebPage]:
        """At most `max_results` pages, best first, each with the query as it was sent.

        Raises ProviderError, CancelledError.
        """
        self.problems = ()
        sent = " ".join(outgoing(query).split()[: self.most_words])
        if not sent or max_results < 1:
            return []
        # What a server or its client writes may repeat the key, and would be in a traceback: it is a secret.
        service = Service(self.name, (self._address, hash(self._key)))
        with self._meter.call(self.name, service=service, translate=self._translated, secret=True) as call:
            rows, problems = self._found(sent, max_results, min(SECONDS, call.seconds))
        pages = _pages(rows, self.name, sent)[:max_results]
        if self._fetcher is not None and pages:
            pages, unread = self._fetcher.fetched(pages, seconds=self._meter.left(), cancel=self._meter.cancel)
            problems += unread
        self.problems = tuple(problems)
        return pages

    def _found(self, query: str, max_results: int, seconds: float) -> tuple[list[Row], list[Unread]]:
        """The results, and what is to be known of them. Raises what `_translated` takes."""
        raise NotImplementedError

    def _got(self, address: str, asked: Mapping[str, str], headers: Mapping[str, str], seconds: float) -> Any:
        """The JSON that an address gives. No redirect is followed: query and key are for this address."""
        from crag.runtime.connection import BoundedClient  # loads httpx, which only a search of the web needs

        async def sent() -> tuple[int, bytes]:
            async with BoundedClient(follow_redirects=False, timeout=seconds) as connection:
                accepted = {"Accept": "application/json", **headers}
                reply = await connection.get(address, params=asked, headers=accepted)
                return reply.status_code, reply.content

        status, content = self._meter.wait_for(sent, seconds)
        if status != 200:
            raise self._refused(status, content)
        return read_json(content)

    def _refused(self, status: int, content: bytes) -> ProviderError:
        """Why there are no results, from a reply of another status than 200."""
        return WebSearchError(f"{self.title} failed (status {status}).", ELSEWHERE)

    def _rows(self, found: Any, names: Mapping[str, str]) -> list[Row]:
        """The results in a list of objects, `names` giving ours for theirs. Raises WebSearchError where it is none."""
        if not isinstance(found, list):
            raise WebSearchError(f"{self.title}'s reply holds no list of results.", ELSEWHERE)
        return [{ours: row.get(theirs) for ours, theirs in names.items()} for row in found if isinstance(row, dict)]

    def _translated(self, error: Exception) -> Exception:
        """Whatever its client raises, as ours."""
        import httpx

        from crag.runtime.connection import OversizedError, PackingError

        match error:
            case UnreachableError() | httpx.TimeoutException():
                return UnreachableError(f"{self.title} did not reply in time.", self.connection)
            case CragError():
                return error
            case OversizedError():
                return WebSearchError(f"{self.title} sent more than {error.limit // 1_000_000} MB.", ELSEWHERE)
            case PackingError() | zlib.error():
                return WebSearchError(f"{self.title} sent a reply that can't be unpacked.", ELSEWHERE)
            case httpx.HTTPStatusError():
                return self._refused(error.response.status_code, error.response.content)
            case httpx.RemoteProtocolError() | httpx.ReadError():
                return UnreachableError(f"{self.title} broke off its reply.", ELSEWHERE)
            case httpx.HTTPError() | httpx.InvalidURL():
                return UnreachableError(f"{self.title} can't be reached.", self.connection)
            case _:
                log.warning("an unexpected %s from %s", type(error).__name__, self.title)
                return WebSearchError(f"{self.title}'s reply can't be read.", ELSEWHERE)


def _pages(rows: Sequence[Row], provider: str, query: str) -> list[WebPage]:
    """Results as pages: with an address of the web and some text, each address once."""
    found: dict[str, WebPage] = {}
    for row in rows:
        url, text = usable_address(row.get("url")), _text(row.get("text"), MAX_SNIPPET)
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


def _text(value: object, limit: int) -> str:
    """Text without markup; nothing of what is no text."""
    from crag.web.webpage import plain_text  # loads the reader of pages, which only a search of the web needs

    return plain_text(value[:limit]) if isinstance(value, str) else ""


def _line(value: object, limit: int) -> str:
    """The same on one line."""
    return " ".join(_text(value, 10 * limit).split())[:limit]
