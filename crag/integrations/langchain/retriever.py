"""The engine's whole corrected retrieval as a retriever of LangChain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManager,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from pydantic import field_validator

from crag.core.request import RunRequest
from crag.integrations.langchain.runs import Asking, arun, run
from crag.integrations.langchain.stores import StoreRetriever, retriever_of


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
