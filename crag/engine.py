"""The composition root: chooses the parts, and offers adding, asking and grading to every user interface.

A part is imported where it is made: all of them together take seconds to load, and who asks a question of files that
were added before runs a third of them.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from crag.core.config import AppConfig, Keys
from crag.core.errors import CragError, InputError, SettingsError
from crag.core.protocols import (
    AnswerGrader,
    AnswerReader,
    Embedder,
    Generator,
    RetrievalEvaluator,
    Retriever,
    Rewriter,
    RunRequest,
    WebSearch,
)
from crag.core.sample import Sample, shipped_sample
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES, Strategy
from crag.core.trace import Trace
from crag.core.types import Answer, Grade, Passage
from crag.pipeline.request import refuse_filter
from crag.runtime.circuits import Circuits
from crag.runtime.fair_queue import FairQueue
from crag.runtime.usage import UsageTracker
from crag.runtime.waiting import CLOCK, Clock
from crag.text import memory
from crag.text.characters import whole_text

if TYPE_CHECKING:
    from crag.core.ingesting import Embedding, IngestEvent
    from crag.pipeline.build import Local
    from crag.pipeline.executor import Events
    from crag.pipeline.folders import FolderComparison, FolderFile
    from crag.pipeline.indexing import Indexer, Load
    from crag.pipeline.pages import Pages
    from crag.pipeline.resolve import ProviderPlan
    from crag.pipeline.staleness import Stale
    from crag.storage.library import Library
    from crag.web.folder import FolderWeb

Workspace = str | Path
_PARTS = {
    "embedder": Embedder,
    "evaluator": RetrievalEvaluator,
    "web": WebSearch,
    "rewriter": Rewriter,
    "generator": Generator,
}
_LASTING = {"data": "data folder", "database_url": "database", "index": "chunk index", "milvus_uri": "chunk index"}


class Engine:
    """One process's engine. Thread-safe: many runs may ask and add at once.

    Parts that are not given are the local ones, made when first needed. `clock` tells the time outside calls have.
    `with Engine() as engine` closes it at the end. Raises SettingsError for a part that lacks what its protocol says.
    """

    def __init__(
        self,
        config: AppConfig | None = None,
        keys: Keys | None = None,
        *,
        embedder: Embedder | None = None,
        evaluator: RetrievalEvaluator | None = None,
        web: WebSearch | None = None,
        rewriter: Rewriter | None = None,
        generator: Generator | None = None,
        clock: Clock = CLOCK,
    ) -> None:
        from crag.admin.teams import Teams
        from crag.pipeline.foreign_parts import check_part
        from crag.pipeline.libraries import OpenLibraries
        from crag.providers.registry import given_keys
        from crag.retrieval.rewriting import KeywordRewriter
        from crag.storage.data_dir import DataDirLock
        from crag.storage.postgres import server_at
        from crag.storage.private import PrivateLibraries

        given = (embedder, evaluator, web, rewriter, generator)
        for part, (name, protocol) in zip(given, _PARTS.items(), strict=True):
            check_part(part, protocol, name)
        self.config = config or AppConfig.from_environment()
        self.keys = keys or given_keys()
        self._given_embedder, self._given_evaluator = embedder, evaluator
        self._given_web, self._given_generator, self._clock = web, generator, clock
        self.circuits = Circuits(clock)
        """Which outside services are left alone at present, because they failed in one run after another."""
        self.rewriter: Rewriter = rewriter or KeywordRewriter()
        self._server = server_at(self.config.storage.database_url)
        self._use = DataDirLock(self.config.storage.data if self._server is None else None)
        self._use.begin()
        self.private_libraries = PrivateLibraries(self.config.storage.data, self._server)
        self.teams = Teams(lambda: self.config, self.private_libraries, self._server)
        """People, workspaces, links, limits and the audit log of this data folder or database."""
        self.runs, self.readers = FairQueue(1), FairQueue(1)
        """The queues of runs, and of files that are read."""
        self._limit(self.config)
        self._libraries = OpenLibraries(self._opened)
        self._folders: dict[Path, FolderWeb] = {}
        self._lock = threading.RLock()
        self.watchers: list[Callable[[Trace], None]] = []
        """Each is called with every run that has ended, after it was stored; what one raises is logged."""

    def reconfigure(self, config: AppConfig) -> None:
        """Run and read with `config` from now on. What is under way goes on with what it began with.

        Models stay loaded as they are, libraries open. Raises SettingsError for another data folder, database or index.
        """
        for name, what in _LASTING.items():
            if config.get(name) != self.config.get(name):
                raise SettingsError(f"The {what} can't change while the program runs.", "Start it again with another.")
        with self._lock:
            self._limit(config)
            self.config = config

    def _limit(self, config: AppConfig) -> None:
        self.runs.allow(config.limits.runs_at_once)
        self.readers.allow(config.limits.readers)

    @cached_property
    def embedder(self) -> Embedder:
        if self._given_embedder is not None:
            return self._given_embedder
        from crag.models.runtime import E5
        from crag.pipeline.resolve import Missing, problem, resolve_embedding
        from crag.providers.embedding import BUDGET, ServerEmbedder
        from crag.providers.endpoint import Endpoint

        meter = partial(UsageTracker, BUDGET, clock=self._clock, allowance=self.teams.quotas, circuits=self.circuits)
        match resolve_embedding(self.config, self.keys):
            case None:
                return E5(threads=self.config.models.threads)
            case Missing() as missing:
                model = self.config.models.embedding_model
                return ServerEmbedder(Endpoint(provider=missing.name, model=model), meter, problem(missing))
            case service:
                return ServerEmbedder(service.endpoint, meter)

    @cached_property
    def evaluator(self) -> RetrievalEvaluator:
        from crag.evaluation.local import LocalEvaluator
        from crag.models.runtime import E5

        embedder = self.embedder if isinstance(self.embedder, E5) else None
        return self._given_evaluator or LocalEvaluator(self.config.models.threads, embedder=embedder)

    @cached_property
    def generator(self) -> Generator:
        if self._given_generator is not None:
            return self._given_generator
        from crag.generation.extractive import ExtractiveGenerator
        from crag.pipeline.foreign_parts import guard_evaluator

        reader = self.evaluator if isinstance(self.evaluator, AnswerReader) else None
        grader = self.evaluator if isinstance(self.evaluator, AnswerGrader) else None
        return ExtractiveGenerator(guard_evaluator(self.evaluator), reader, grader)

    def _local(self, config: AppConfig) -> Local:
        from crag.pipeline.build import Local

        return Local(
            evaluator=self.evaluator, rewriter=self.rewriter, generator=self.generator, folder=self.web(config)
        )

    def web(self, config: AppConfig | None = None) -> WebSearch | None:
        """The pages on this machine that `config` (else this engine's own) chooses; None where there are none."""
        if self._given_web is not None:
            return self._given_web
        from crag.web.folder import FOLDER, FolderWeb

        given = (config or self.config).providers
        place = given.web_folder if FOLDER.name in (given.web, given.web_fallback) else None
        with self._lock:
            return self._folders.setdefault(place.absolute(), FolderWeb(place)) if place else None

    def library(self, workspace: Workspace = "default") -> Library:
        """The library of a workspace: a name, or the folder that holds it. Of those used lately, the same one again.

        Nothing is stored before something is added. Only a named one has the configuration's limits and database.
        Raises InputError for a name outside [a-z0-9-]{1,64}, StorageError where the folder can't be used.
        """
        from crag.storage.places import check_workspace_name

        self._use.begin()
        if isinstance(workspace, str):
            return self._libraries.at(self.private_libraries.root / check_workspace_name(workspace), named=True)
        return self._libraries.at(workspace, named=False)

    def remove(self, workspace: str) -> None:
        """Removes a named library, if there is one, with all that it holds. Raises InputError, StorageError."""
        library = self.library(workspace)
        if self.config.storage.index == "milvus" and library.exists:
            for document in library.documents.all():
                library.documents.delete(document.id)
            library.refresh_index()  # nothing of it stays on the server that all libraries share
        self._libraries.forget(self.private_libraries.root / workspace)
        self.private_libraries.remove(workspace)
        memory.forget([workspace])

    def _opened(self, folder: Path, named: bool) -> Library:
        from crag.index.embedded import opened
        from crag.storage.library import Library

        open_index = partial(opened, self.config, self.keys, folder)
        if not named:
            return Library(folder, self.embedder, open_index=open_index)
        may_grow = partial(self.teams.quotas.check_growth, folder.name)
        return Library(folder, self.embedder, may_grow, self._server, open_index)

    def stale(self, workspace: Workspace = "default", ids: Sequence[str] | None = None) -> dict[str, tuple[Stale, ...]]:
        """What is out of date of these documents, or of all: see `crag.pipeline.staleness.find_stale`."""
        from crag.pipeline.staleness import find_stale

        return find_stale(self.library(workspace), ids)

    def tidy(self, stop: threading.Event) -> None:
        """Purge every named library as `config.storage.purge` says, and delete what can't be restored any more.

        Web pages in them are looked at again where `config.storage.refresh` says how old they may become. The audit log
        is kept for as long as `config.serving.audit_days` says.
        """
        renew = partial(self.pages.renew, days=days, stop=stop) if (days := self.config.storage.refresh_days) else None
        self._libraries.tidy(self.private_libraries, self.config.storage.purge, stop, renew, self.teams.purged)
        self.teams.tidy()

    @cached_property
    def pages(self) -> Pages:
        """Documents from the web: added by their addresses, and fetched again."""
        from crag.pipeline.pages import Pages

        return Pages(lambda: self.config, self.library, self._indexer)

    def add(
        self,
        name: str | Path,
        data: bytes | str | None = None,
        workspace: Workspace = "default",
        *,
        cancel: threading.Event | None = None,
    ) -> list[IngestEvent]:
        """Adds one file, or a text under a name; without `data` the file at that path. The events, once it is over.

        A bad one is a DocumentFailed. `add_files` gives events as they happen. Raises only what `library` raises.
        """
        given = Path(name).read_bytes if data is None else data
        return [*self.add_files([(Path(name).name if data is None else str(name), given)], workspace, cancel=cancel)]

    def add_files(
        self,
        files: Iterable[tuple[str, Load | bytes | str]],
        workspace: Workspace = "default",
        *,
        confidence: float = 1.0,
        cancel: threading.Event | None = None,
    ) -> Iterator[IngestEvent]:
        """Adds files in order, each (name, its bytes, its text, or a function that returns bytes), as it is iterated.

        See `crag.pipeline.indexing.Indexer`.

        `confidence` says how far what these files say is trusted, 0..1: strategies may leave out what is below
        theirs (`Settings.min_confidence`). Raises InputError outside that range.
        """
        indexer = self._indexer(self.library(workspace), cancel or threading.Event(), confidence)
        yield from indexer.index((name, _load(data)) for name, data in files)

    def _indexer(self, library: Library, cancel: threading.Event, confidence: float = 1.0) -> Indexer:
        from crag.pipeline.indexing import Indexer

        return Indexer(library, self.embedder, self.config, self.readers, cancel, confidence)

    def embed_missing(
        self, workspace: Workspace = "default", cancel: threading.Event | None = None
    ) -> Iterator[Embedding]:
        """Make the vectors of documents that have none yet, as adding does at its end: after it was cut off or failed.

        After `library(workspace).unembedded.forget_vectors()`, all of them: the model has changed.
        Raises CancelledError, and what the embedder or the library does.
        """
        from crag.pipeline.embedding import embed_missing

        library = self.library(workspace)
        yield from embed_missing(library, self.embedder, cancel or threading.Event())
        library.refresh_index()

    def compare_folder(
        self, folder: Path, workspace: Workspace = "default", cancel: threading.Event | None = None
    ) -> FolderComparison:
        """Compare a folder of this machine with the documents that came from it. See `crag.pipeline.folders`."""
        from crag.pipeline.folders import compare_folder

        return compare_folder(self.library(workspace), folder, self.config.limits.max_file_mb, cancel)

    def sync_files(
        self, files: Sequence[FolderFile], workspace: Workspace = "default", cancel: threading.Event | None = None
    ) -> Iterator[IngestEvent]:
        """Bring the library in step with these files of a comparison; give gone ones only to delete their documents.

        New and changed files are added, moved ones get their path and name, and each ends in one event, in order.
        """
        from crag.pipeline.folders import sync_files

        loads = sync_files(self.library(workspace), files, self.config.limits.max_file_mb)
        yield from self.add_files(loads, workspace, cancel=cancel)

    def strategies(self, workspace: Workspace = "default") -> dict[str, Strategy]:
        """The published strategies, then the configurations saved in that library, by name. Raises StorageError."""
        return {**STRATEGIES, **self.library(workspace).configurations.all()}

    def resolve_strategy(self, request: RunRequest) -> RunRequest:
        """The request, one for a saved configuration with its published strategy and settings in the name's place."""
        if request.strategy in STRATEGIES:
            return request
        saved = self.library(request.workspace).configurations.all().get(request.strategy)
        if saved is None:
            return request
        return replace(request, strategy=saved.base, settings=saved.settings.under(request.settings))

    def ask(self, request: RunRequest | str) -> Events:
        """One run, event by event: RunStarted first, RunFinished last, every failure an event between.

        A text is a request with that question alone. Where `config.limits.runs_at_once` runs are under way, the run
        waits in a queue, and Queued says so. While a person is asked for approval, others run. The whole run, without
        any key, is stored in the workspace's library.

        Raises SettingsError, before any event, for a strategy or a setting that does not exist, for a retriever
        without `search`, and for the setting `where` beside a `retriever`.
        """
        from crag.pipeline.executor import RunExecutor
        from crag.pipeline.foreign_parts import check_part

        asked = self.resolve_strategy(RunRequest(request) if isinstance(request, str) else request)
        asked = replace(
            asked,
            question=whole_text(asked.question),
            standalone=None if asked.standalone is None else whole_text(asked.standalone),
            history=[
                replace(each, question=whole_text(each.question), answer=whole_text(each.answer))
                for each in asked.history
            ],
            settings=asked.effective_settings,
            config=asked.config or self.config,
            keys=asked.keys or self.keys,
            cancel=asked.cancel or threading.Event(),
            run_id=asked.run_id or secrets.token_hex(16),
        )
        check_part(asked.retriever, Retriever, "retriever")
        refuse_filter(asked.retriever, asked.effective_settings)
        executor = RunExecutor(
            queue=self.runs,
            quotas=self.teams.quotas,
            tenant=str(asked.workspace.absolute() if isinstance(asked.workspace, Path) else asked.workspace),
            library=lambda: self.library(asked.workspace),
            local=self._local,
            given_web=self._given_web.name if self._given_web else "",
            watchers=tuple(self.watchers),
            clock=self._clock,
            circuits=self.circuits,
        )
        return executor.run(asked)

    def trace(self, request: RunRequest | str) -> Trace:
        """The whole run that `ask` yields, as one value. The run is stored in the same way.

        Raises the CragError that ended it: EmptyLibraryError without documents, QuestionError for a bad question,
        CancelledError after `cancel`. A failure that a fallback covered raises nothing; the trace has it.
        """
        trace, ended = Trace.from_run(self.ask(request))
        if ended is not None:
            raise ended
        return trace

    def answer(self, request: RunRequest | str) -> Answer:
        """The answer of `trace` with its citations. Where the sources do not say, the answer says so.

        Raises as `trace` does, and CragError where only evidence was wanted.
        """
        answer = self.trace(request).answer
        if answer is None:
            raise CragError("The run ended without an answer.")
        return answer

    def grade(self, question: str, texts: Sequence[str]) -> Iterator[Grade]:
        """The configured evaluator's grade of each text, in order, without any library; `passage_id` counts from 0.

        Where a model or server was to grade and fails, the local evaluator does, its grades marked. Raises
        ProviderError where what is configured can't be used at all.
        """
        from crag.pipeline.build import grader

        passages = [Passage(id=str(place), text=text) for place, text in enumerate(texts)]
        evaluator = grader(self.config, self.keys, self.evaluator, self._clock, self.teams.quotas)
        grades = {grade.passage_id: grade for grade in evaluator.grade(question, passages)}
        yield from (grades[passage.id] for passage in passages)

    def resolve_providers(
        self, config: AppConfig | None = None, keys: Keys | None = None, settings: Settings | None = None
    ) -> ProviderPlan:
        """What `config` and `keys` (this engine's own, if not given) come to: see `crag.pipeline.resolve`."""
        from crag.pipeline.resolve import Service, resolve_embedding, resolve_providers

        given = self._given_web.name if self._given_web else ""
        made = None if self._given_embedder else resolve_embedding(self.config, self.keys)
        embedding = made if isinstance(made, Service) else None
        return resolve_providers(
            config or self.config, keys or self.keys, settings, given_web=given, embedding=embedding
        )

    def sample(self) -> Sample:
        """The sample library that ships with the project. Raises NotFoundError where it is missing."""
        return shipped_sample()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes every library this engine opened."""
        self._libraries.close()
        self.teams.close()
        self._use.end()
        if self._server is not None:
            self._server.close()


def _load(data: Load | bytes | str) -> Load:
    """A function that returns the bytes. Raises InputError, which names the type, for anything else."""
    if callable(data):
        return data
    if not isinstance(data, bytes | str):
        raise InputError(f"data: bytes or a text is wanted, and it is of type {type(data).__name__}.")
    return lambda: data.encode() if isinstance(data, str) else data
