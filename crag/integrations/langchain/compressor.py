"""The evaluator and the strips over what anybody's retriever found, as a document compressor of LangChain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict

from crag.core.request import RunRequest
from crag.core.settings import Settings
from crag.core.strategies import strategy
from crag.core.trace import Trace
from crag.core.types import Chunk, RetrievedChunk
from crag.engine import Engine
from crag.integrations.langchain.documents import as_chunks, documents_of, question_of, trace_async
from crag.integrations.langchain.stores import hits_of

__all__ = ["CragCompressor"]


@dataclass(frozen=True, slots=True)
class _Given:
    """Chunks that were found already: all of them, whatever is asked and however many."""

    chunks: Sequence[Chunk]

    def search(self, query: str, k: int) -> list[RetrievedChunk]:
        return hits_of(self.chunks)


class CragCompressor(BaseDocumentCompressor):
    """Of the Documents that a retriever found, those that answer, each cut down to the sentences that do.

    They are graded and refined as `strategy` (or `settings` in its place) says, without its corrective loops and
    without the web: what was found is given. After INCORRECT none is left, and after any other action none that is
    INCORRECT by its own score. What comes back keeps its id and its metadata, and gets those that `CragRetriever`
    gives; `whole` keeps the texts whole. The judgement is a run, stored in `workspace`, where the app shows it.
    Documents without words, and the second of two with one id, are left out. `first_page`: the number that their
    metadata give a first page. Raises the CragError that ended the run.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    engine: Engine
    strategy: str = "balanced"
    workspace: str | Path = "default"
    settings: Settings | None = None
    whole: bool = False
    first_page: Literal[0, 1] = 0
    client: str = ""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Documents that answer `query`, in the order in which they were given."""
        found, request = self._request(documents)
        if not found:
            return []
        trace = self.engine.trace(replace(request, question=question_of(query)))
        return self._passing(trace, found)

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """The same for a coroutine: who stops waiting stops the run."""
        found, request = self._request(documents)
        if not found:
            return []
        trace = await trace_async(self.engine, replace(request, question=question_of(query)))
        return self._passing(trace, found)

    def _request(self, documents: Sequence[Document]) -> tuple[dict[str, Document], RunRequest]:
        """By its chunk's id each Document that has words, and the run over them, without its question."""
        found = as_chunks(documents, self.first_page)
        settings = self.settings or strategy(self.strategy).settings
        request = RunRequest(
            "",
            self.strategy,
            self.workspace,
            retriever=_Given([chunk for chunk, _ in found.values()]),
            settings=settings.changed(loop_on=(), max_rewrites=0, web_on=()),
            wanted="evidence",
            via="agent",
            client=self.client,
        )
        return {id: document for id, (_, document) in found.items()}, request

    def _passing(self, trace: Trace, found: dict[str, Document]) -> list[Document]:
        """What the run keeps, without the Documents whose own score is INCORRECT; where that was doubted, with them."""
        decision, kept = trace.decision, documents_of(trace, found, whole=self.whole)
        if decision is None or decision.doubt > 0:
            return kept
        scores = [document.metadata["score"] for document in kept]
        return [each for each, score in zip(kept, scores, strict=True) if score is None or score >= decision.lower]
