"""One run for LangChain: waited for or awaited, and heard of by callbacks as of a retriever's."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from pydantic import BaseModel, ConfigDict, PrivateAttr

from crag.core.errors import CragError, InputError, QuestionError
from crag.core.events import Event
from crag.core.protocols import Retriever
from crag.core.request import RunRequest
from crag.core.settings import Settings
from crag.core.strategies import strategy as strategy_named
from crag.core.trace import Trace
from crag.core.types import OutputMode
from crag.engine import Engine
from crag.integrations.langchain.documents import documents_of
from crag.integrations.langchain.stores import retriever_of
from crag.runtime.jobs import follow_run

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
    error: CragError | None = None

    def events() -> Iterator[Event]:
        nonlocal error
        error = yield from engine.ask(request)

    return Ended(Trace.from_events(events()), error)


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
        given = settings if isinstance(settings, Settings) else strategy_named(strategy).settings
        if settings is not None and not isinstance(settings, Settings):
            given = given.changed(**settings)
        self._engine, self._workspace, self._retriever = engine, workspace, retriever
        self._request = RunRequest("", strategy, settings=given, wanted=wanted, via="agent", client=client)

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
