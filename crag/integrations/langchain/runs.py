"""One run for LangChain, over the library or anybody's store; the retrieval as a retriever."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManager,
    CallbackManagerForRetrieverRun,
    Callbacks,
)
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever
from pydantic import ConfigDict, field_validator

from crag.core.errors import CragError, InputError, QuestionError, RetrieverError, SettingsError
from crag.core.protocols import Retriever, RunRequest, embed_question
from crag.core.ranking import rank_chunks
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import OutputMode, RetrievedChunk
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

    `callbacks` hear of its searches as of any retriever's; `met` gets each Document by its chunk's id.
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
    source: VectorStore | BaseRetriever, *, min_confidence: float = 0.0, first_page: Literal[0, 1] = 0
) -> StoreRetriever:
    """A vector store or retriever of LangChain for `RunRequest(retriever=…)`: retrieved there, corrected here.

    A tenant's filter, another search type and the like go into `VectorStore.as_retriever`, whose result is taken, too;
    without a `k` there, a run's strategy says how many. What is trusted less than `min_confidence` by its metadata
    (`confidence`, 0..1; 1 where they say none) is left out unless all is. `first_page`: how the metadata count pages;
    LangChain's readers of PDF begin at 0. Raises SettingsError for anything else than a store or retriever.
    """
    if not 0 <= min_confidence <= 1:
        raise SettingsError(f"A confidence lies in 0..1, not {min_confidence}.")
    if first_page not in (0, 1):
        raise SettingsError(f"A first page has the number 0 or 1, not {first_page!r}.")
    searched = source.as_retriever() if isinstance(source, VectorStore) else source
    if not isinstance(searched, BaseRetriever):
        raise SettingsError(
            f"{type(source).__name__} is no vector store or retriever of LangChain.",
            "Give a VectorStore or a BaseRetriever.",
        )
    return StoreRetriever(retriever=searched, min_confidence=min_confidence, first_page=first_page)


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
        self.engine, self._workspace, self._retriever = engine, workspace, retriever
        made = RunRequest("", strategy, settings=settings, wanted=wanted, via="agent", client=client)
        if not callable(workspace):
            made = engine.resolve_strategy(replace(made, workspace=workspace))
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

    def stored(self, run_id: str, request: RunRequest) -> Ended | None:
        """An earlier run, as the workspace of the request stored it; None of no id, and where it did not."""
        if not run_id:
            return None
        try:
            return Ended(self.engine.library(request.workspace).runs.trace(run_id))
        except CragError:  # deleted, or unreadable: it can be made again
            return None


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
    whole: bool = False
    client: str = ""
    source: Any = None

    def __init__(self, engine: Engine, workspace: str | Path = "default", **others: Any) -> None:
        super().__init__(**{"engine": engine, "workspace": workspace, **others})

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
        if not isinstance(query, str):
            raise QuestionError(f"The question is no text but of type {type(query).__name__}.")
        request = RunRequest(query, self.strategy, self.workspace, self.settings, wanted="evidence", via="agent")
        source = self.source
        if isinstance(source, StoreRetriever):
            least = max(source.min_confidence, request.effective_settings.min_confidence)
            source = replace(source, min_confidence=least, callbacks=callbacks, met=originals.setdefault)
        return replace(request, client=self.client, retriever=source)
