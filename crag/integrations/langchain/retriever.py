"""The engine's whole corrected retrieval as a retriever of LangChain."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManager,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from pydantic import ConfigDict, field_validator

from crag.core.protocols import Retriever
from crag.core.request import RunRequest
from crag.core.settings import Settings
from crag.engine import Engine
from crag.integrations.langchain.documents import documents_of, question_of, trace_async
from crag.integrations.langchain.stores import StoreRetriever, retriever_of

__all__ = ["CragRetriever"]


class CragRetriever(BaseRetriever):
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

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    engine: Engine
    strategy: str = "balanced"
    workspace: str | Path = "default"
    settings: Settings | None = None
    source: Any = None
    whole: bool = False
    client: str = ""

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
        trace = self.engine.trace(self._request(query, originals, run_manager.get_child()))
        return documents_of(trace, originals, whole=self.whole)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        originals: dict[str, Document] = {}
        trace = await trace_async(self.engine, self._request(query, originals, run_manager.get_sync().get_child()))
        return documents_of(trace, originals, whole=self.whole)

    def _request(self, query: str, originals: dict[str, Document], callbacks: CallbackManager) -> RunRequest:
        """The run for one query. `originals` gets each Document of the source by its chunk's id."""
        request = RunRequest(
            question_of(query),
            self.strategy,
            self.workspace,
            settings=self.settings,
            wanted="evidence",
            via="agent",
            client=self.client,
        )
        if self.source is None:
            return request
        searched = self._searched(request.effective_settings, originals, callbacks)
        return replace(request, retriever=searched)

    def _searched(self, settings: Settings, originals: dict[str, Document], callbacks: CallbackManager) -> Retriever:
        """What one run searches: the source, as it is trusted under these settings, remembering its Documents."""
        if not isinstance(self.source, StoreRetriever):
            searched: Retriever = self.source
            return searched
        least = max(self.source.min_confidence, settings.min_confidence)
        heard = self.source.callbacks or callbacks
        return replace(self.source, min_confidence=least, callbacks=heard, met=originals.setdefault)
