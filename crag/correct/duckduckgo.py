"""DuckDuckGo's page of results, asked for and read by ddgs' own engine; and why there are none, where it says so.

The engine is used without ddgs' own front, which says "no results" for a refusal, a failure and a page without
results alike, follows redirects with the query, and decodes the addresses it found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import primp
from ddgs.engines.duckduckgo import Duckduckgo
from ddgs.exceptions import DDGSException, TimeoutException
from ddgs.results import TextResult

from crag.core.errors import ProviderError, UnreachableError, WebSearchError

__all__ = ["ADDRESS", "Reply", "reply", "translated"]

ADDRESS = "https://html.duckduckgo.com"
ELSEWHERE = "Wait a few minutes, or choose another web provider in Settings."
REFUSALS = frozenset({202, 403, 418, 429})
"""202 is the puzzle that DuckDuckGo sets to what it takes for a robot."""
PUZZLE = ("anomaly-modal", "challenge-form")
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
    """ddgs' engine, which keeps the status and the page, and follows no redirect: the query is for DuckDuckGo."""

    status = 0
    page = ""

    @property
    def result_type(self) -> type[TextResult]:
        return _Result

    def request(self, *args: Any, **kwargs: Any) -> str | None:
        response = self.http_client.request(*args, follow_redirects=False, **kwargs)
        self.status, self.page = response.status_code, response.text
        return self.page if self.status == 200 else None


def reply(query: str, *, address: str, seconds: float) -> Reply:
    """What DuckDuckGo at `address` replies to `query`. Blocks for at most `seconds`, rounded up.

    Raises WebSearchError for a refusal or a failure; what `translated` takes for a broken connection or page.
    """
    engine = _Engine(timeout=math.ceil(seconds))
    engine.search_url = f"{address}/html/"
    found = engine.search(query) or []
    if engine.status in REFUSALS or (not found and any(mark in engine.page for mark in PUZZLE)):
        raise WebSearchError("DuckDuckGo refused the search: too many searches, or it suspects a robot.", ELSEWHERE)
    if engine.status != 200:
        raise WebSearchError(f"DuckDuckGo failed (status {engine.status}).", ELSEWHERE)
    if "duckduckgo" not in engine.page.lower():
        raise WebSearchError("What came back is no page of DuckDuckGo's.", ELSEWHERE)
    rows = [{"url": _target(each.href), "title": each.title, "text": each.body} for each in found]
    return Reply([row for row in rows if row["url"]], any(mark in engine.page for mark in NONE_FOUND))


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


def translated(error: Exception) -> ProviderError:
    """An error of ddgs or of its page reader as ours."""
    match error:
        case ProviderError():
            return error
        case TimeoutException():
            return UnreachableError("DuckDuckGo did not reply in time.", ELSEWHERE)
        case DDGSException() if isinstance(error.__cause__, (primp.ConnectError, primp.DNSError)):
            return UnreachableError(
                "DuckDuckGo can't be reached.",
                "Check this machine's connection to the internet, or choose another web provider in Settings.",
            )
        case DDGSException():
            return UnreachableError("DuckDuckGo broke off its reply.", ELSEWHERE)
        case _:
            return WebSearchError("DuckDuckGo's page of results can't be read.", ELSEWHERE)
