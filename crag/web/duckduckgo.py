"""Web search by DuckDuckGo, without a key. Its client is loaded with the first search: most runs make none."""

from __future__ import annotations

from crag.core.types import Unread
from crag.runtime.provider import Price, WebProvider
from crag.web.searching import Row, Searching


class DuckDuckGoSearch(Searching):
    """Without a key."""

    name, title = "duckduckgo", "DuckDuckGo"

    def _found(self, query: str, max_results: int, seconds: float) -> tuple[list[Row], list[Unread]]:
        from crag.web.duckduckgo_page import ADDRESS, reply

        address = self._address or ADDRESS
        found = self._meter.wait_for(lambda: reply(query, address=address, seconds=seconds), seconds)
        unsure = Unread(why="DuckDuckGo gave no results: there are none, or it refused the search.")
        return list(found.rows), [unsure] if not found.rows and not found.sure else []

    def _translated(self, error: Exception) -> Exception:
        from crag.web.duckduckgo_page import translate_error

        return translate_error(error)


DUCKDUCKGO = WebProvider(
    name=DuckDuckGoSearch.name,
    title=DuckDuckGoSearch.title,
    about="Queries go to DuckDuckGo, without a key.",
    home="html.duckduckgo.com",
    price=Price(),
    make=DuckDuckGoSearch,
)
