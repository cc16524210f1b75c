"""One run for an agent: of which workspace, over which retriever, traced as a retriever, waited for or awaited."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables.config import (
    ensure_config,
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
)
from langchain_core.vectorstores import VectorStore

from crag.core.errors import CragError, InputError
from crag.core.events import Event
from crag.core.protocols import Retriever
from crag.core.request import RunRequest
from crag.core.settings import Settings
from crag.core.strategies import strategy as strategy_named
from crag.core.trace import Trace
from crag.core.types import Exchange, OutputMode
from crag.engine import Engine
from crag.integrations.langchain.documents import documents_of
from crag.integrations.langchain.stores import retriever_of
from crag.runtime.jobs import follow_run

Workspace = str | Path | Callable[[Any, Any], str | Path]
"""A workspace, or what tells it of an agent's state and runtime."""
Searched = Retriever | VectorStore | BaseRetriever
"""What may be searched in place of the library."""
NAME = "crag"
"""Of the retriever in callbacks and traces."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one run looks: a workspace, and what is searched in place of its library, if anything is."""

    workspace: str | Path
    retriever: Retriever | None


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that is over, and the error that ended it, if one did."""

    trace: Trace
    error: CragError | None


class Retrieval:
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
        given = strategy_named(strategy).settings
        if settings is not None:
            given = settings if isinstance(settings, Settings) else given.changed(**settings)
        self._engine, self.strategy, self.settings = engine, strategy, given
        self._workspace, self._retriever, self._wanted, self._client = workspace, retriever, wanted, client

    def place(self, state: Any, runtime: Any) -> Place:
        """Where a run of an agent in this state looks. Raises InputError where no workspace is given."""
        workspace = self._workspace(state, runtime) if callable(self._workspace) else self._workspace
        if not isinstance(workspace, str | Path):
            raise InputError("The state names no workspace to search.", "Name a workspace for this agent.")
        return Place(workspace, self._searched(state, runtime))

    def _searched(self, state: Any, runtime: Any) -> Retriever | None:
        given: Any = self._retriever
        if callable(given) and not hasattr(given, "search"):
            given = given(state, runtime)
        if not isinstance(given, VectorStore | BaseRetriever):
            return cast("Retriever | None", given)
        return retriever_of(given, min_confidence=self.settings.min_confidence)

    def run(self, question: str, history: Sequence[Exchange], place: Place) -> Ended:
        """The whole run. Its context is a retriever's result in the caller's callbacks."""
        manager = get_callback_manager_for_config(ensure_config())
        callbacks = manager.on_retriever_start({"name": NAME}, question, name=NAME)
        try:
            ended = self._ended(question, history, place, threading.Event())
        except BaseException as error:
            callbacks.on_retriever_error(error)
            raise
        if ended.error:
            callbacks.on_retriever_error(ended.error)
        else:
            callbacks.on_retriever_end(documents_of(ended.trace, {}, whole=False))
        return ended

    async def arun(self, question: str, history: Sequence[Exchange], place: Place) -> Ended:
        """As `run`, in a thread. Who cancels this stops the run, which is stored as stopped."""
        manager = get_async_callback_manager_for_config(ensure_config())
        callbacks = await manager.on_retriever_start({"name": NAME}, question, name=NAME)
        cancel = threading.Event()

        def whole() -> Iterator[Ended]:
            yield self._ended(question, history, place, cancel)

        try:
            # One item for the whole run: a loop that is woken for each event costs more than the run's own fold.
            (ended,) = [each async for each in follow_run(whole(), cancel)]
        except BaseException as error:
            await callbacks.on_retriever_error(error)
            raise
        if ended.error:
            await callbacks.on_retriever_error(ended.error)
        else:
            await callbacks.on_retriever_end(documents_of(ended.trace, {}, whole=False))
        return ended

    def stored(self, run_id: str, place: Place) -> Ended | None:
        """A run of before, as its workspace stored it; None of no id, and where it did not."""
        if not run_id:
            return None
        try:
            return Ended(self._engine.library(place.workspace).runs.trace(run_id), None)
        except CragError:  # deleted, or unreadable: it can be made again
            return None

    def _ended(self, question: str, history: Sequence[Exchange], place: Place, cancel: threading.Event) -> Ended:
        error: CragError | None = None

        def events() -> Iterator[Event]:
            nonlocal error
            error = yield from self._engine.ask(
                RunRequest(
                    question,
                    self.strategy,
                    place.workspace,
                    settings=self.settings,
                    history=history,
                    retriever=place.retriever,
                    cancel=cancel,
                    wanted=self._wanted,
                    via="agent",
                    client=self._client,
                )
            )

        trace = Trace.from_events(events())
        return Ended(trace, error)
