"""Web search by a SearXNG server of one's own, without a key, through its JSON API."""

from __future__ import annotations

from crag.core.errors import ProviderError, WebSearchError
from crag.core.types import Unread
from crag.runtime.provider import Price, WebProvider
from crag.web.searching import Row, Searching


class SearxngSearch(Searching):
    """The server is one that the person named on purpose: unlike the pages it finds, it may be on this machine."""

    name, title = "searxng", "SearXNG"
    connection = "Check that the server runs, and its address in Settings."

    def _found(self, query: str, max_results: int, seconds: float) -> tuple[list[Row], list[Unread]]:
        reply = self._got(f"{self._address}/search", {"q": query, "format": "json"}, {}, seconds)
        found = self._rows(
            reply.get("results") if isinstance(reply, dict) else None,
            {"url": "url", "title": "title", "text": "content", "date": "publishedDate"},
        )
        # Pairs of an engine's name and why it gave nothing: without any result they are the reason.
        silent = reply.get("unresponsive_engines")
        engines = (
            [str(each[0]) for each in silent if isinstance(each, list) and each] if isinstance(silent, list) else []
        )
        unread = Unread(why=f"SearXNG got no reply from {', '.join(engines)[:200]}.")
        return found, [unread] if engines and not found else []

    def _refused(self, status: int, content: bytes) -> ProviderError:
        match status:
            case 403:
                return WebSearchError(
                    "SearXNG does not give its results as JSON (status 403).",
                    "Add json to search.formats in the server's settings.yml.",
                )
            case 404:
                return WebSearchError("There is no SearXNG at this address (status 404).", self.connection)
            case 429:
                return WebSearchError(
                    "SearXNG allows no more searches at present (status 429).",
                    "Wait, or let this machine pass the server's limiter.",
                )
            case _:
                return super()._refused(status, content)


SEARXNG = WebProvider(
    name=SearxngSearch.name,
    title=SearxngSearch.title,
    about="Queries go to a SearXNG server of your own, and from there to the search engines it is set to.",
    address="searxng_base_url",
    server="SearXNG",
    example="http://127.0.0.1:8888",
    price=Price(),
    make=SearxngSearch,
)
