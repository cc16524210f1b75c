"""The engine's whole corrected retrieval as a retriever of LangChain, and as a document compressor: its judgement over
what anybody's retriever found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManager,
    CallbackManagerForRetrieverRun,
    Callbacks,
)
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from pydantic import field_validator

from crag.core.request import RunRequest
from crag.core.strategies import strategy
from crag.core.types import Chunk, RetrievedChunk
from crag.integrations.langchain.documents import as_chunks
from crag.integrations.langchain.runs import Asking, Ended, StoreRetriever, arun, hits_of, retriever_of, run


class CragRetriever(Asking, BaseRetriever):
    """Documents that were retrieved, graded and, where they fell short, corrected; each cut down to what answers.

    `strategy` and `settings` as in `Engine.ask`. The library of `workspace` is searched, or `source`: any vector store
    or retriever of LangChain, what `retriever_of` makes of one, or a `crag.core.protocols.Retriever`. The web is
    searched where the strategy and the engine's configuration say so. Every call is a run of its own, stored in the
    workspace; `client` names the program in its history. Nothing of a call stays here: many may be made at once.

    A Document holds the strips of one source that are kept, or with `whole` all of its text. Its metadata: `source`,
    `title`, `page` (from 1), `place`, `url` and `date` where known, or what a Document of `source` says itself;
    `score` (0..1, None where it was not graded by itself), `action`, `origin` (internal or external), `run_id`,
    `document_id`, `chunk_id`, `strips` (start, end, score) and `rects`. Raises the CragError that ended the run.
    """

    source: Any = None

    @field_validator("source")
    @classmethod
    def _searchable(cls, source: object) -> object:
        """Wraps a store or retriever of LangChain once, so that one that is none is said at once."""
        if source is None or isinstance(source, StoreRetriever):
            return source
        if isinstance(source, VectorStore | BaseRetriever) or not callable(getattr(source, "search", None)):
            return retriever_of(source)  # type: ignore[arg-type]
        return source

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        originals: dict[str, Document] = {}
        ended = run(self.engine, self._searching(query, originals, run_manager.get_child()))
        return ended.documents(originals, whole=self.whole)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        originals: dict[str, Document] = {}
        ended = await arun(self.engine, self._searching(query, originals, run_manager.get_sync().get_child()))
        return ended.documents(originals, whole=self.whole)

    def _searching(self, query: str, originals: dict[str, Document], callbacks: CallbackManager) -> RunRequest:
        """The run for one query over the source, as it is trusted under the run's settings.

        `originals` gets each Document of the source by its chunk's id.
        """
        request, source = self._request(query), self.source
        if isinstance(source, StoreRetriever):
            least = max(source.min_confidence, request.effective_settings.min_confidence)
            heard = source.callbacks or callbacks
            source = replace(source, min_confidence=least, callbacks=heard, met=originals.setdefault)
        return replace(request, retriever=source)


Found = Mapping[str, tuple[Chunk, Document]]


@dataclass(frozen=True, slots=True)
class _Given:
    """Chunks that were found already: all of them, whatever is asked and however many."""

    found: Found

    def search(self, query: str, k: int) -> list[RetrievedChunk]:
        return hits_of(chunk for chunk, _ in self.found.values())


class CragCompressor(Asking, BaseDocumentCompressor):
    """Of the Documents that a retriever found, those that answer, each cut down to the sentences that do.

    They are graded and refined as `strategy` (or `settings` in its place) says, without its corrective loops and
    without the web: what was found is given. After INCORRECT none is left, and after any other action none that is
    INCORRECT by its own score. What comes back keeps its id and its metadata, and gets those that `CragRetriever`
    gives; `whole` keeps the texts whole. The judgement is a run, stored in `workspace`, where the app shows it.
    Documents without words, and the second of two with one id, are left out. `first_page`: the number that their
    metadata give a first page. Raises the CragError that ended the run.
    """

    first_page: Literal[0, 1] = 0

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Documents that answer `query`, in the order in which they were given."""
        found = as_chunks(documents, self.first_page)
        return self._passing(run(self.engine, self._grading(query, found)), found) if found else []

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """The same for a coroutine: cancelling it stops the run."""
        found = as_chunks(documents, self.first_page)
        return self._passing(await arun(self.engine, self._grading(query, found)), found) if found else []

    def _grading(self, query: str, found: Found) -> RunRequest:
        settings = self.settings or strategy(self.strategy).settings
        given = settings.changed(loop_on=(), max_rewrites=0, web_on=(), lookup_reach=0)
        return self._request(query, settings=given, retriever=_Given(found))

    def _passing(self, ended: Ended, found: Found) -> list[Document]:
        """What the run keeps, without the Documents whose own score is INCORRECT; where that was doubted, with them."""
        originals = {id: document for id, (_, document) in found.items()}
        decision, kept = ended.trace.decision, ended.documents(originals, whole=self.whole)
        if decision is None or decision.doubt > 0:
            return kept
        scores = [document.metadata["score"] for document in kept]
        return [each for each, score in zip(kept, scores, strict=True) if score is None or score >= decision.lower]
