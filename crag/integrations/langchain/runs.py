"""One run for LangChain, over the library or anybody's store; the retrieval as a retriever and as a compressor."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManager,
    CallbackManagerForRetrieverRun,
    Callbacks,
)
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever
from pydantic import BaseModel, ConfigDict, PrivateAttr, field_validator

from crag.core.errors import CragError, InputError, QuestionError, RetrieverError, SettingsError
from crag.core.protocols import Retriever, RunRequest, embed_question
from crag.core.ranking import rank_chunks
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Chunk, OutputMode, RetrievedChunk
from crag.engine import Engine
from crag.integrations.langchain.documents import as_chunks, confidence_of, documents_of
from crag.runtime.jobs import follow_run
from crag.text.characters import whole_text


class CragEmbeddings(Embeddings):
    """Texts to unit vectors by the model that the engine's configuration names, loaded at the first call.

    Thread-safe. Raises ModelError where the model's files are missing or damaged.
    """

    def __init__(self, engine: Engine | None = None) -> None:
        """`engine` None: one as the environment configures it."""
        self._engine = engine or Engine()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text, of length 1."""
        vectors: list[list[float]] = self._engine.embedder.embed([whole_text(text) for text in texts]).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """The vector that a question is compared by: some models read one in another way than a text."""
        vector: list[float] = embed_question(self._engine.embedder, whole_text(text)).tolist()
        return vector


CANDIDATES = 4
"""This multiple of Documents is asked for where the confidence of some may keep them out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRetriever:
    """A retriever of LangChain as a run's `Retriever`. As thread-safe as that is. Made by `retriever_of`.

    `callbacks` hear of its searches as of any retriever's; `met` hears of each Document by its chunk's id.
    """

    retriever: BaseRetriever
    min_confidence: float = 0.0
    first_page: int = 0
    callbacks: Callbacks = None
    met: Callable[[str, Document], object] = field(default=lambda id, document: None)

    def search(self, query: str, k: int) -> list[RetrievedChunk]:
        """At most `k` Documents as chunks, in the order in which they came, each once.

        Those trusted less than `min_confidence` are left out, unless all are. Raises RetrieverError.
        """
        found = as_chunks(self._documents(query, k), self.first_page).values()
        trusted = [each for each in found if confidence_of(each[1]) >= self.min_confidence]
        kept = (trusted or list(found))[:k]
        for chunk, document in kept:
            self.met(chunk.id, document)
        # Stores' scores are distances here and there.
        return rank_chunks(chunk for chunk, _ in kept)

    def _documents(self, query: str, k: int) -> list[Document]:
        """What it finds. How many is its own affair where it says so, or is no vector store's."""
        how: dict[str, Any] = {}
        if isinstance(self.retriever, VectorStoreRetriever) and "k" not in self.retriever.search_kwargs:
            how["k"] = k * CANDIDATES if self.min_confidence > 0 else k
        try:
            found: Any = self.retriever.invoke(query, {"callbacks": self.callbacks}, **how)
        except CragError:
            raise
        except Exception as error:
            raise RetrieverError(f"{self._name} failed ({type(error).__name__}).") from error
        if not isinstance(found, list) or not all(isinstance(each, Document) for each in found):
            raise RetrieverError(f"{self._name} gave something else than a list of Documents.")
        return found

    @property
    def _name(self) -> str:
        inner = self.retriever.vectorstore if isinstance(self.retriever, VectorStoreRetriever) else self.retriever
        return type(inner).__name__


def retriever_of(
    source: VectorStore | BaseRetriever,
    *,
    search_type: Literal["similarity", "mmr", "similarity_score_threshold"] = "similarity",
    search_kwargs: Mapping[str, Any] | None = None,
    min_confidence: float = 0.0,
    first_page: Literal[0, 1] = 0,
    callbacks: Callbacks = None,
) -> StoreRetriever:
    """A vector store or retriever of LangChain for `RunRequest(retriever=…)`: retrieved there, corrected here.

    `search_type` and `search_kwargs` as in `VectorStore.as_retriever`: a tenant's filter goes there, in the store's own
    words; without a `k` there, a run's strategy says how many. What is trusted less than `min_confidence` by its
    metadata (`confidence`, 0..1; 1 where they say none) is left out unless all is. `first_page`: how the metadata count
    pages; LangChain's readers of PDF begin at 0. Raises SettingsError for anything else than a store or retriever, and
    for arguments that it does not take.
    """
    given = dict(search_kwargs or {})
    if not 0 <= min_confidence <= 1:
        raise SettingsError(f"A confidence lies in 0..1, not {min_confidence}.")
    if first_page not in (0, 1):
        raise SettingsError(f"A first page has the number 0 or 1, not {first_page!r}.")
    return StoreRetriever(
        retriever=_retriever(source, search_type, given),
        min_confidence=min_confidence,
        first_page=first_page,
        callbacks=callbacks,
    )


def _retriever(source: object, search_type: str, given: dict[str, Any]) -> BaseRetriever:
    if isinstance(source, VectorStore):
        try:
            return source.as_retriever(search_type=search_type, search_kwargs=given)
        except ValueError as error:
            raise SettingsError(
                f"{type(source).__name__} does not take these search arguments.",
                "Give a search_type of LangChain, and the search_kwargs that it needs.",
            ) from error
    if isinstance(source, VectorStoreRetriever):
        return source.model_copy(update={"search_kwargs": {**source.search_kwargs, **given}}) if given else source
    if isinstance(source, BaseRetriever):
        if given:
            raise SettingsError(
                f"{type(source).__name__} takes no search arguments here.", "Give them when you make it."
            )
        return source
    raise SettingsError(
        f"{type(source).__name__} is no vector store or retriever of LangChain.",
        "Give a VectorStore or a BaseRetriever.",
    )


Workspace = str | Path | Callable[[Any, Any], str | Path]
"""A workspace, or what tells it of an agent's state and runtime."""
Searched = Retriever | VectorStore | BaseRetriever
"""What may be searched in place of the library."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that is over, and the error that ended it, if one did."""

    trace: Trace
    error: CragError | None = None

    def documents(self, originals: Mapping[str, Document] | None = None, *, whole: bool = False) -> list[Document]:
        """What it may answer from: see `documents_of`. Raises the error that ended it."""
        if self.error is not None:
            raise self.error
        return documents_of(self.trace, originals or {}, whole=whole)


def run(engine: Engine, request: RunRequest) -> Ended:
    """The whole run, which is stored."""
    return Ended(*Trace.from_run(engine.ask(request)))


async def arun(engine: Engine, request: RunRequest) -> Ended:
    """The same in a thread. Cancelling the coroutine stops the run, which is stored as stopped."""
    cancel = threading.Event()
    # One item for the whole run: a loop that is woken for each event costs more than the run's own fold.
    whole = map(run, [engine], [replace(request, cancel=cancel)])
    [ended] = [each async for each in follow_run(whole, cancel)]
    return ended


class Asking(BaseModel):
    """How runs are made: the fields that the retriever and the compressor share."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    engine: Engine
    strategy: str = "balanced"
    workspace: str | Path = "default"
    settings: Settings | None = None
    whole: bool = False
    client: str = ""

    def _request(self, question: object, **changes: Any) -> RunRequest:
        """The run that retrieves for a question. Raises QuestionError for anything but a text."""
        if not isinstance(question, str):
            raise QuestionError(f"The question is no text but of type {type(question).__name__}.")
        made = RunRequest(question, self.strategy, self.workspace, self.settings, wanted="evidence", via="agent")
        return replace(made, client=self.client, **changes)


class _Observed(BaseRetriever):
    """A run of an agent as callbacks and traces hear of it: by its name, with its documents."""

    name: str | None = "crag"
    engine: Any
    request: Any
    _ended: Ended | None = PrivateAttr(None)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        self._ended = run(self.engine, self.request)
        return self._ended.documents()

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        self._ended = await arun(self.engine, self.request)
        return self._ended.documents()

    def after(self, error: CragError | None = None) -> Ended:
        """The run that is over. Raises the error where there was no run."""
        if self._ended is None:
            raise error or CragError("There was no run.")
        return self._ended


class AgentRuns:
    """Runs the engine for an agent. `wanted` says what a run ends with; `client` is the agent's own name.

    Raises SettingsError for a strategy or a setting that does not exist.
    """

    def __init__(
        self,
        engine: Engine,
        strategy: str,
        workspace: Workspace,
        settings: Settings | Mapping[str, Any] | None,
        retriever: Searched | Callable[[Any, Any], Searched] | None,
        wanted: OutputMode,
        client: str,
    ) -> None:
        self._engine, self._workspace, self._retriever = engine, workspace, retriever
        made = RunRequest("", strategy, settings=settings, wanted=wanted, via="agent", client=client)
        self._request = replace(made, settings=made.effective_settings)

    @property
    def strategy(self) -> str:
        return self._request.strategy

    def request(self, question: str, state: Any, runtime: Any) -> RunRequest:
        """The run of an agent in this state. Raises InputError where no workspace is given."""
        workspace = self._workspace(state, runtime) if callable(self._workspace) else self._workspace
        if not isinstance(workspace, str | Path):
            raise InputError("The state names no workspace to search.", "Name a workspace for this agent.")
        given: Any = self._retriever
        if callable(given) and not hasattr(given, "search"):
            given = given(state, runtime)
        if isinstance(given, VectorStore | BaseRetriever):
            given = retriever_of(given, min_confidence=self._request.effective_settings.min_confidence)
        return replace(self._request, question=question, workspace=workspace, retriever=given)

    def run(self, request: RunRequest) -> Ended:
        """The whole run. Its documents are a retriever's result in the caller's callbacks."""
        observed = _Observed(engine=self._engine, request=request)
        try:
            observed.invoke(request.question)
        except CragError as error:
            return observed.after(error)
        return observed.after()

    async def arun(self, request: RunRequest) -> Ended:
        """The same in a thread. Cancelling this stops the run, which is stored as stopped."""
        observed = _Observed(engine=self._engine, request=request)
        try:
            await observed.ainvoke(request.question)
        except CragError as error:
            return observed.after(error)
        return observed.after()

    def stored(self, run_id: str, request: RunRequest) -> Ended | None:
        """An earlier run, as the workspace of the request stored it; None of no id, and where it did not."""
        if not run_id:
            return None
        try:
            return Ended(self._engine.library(request.workspace).runs.trace(run_id))
        except CragError:  # deleted, or unreadable: it can be made again
            return None


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

    def __init__(self, engine: Engine, workspace: str | Path = "default", **others: Any) -> None:
        super().__init__(engine=engine, workspace=workspace, **others)

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
        return rank_chunks(chunk for chunk, _ in self.found.values())


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
        asked = self._request(query, retriever=_Given(found))
        given = asked.effective_settings.changed(loop_on=(), max_rewrites=0, web_on=(), lookup_reach=0)
        return replace(asked, settings=given)

    def _passing(self, ended: Ended, found: Found) -> list[Document]:
        """What the run keeps, without the Documents whose own score is INCORRECT; where that was doubted, with them."""
        originals = {id: document for id, (_, document) in found.items()}
        decision, kept = ended.trace.decision, ended.documents(originals, whole=self.whole)
        if decision is None or decision.doubt > 0:
            return kept
        scores = [document.metadata["score"] for document in kept]
        return [each for each, score in zip(kept, scores, strict=True) if score is None or score >= decision.lower]
