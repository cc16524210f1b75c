"""What stands in where a retriever, rewriter, web or generator fails, and says so. The evaluator's has its own room."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from crag.core import events as ev
from crag.core.errors import (
    IndexUnavailableError,
    LibraryError,
    NotApprovedError,
    ProviderError,
    ReplyError,
)
from crag.core.protocols import Contextualizer, Embedder, Generator, Rewriter, SearchQuery, WebSearch
from crag.core.settings import Settings
from crag.core.types import Answer, Chunk, Exchange, RetrievedChunk, Standalone, Strip, WebPage
from crag.pipeline.context import EventEmitter
from crag.runtime.usage import UsageTracker
from crag.storage.cache import Cache
from crag.storage.library import Library


class LibraryRetriever:
    """Searches a library under a run's settings. Where its index fails, it searches the records, and says so.

    It says too, once, how many chunks have a vector where some have none yet. Where an embedding server fails, it
    searches by words alone, and says that. It has one run.
    """

    def __init__(
        self, library: Library, settings: Settings, emitter: EventEmitter, embedder: Embedder | None = None
    ) -> None:
        """`embedder`: the library's own, as this run may use it."""
        self._library, self._settings, self._emitter, self._embedder = library, settings, emitter, embedder
        self._said = False

    def search(self, query: str, k: int) -> list[RetrievedChunk]:
        if not self._said and (share := self._library.unembedded.share()) < 1:
            self._emitter.emit(ev.HalfEmbedded(share=share))
        self._said = True
        asked, find = SearchQuery.under(self._settings, query, k), self._library.find
        for _ in range(2):
            try:
                return find(asked, self._embedder)
            except ProviderError as error:
                self._emitter.worked_around("retrieve", error, "words alone")
                asked = replace(asked, by_words=True)
            except IndexUnavailableError as error:
                self._emitter.worked_around("retrieve", error, "records")
                find = self._library.find_in_records
        return find(asked, self._embedder)


class FallbackContextualizer:
    """Has `first` make a question stand alone; where it fails, `second` does, and it is said. It has one run."""

    def __init__(self, first: Contextualizer, second: Contextualizer, emitter: EventEmitter) -> None:
        self._first, self._second, self._emitter, self.by = first, second, emitter, first.by

    def standalone(self, question: str, history: Sequence[Exchange]) -> Standalone:
        used = self._first
        try:
            made = used.standalone(question, history)
        except ProviderError as error:
            used = self._second
            self._emitter.worked_around("contextualize", error, "brackets", used.by)
            made = used.standalone(question, history)
        self.by = used.by
        return made


class FallbackRewriter:
    """Asks its rewriters in order. Where all fail, no new query is made: `by` is "none" then, else who made the last.

    It has one run, and one thread.
    """

    def __init__(self, rewriters: Sequence[Rewriter], emitter: EventEmitter) -> None:
        self._rewriters, self._emitter, self.by = rewriters, emitter, "none"

    def rewrite(
        self, question: str, *, max_keywords: int, failed: Sequence[Chunk] = (), tried: Sequence[str] = ()
    ) -> str:
        """The query; where all fail the last one tried, or else the question."""
        for rewriter, following in zip(self._rewriters, (*self._rewriters[1:], None), strict=True):
            try:
                query = rewriter.rewrite(question, max_keywords=max_keywords, failed=failed, tried=tried)
            except ProviderError as error:
                instead: ev.FallbackAction = "rewriter" if following else "same query" if tried else "question"
                self._emitter.worked_around("rewrite", error, instead, following.by if following else "")
            else:
                self.by = rewriter.by
                return query
        self.by = "none"
        return tried[-1] if tried else question


class FallbackGenerator:
    """Has `second` quote and `first` write; where that fails or finds nothing, the quote is the answer, marked."""

    def __init__(self, first: Generator, second: Generator, emitter: EventEmitter) -> None:
        self._first, self._second, self._emitter, self.by = first, second, emitter, first.by

    def answer(
        self, question: str, knowledge: Sequence[Strip], sources: dict[str, Chunk | WebPage], settings: Settings
    ) -> Iterator[str | Answer]:
        """The quote, if there is one, then the pieces of `first` as they come and an Answer: of these, or the quote."""
        try:
            *_, quote = self._second.answer(question, knowledge, sources, settings)
        except ProviderError:
            yield from self._first.answer(question, knowledge, sources, settings)
            return
        assert isinstance(quote, Answer)
        if not quote.abstained:
            yield quote
        try:
            for piece in self._first.answer(question, knowledge, sources, settings):
                if isinstance(piece, Answer):
                    yield self._joined(piece, quote, settings)
                    return
                yield piece
            raise ReplyError("The answer ended before it was complete.", "Ask again.")
        except ProviderError as error:
            self._emitter.worked_around("answer", error, "quotes", self._second.by)
        yield replace(quote, instead_of=self.by)

    def _joined(self, written: Answer, quote: Answer, settings: Settings) -> Answer:
        """What is written, with the quote's confidence; the quote, marked, where it is sure and nothing is written."""
        if not written.abstained:
            return replace(written, confidence=quote.confidence)
        sure = quote.confidence
        low = quote.low_confidence if sure is None else sure < settings.confident_answer
        return written if quote.abstained or low else replace(quote, instead_of=self.by, remarks=("no answer",))


class FallbackWeb:
    """Asks its web providers in order, until one does not fail.

    What was found away from this machine not longer ago than `hours` is not asked for again. `allowed`, where given,
    is asked before a query leaves.
    """

    def __init__(
        self,
        webs: Sequence[WebSearch],
        emitter: EventEmitter,
        meter: UsageTracker,
        *,
        memory: Cache | None = None,
        hours: float = 0.0,
        allowed: Callable[[str], bool] | None = None,
    ) -> None:
        self._webs, self._emitter, self._meter, self._allowed = webs, emitter, meter, allowed
        self._memory, self._hours = memory if hours else None, hours

    def search(self, query: str, max_results: int) -> ev.Searched | None:
        """What the first provider that does not fail finds; None where all fail. Raises CancelledError."""
        for web, following in zip(self._webs, (*self._webs[1:], None), strict=True):
            try:
                return self._searched(query, max_results, web)
            except ProviderError as error:
                instead: ev.FallbackAction = "web" if following else "documents"
                self._emitter.worked_around("search", error, instead, following.name if following else "")
        return None

    def _searched(self, query: str, max_results: int, web: WebSearch) -> ev.Searched:
        """What `web` finds. Raises ProviderError where it fails, and where the person said no; CancelledError."""
        key = hashlib.sha256(f"{web.id}\n{max_results}\n{query}".encode("utf-8", "replace")).hexdigest()
        memory = self._memory if web.leaves else None
        if memory is not None and (known := self._remembered(memory, key)) is not None:
            found_at, pages = known
            return ev.Searched(query=query, provider=web.name, pages=pages, found_at=found_at)
        if web.leaves and self._allowed is not None:
            self._approve(query, web.name, self._allowed)
        pages, problems = tuple(web.search(query, max_results)), tuple(web.problems)
        if memory is not None and pages and not problems:
            try:
                memory.save_search(key, pages)
            except LibraryError as error:
                self._emitter.worked_around("search", error, "not remembered")
        return ev.Searched(query=query, provider=web.name, pages=pages, problems=problems)

    def _remembered(self, memory: Cache, key: str) -> tuple[str, tuple[WebPage, ...]] | None:
        """What was found before; None where it can't be read, because a cache never ends a run."""
        try:
            return memory.load_search(key, hours=self._hours)
        except LibraryError:
            return None

    def _approve(self, query: str, provider: str, allowed: Callable[[str], bool]) -> None:
        """Asks the person. Raises NotApprovedError on a no, CancelledError on Stop."""
        self._emitter.emit(ev.ApprovalAsked(query=query, provider=provider))
        with self._meter.paused():
            approved = allowed(query)
        self._meter.check()
        self._emitter.emit(ev.ApprovalGiven(approved=approved))
        if not approved:
            raise NotApprovedError("The query was not approved, so nothing was sent.")
