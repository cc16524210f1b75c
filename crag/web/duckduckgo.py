"""Web search by DuckDuckGo, without a key, through the ddgs client held to this one engine."""

from __future__ import annotations

from crag.core.types import Unread
from crag.runtime.provider import Price, WebProvider
from crag.web.searching import Row, Searching


class DuckDuckGoSearch(Searching):
    """Its client is imported where it is used: it is as much as a browser's, for which no other run should pay."""

    name, title = "duckduckgo", "DuckDuckGo"

    def _found(self, query: str, max_results: int, seconds: float) -> tuple[list[Row], list[Unread]]:
        from crag.web import ddgs_page

        address = self._address or ddgs_page.ADDRESS
        reply = self._meter.wait_for(lambda: ddgs_page.reply(query, address=address, seconds=seconds), seconds)
        unsure = Unread(why="DuckDuckGo gave no results: there are none, or it refused the search.")
        return list(reply.rows), [unsure] if not reply.rows and not reply.sure else []

    def _translated(self, error: Exception) -> Exception:
        from crag.web import ddgs_page

        return ddgs_page.translate_error(error)


DUCKDUCKGO = WebProvider(
    name=DuckDuckGoSearch.name,
    title=DuckDuckGoSearch.title,
    about="Queries go to DuckDuckGo, without a key.",
    home="html.duckduckgo.com",
    price=Price(),
    make=DuckDuckGoSearch,
)
