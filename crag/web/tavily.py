"""Web search by Tavily, through its own client."""

from __future__ import annotations

from typing import Any

from crag.core.errors import CragError, KeyRejectedError, UnreachableError, WebSearchError
from crag.core.types import Unread
from crag.runtime.provider import Price, WebProvider
from crag.web.searching import Row, Searching


class TavilySearch(Searching):
    """With the caller's own key: without one Tavily's client would go to the network all the same."""

    name, title, needs_key = "tavily", "Tavily", True

    def _found(self, query: str, max_results: int, seconds: float) -> tuple[list[Row], list[Unread]]:
        async def searched() -> Any:
            from tavily import AsyncTavilyClient

            from crag.runtime.connection import BoundedClient

            # A connection of our own: it follows no redirect with the key.
            async with BoundedClient(follow_redirects=False) as connection:
                client = AsyncTavilyClient(self._key, api_base_url=self._address or None, client=connection)
                return await client.search(query, max_results=max_results, timeout=seconds)

        reply = self._meter.wait_for(searched, seconds)
        rows = reply.get("results") if isinstance(reply, dict) else None
        # The client itself puts an empty list where there is none; a real reply repeats the query.
        names = {"url": "url", "title": "title", "text": "content", "date": "published_date"}
        return self._rows(rows if rows or (isinstance(reply, dict) and "query" in reply) else None, names), []

    def _translated(self, error: Exception) -> Exception:
        from tavily import errors as theirs

        match error:
            case CragError():
                return super()._translated(error)
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
            case theirs.TimeoutError():
                return UnreachableError("Tavily did not reply in time.", self.connection)
            case _:
                return super()._translated(error)


TAVILY = WebProvider(
    name=TavilySearch.name,
    title=TavilySearch.title,
    about="Queries go to Tavily, which needs a key.",
    home="api.tavily.com",
    address="tavily_base_url",
    example="https://api.tavily.com",
    key="tavily",
    key_needed=True,
    variables=("TAVILY_API_KEY",),
    # Pay-as-you-go, $0.008 a credit, one credit a basic search (docs.tavily.com/documentation/api-credits); its
    # monthly plans and the first 1,000 credits of a month are cheaper.
    price=Price(call=0.008),
    make=TavilySearch,
)
