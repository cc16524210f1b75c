"""Web search by Brave Search, with a key."""

from __future__ import annotations

from html import unescape
from typing import Any

from crag.core.errors import KeyRejectedError, ProviderError, WebSearchError
from crag.core.types import Unread
from crag.runtime.provider import Price, WebProvider
from crag.text.characters import read_json
from crag.web.searching import Row, Searching

MOST_RESULTS, MOST_WORDS = 20, 50
"""What Brave gives, and takes, at once."""


class BraveSearch(Searching):
    """The web results alone: no news, places or summaries."""

    name, title, needs_key = "brave", "Brave Search", True
    most_words = MOST_WORDS

    def _found(self, query: str, max_results: int, seconds: float) -> tuple[list[Row], list[Unread]]:
        reply = self._got(
            f"{self._address or 'https://api.search.brave.com'}/res/v1/web/search",
            {"q": query, "count": str(min(max_results, MOST_RESULTS)), "text_decorations": "false"},
            {"X-Subscription-Token": self._key},
            seconds,
        )
        web = reply.get("web", {"results": []}) if isinstance(reply, dict) and reply.get("type") == "search" else None
        found = self._rows(
            web.get("results") if isinstance(web, dict) else None,
            {"url": "url", "title": "title", "text": "description", "date": "page_age"},
        )
        return [
            {name: unescape(each) if isinstance(each, str) else each for name, each in row.items()} for row in found
        ], []

    def _refused(self, status: int, content: bytes) -> ProviderError:
        match status, _code(content):
            case (401, _) | (422, "SUBSCRIPTION_TOKEN_INVALID"):
                return KeyRejectedError("Brave Search does not accept the key.")
            case (402 | 403, _):
                return WebSearchError(
                    "Brave Search refused the search: the plan does not cover it.", "Look at your plan."
                )
            case (429, _):
                return WebSearchError(
                    "Brave Search allows no more searches at present.", "Wait, or look at your plan at Brave."
                )
            case (400 | 422, _):
                return WebSearchError("Brave Search did not understand the search.", "Ask in other words.")
            case _:
                return super()._refused(status, content)


def _code(content: bytes) -> str:
    """The code of Brave's own account of an error, if it gives one."""
    try:
        body: Any = read_json(content)
        return str(body["error"]["code"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


BRAVE = WebProvider(
    name=BraveSearch.name,
    title=BraveSearch.title,
    about="Queries go to Brave Search, which needs a key.",
    home="api.search.brave.com",
    address="brave_base_url",
    example="https://api.search.brave.com",
    key="brave",
    key_needed=True,
    variables=("BRAVE_API_KEY",),
    # $5 for 1,000 requests (api-dashboard.search.brave.com); a part of each month's is free.
    price=Price(call=0.005),
    make=BraveSearch,
)
