"""The evaluator and the strips over what anybody's retriever found, as a document compressor of LangChain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document

from crag.core.request import RunRequest
from crag.core.strategies import strategy
from crag.core.types import Chunk, RetrievedChunk
from crag.integrations.langchain.documents import as_chunks
from crag.integrations.langchain.runs import Asking, Ended, arun, run
from crag.integrations.langchain.stores import hits_of

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
