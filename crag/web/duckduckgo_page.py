"""What DuckDuckGo replies to a query: the ddgs client, limited to this one engine, loaded with the first search."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import primp
from ddgs.engines.duckduckgo import Duckduckgo
from ddgs.results import TextResult

from crag.core.errors import CragError, UnreachableError, WebSearchError

ADDRESS = "https://html.duckduckgo.com"
CONNECTION = "Check this machine's connection to the internet, or choose another web provider in Settings."
ELSEWHERE = "Wait a few minutes, or choose another web provider in Settings."
REFUSALS = frozenset({202, 403, 418, 429})
"""202 is the puzzle that DuckDuckGo sets to what it takes for a robot."""
PUZZLE = ("anomaly-modal", "challenge-form")
MAX_BYTES = 1_000_000
"""Of a page of results, unpacked: ten times what one has."""
_UNREAD = re.compile(r"<(?:\?[^<>]*+|[^<>]{4000,}+)>?")
"""Declarations, and tags of a length that DuckDuckGo writes none of."""
NONE_FOUND = ("no-results", "result--no-result")
"""Classes on the page by which DuckDuckGo says that it found nothing."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The results as rows of address, title and text. `sure`: whether none means that there are none."""

    rows: list[dict[str, Any]]
    sure: bool


class _Result(TextResult):
    """A result with its address as it was written: decoded, %23 and %3F would mean something else."""

    _normalizers: ClassVar[Mapping[str, Callable[[Any], str]]] = {
        name: normalize for name, normalize in TextResult._normalizers.items() if name != "href"
    }


class _Engine(Duckduckgo):
    """What ddgs knows of DuckDuckGo: what to ask and how to read the page. It has no connection of its own."""

    def __init__(self) -> None:
        self.results = []

    @property
    def result_type(self) -> type[TextResult]:
        return _Result

    def read(self, page: str) -> list[TextResult]:
        # Anyone may answer at its address, and lxml compares each attribute of a tag with all others.
        return list(self.post_extract_results(self.extract_results(_UNREAD.sub("", page))))


async def reply(query: str, *, address: str, seconds: float) -> Reply:
    """What DuckDuckGo at `address` replies to `query`, within `seconds`, rounded up.

    Raises WebSearchError for a refusal, a failure or too much; what `translated` takes for a broken connection or page.
    """
    engine = _Engine()
    asked = engine.build_payload(query, region="us-en", safesearch="moderate", timelimit=None)
    status, page = await _to_its_end(f"{address}/html/", asked, math.ceil(seconds))
    found = await asyncio.to_thread(engine.read, page) if status == 200 and page.strip() else []
    if status in REFUSALS or (not found and any(mark in page for mark in PUZZLE)):
        raise WebSearchError("DuckDuckGo refused the search: too many searches, or it suspects a robot.", ELSEWHERE)
    if status != 200:
        raise WebSearchError(f"DuckDuckGo failed (status {status}).", ELSEWHERE)
    if "duckduckgo" not in page.lower():
        raise WebSearchError("What came back is no page of DuckDuckGo's.", ELSEWHERE)
    rows = [{"url": _target(each.href), "title": each.title, "text": each.body} for each in found]
    return Reply([row for row in rows if row["url"]], any(mark in page for mark in NONE_FOUND))


async def _to_its_end(address: str, asked: dict[str, Any], seconds: float) -> tuple[int, str]:
    """Status and page. Where the call is given up, the client is never broken off in the middle of its own work.

    It is native code with threads of its own, and a process in which one was broken off has crashed. So it is asked to
    stop,
    and ends with the next part that it reads, or when its time is over; nobody waits for that.
    """
    given_up = asyncio.Event()
    work = asyncio.ensure_future(_send(address, asked, seconds, given_up))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        given_up.set()
        work.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # nobody asks how it ended
        raise


async def _send(address: str, asked: dict[str, Any], seconds: float, given_up: asyncio.Event) -> tuple[int, str]:
    """Status and page. Asked as ddgs does, as some browser; but read and unpacked no further than the limit.

    No redirect is followed: the query is for DuckDuckGo.
    """
    client = primp.AsyncClient(impersonate="random", impersonate_os="random", timeout=seconds)
    data = bytearray()
    async with await client.request("POST", address, data=asked, follow_redirects=False, stream=True) as response:
        async for part in response.aiter_bytes():
            data += part
            if given_up.is_set():
                break
            if len(data) > MAX_BYTES:
                raise WebSearchError(f"DuckDuckGo sent more than {MAX_BYTES // 1_000_000} MB.", ELSEWHERE)
    return response.status_code, data.decode("utf-8", "replace")


def _target(href: str) -> str:
    """Where a link of the page leads in the end; nothing for an advertisement and for what is no link."""
    try:
        url = f"https:{href}" if href.startswith("//") else href
        for _ in range(3):
            parts = urlsplit(url)
            if parts.hostname not in ("duckduckgo.com", "www.duckduckgo.com", "html.duckduckgo.com"):
                break
            if parts.path == "/y.js":
                return ""
            if parts.path == "/l/":
                url = parse_qs(parts.query).get("uddg", [""])[0]
    except ValueError:
        return ""
    return url


def translate_error(error: Exception) -> CragError:
    """An error of ddgs' client or of its page reader as ours."""
    match error:
        case UnreachableError():
            return UnreachableError("DuckDuckGo did not reply in time.", CONNECTION)
        case CragError():
            return error
        case primp.TimeoutError():
            return UnreachableError("DuckDuckGo did not reply in time.", ELSEWHERE)
        case primp.ConnectError() | primp.DNSError():
            return UnreachableError("DuckDuckGo can't be reached.", CONNECTION)
        case primp.PrimpError():
            return UnreachableError("DuckDuckGo broke off its reply.", ELSEWHERE)
        case _:
            return WebSearchError("DuckDuckGo's page of results can't be read.", ELSEWHERE)
