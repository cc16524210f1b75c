"""One web search of a run: remembered from an earlier one, or sent, after the person's yes where that is asked."""

from __future__ import annotations

import hashlib

from crag.core import events as ev
from crag.core.errors import LibraryError, WebSearchError
from crag.core.protocols import WebSearch
from crag.run.parts import Parts

__all__ = ["searched"]


def searched(query: str, web: WebSearch, parts: Parts) -> ev.Searched:
    """What `web` finds. Raises ProviderError where it fails, and where the person said no; CancelledError."""
    limit = parts.settings.web_results
    key = hashlib.sha256(f"{web.id}\n{limit}\n{query}".encode("utf-8", "replace")).hexdigest()
    cache = parts.search_cache if web.leaves and parts.search_cache_hours else None
    if cache is not None and (known := cache.load_search(key, hours=parts.search_cache_hours)) is not None:
        found_at, pages = known
        return ev.Searched(query=query, provider=web.name, pages=pages, found_at=found_at, at=parts.now())
    if web.leaves and parts.allowed is not None:
        _approved(query, web.name, parts)
    pages = tuple(web.search(query, limit))
    problems = tuple(web.problems)
    if cache is not None and pages and not problems:
        try:
            cache.save_search(key, pages)
        except LibraryError as error:
            parts.worked_around("search", error, "These results are not remembered.")
    return ev.Searched(query=query, provider=web.name, pages=pages, problems=problems, at=parts.now())


def _approved(query: str, provider: str, parts: Parts) -> None:
    """Asks the person. Raises WebSearchError on a no, CancelledError on Stop."""
    assert parts.allowed is not None
    parts.emit(ev.ApprovalAsked(query=query, provider=provider, at=parts.now()))
    with parts.meter.paused():
        approved = parts.allowed(query)
    parts.check()
    parts.emit(ev.ApprovalGiven(approved=approved, at=parts.now()))
    if not approved:
        raise WebSearchError("The query was not approved, so nothing was sent.", "Ask again to approve it.")
