"""The composition root: chooses the parts, and offers adding, asking and grading to every user interface."""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from crag.composition import metered, outside
from crag.core import events as ev
from crag.core.config import AppConfig
from crag.core.errors import CancelledError, CragError, InputError, ModelError, ProviderError, QuestionError
from crag.core.ingesting import IngestEvent
from crag.core.keys import Keys
from crag.core.protocols import Embedder, Generator, RetrievalEvaluator, Rewriter, WebSearch
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Grade, Passage, RetrievedChunk, Step
from crag.correct.folder import FolderWeb
from crag.correct.rewriting import KeywordRewriter
from crag.correct.strips import StripRefiner
from crag.evaluator.cached import CachedEvaluator
from crag.evaluator.local import LocalEvaluator
from crag.generate.extractive import ExtractiveGenerator
from crag.generate.verification import CitationVerifier
from crag.indexing import index_files
from crag.library.library import Library
from crag.models.minilm import MiniLM
from crag.sample import Sample, load_sample
from crag.steps import Parts
from crag.strategies import strategy as strategy_named

__all__ = ["Engine", "ProviderStatus"]

QUESTION_CHARS = 2_000
Workspace = str | Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderStatus:
    """Whether something is on, and the reason in words."""

    name: str
    on: bool
    detail: str


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What one run is asked with."""

    settings: Settings
    config: AppConfig
    keys: Keys
    allowed: Callable[[str], bool]
    cancel: threading.Event


@dataclass(frozen=True, slots=True)
class _Scoped:
    """The library as one run sees it: with that run's filters."""

    library: Library
    settings: Settings

    def search(self, query: str, k: int) -> list[RetrievedChunk]:
        return self.library.search(
            query, k, min_confidence=self.settings.min_confidence, half_life_days=self.settings.half_life_days
        )


class Engine:
    """One process's engine. Thread-safe: many runs may ask and add at once.

    Parts that are not given are the local ones, made when first needed.
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
    ) -> None:
        self.config = config or AppConfig.from_environment()
        self.keys = keys or Keys.from_mapping()
        self._given_embedder, self._given_evaluator = embedder, evaluator
        self._given_web, self._given_generator = web, generator
        self.rewriter: Rewriter = rewriter or KeywordRewriter()
        self._libraries: dict[Path, Library] = {}
        self._folders: dict[Path, FolderWeb] = {}
        self._lock = threading.RLock()

    @cached_property
    def embedder(self) -> Embedder:
        return self._given_embedder or MiniLM(threads=self.config.threads)

    @cached_property
    def evaluator(self) -> RetrievalEvaluator:
        return self._given_evaluator or LocalEvaluator(self.config.threads)

    @cached_property
    def generator(self) -> Generator:
        return self._given_generator or ExtractiveGenerator(self.evaluator)

    def web(self, config: AppConfig | None = None) -> WebSearch | None:
        """The web provider that `config` (this engine's own, if not given) chooses; None where it is off."""
        if self._given_web is not None:
            return self._given_web
        chosen = config or self.config
        if chosen.web != "folder" or chosen.web_folder is None:
            return None
        with self._lock:
            return self._folders.setdefault(chosen.web_folder.absolute(), FolderWeb(chosen.web_folder))

    def library(self, workspace: Workspace = "default") -> Library:
        """The library of a workspace: a name, or the folder that holds it. Opened once.

        Raises InputError for a name outside [a-z0-9-]{1,64}, StorageError where the folder can't be used.
        """
        folder = workspace if isinstance(workspace, Path) else self.config.data / "workspaces" / _named(workspace)
        with self._lock:
            key = folder.absolute()
            if key not in self._libraries:
                self._libraries[key] = Library.open(folder, self.embedder)
            return self._libraries[key]

    def add(
        self, name: str, data: bytes, workspace: Workspace = "default", *, cancel: threading.Event | None = None
    ) -> Iterator[IngestEvent]:
        """Adds one file. A bad one is a DocumentFailed. Raises only what `library` raises."""
        return self.add_files([(name, lambda: data)], workspace, cancel=cancel)

    def add_files(
        self,
        files: Iterable[tuple[str, Callable[[], bytes]]],
        workspace: Workspace = "default",
        *,
        confidence: float = 1.0,
        cancel: threading.Event | None = None,
    ) -> Iterator[IngestEvent]:
        """Adds files in order, each (name, function that returns its bytes). See `crag.indexing.index_files`.

        `confidence` says how far what these files say is trusted, 0..1: strategies may leave out what is below
        theirs (`Settings.min_confidence`). Raises InputError outside that range.
        """
        if not 0 <= confidence <= 1:
            raise InputError(f"A confidence of {confidence:g} is not between 0 and 1.", "Give one from 0 to 1.")
        library, stop = self.library(workspace), cancel or threading.Event()
        yield from index_files(files, library, self.embedder, self.config, stop, confidence)

    def ask(
        self,
        question: str,
        strategy: str = "balanced",
        workspace: Workspace = "default",
        *,
        settings: Settings | None = None,
        config: AppConfig | None = None,
        keys: Keys | None = None,
        allowed: Callable[[str], bool] = lambda query: True,
        cancel: threading.Event | None = None,
    ) -> Iterator[ev.Event]:
        """One run, event by event: RunStarted first, RunFinished last, every failure an event between.

        `settings` replace the strategy's own; `config` and `keys` choose other providers for this run. `allowed`
        is asked before a query leaves for the web. The whole run, without any key, is stored in the workspace's
        library. Raises SettingsError, before any event, for a strategy that does not exist.
        """
        settings = settings or strategy_named(strategy).settings
        question = question.encode("utf-8", "replace").decode()  # a lone surrogate has no place in JSON
        run = ev.RunStarted(
            run_id=secrets.token_urlsafe(16),
            question=question[:QUESTION_CHARS],
            strategy=strategy,
            settings=settings.model_dump(mode="json"),
            workspace=str(workspace),
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        )
        chosen = _Chosen(settings, config or self.config, keys or self.keys, allowed, cancel or threading.Event())
        return self._run(run, question, workspace, chosen)

    def _run(
        self,
        run: ev.RunStarted,
        question: str,
        workspace: Workspace,
        chosen: _Chosen,
    ) -> Iterator[ev.Event]:
        from crag.graph import run_graph  # LangGraph takes most of a second to load; only a run needs it

        began = time.perf_counter()
        events: list[ev.Event] = []
        step: Step = "retrieve"
        library: Library | None = None

        def seen(event: ev.Event) -> ev.Event:
            events.append(event)
            return event

        def now() -> float:
            return time.perf_counter() - began

        yield seen(run)
        try:
            asked = _question(question)
            library = self.library(workspace)
            parts, problems = self._parts(library, chosen, began)
            for problem in problems:
                yield seen(ev.Failed(step=step, message=problem.message, remedy=problem.remedy, fatal=False, at=now()))
            for event in run_graph(asked, parts):
                if isinstance(event, ev.StepStarted):
                    step = event.step
                yield seen(event)
        except CancelledError:
            yield seen(ev.Cancelled(at=now()))
        except CragError as error:
            yield seen(ev.Failed(step=step, message=error.message, remedy=error.remedy, fatal=True, at=now()))
        finished = ev.RunFinished(at=now())
        if library is not None:
            try:
                library.save_run(Trace.from_events([*events, finished]), [*events, finished])
            except CragError as error:
                message = f"The run is not in the history: {error.message}"
                yield ev.Failed(step=step, message=message, remedy=error.remedy, at=now())
        yield finished

    def _parts(self, library: Library, chosen: _Chosen, began: float) -> tuple[Parts, tuple[ProviderError, ...]]:
        """What a run works with: the chosen outside services first, the local parts where they fail or are none."""
        aside: deque[ev.Event] = deque()

        def now() -> float:
            return time.perf_counter() - began

        def told(why: str) -> None:
            message = f"{why} The local evaluator graded instead."
            aside.append(ev.Failed(step=meter.step, message=message, remedy=ProviderError.default_remedy, at=now()))

        meter = metered(chosen.config, aside, now, chosen.cancel)
        local = CachedEvaluator(self.evaluator, library)
        found = outside(chosen.config, chosen.keys, meter, local, told)
        evaluator = CachedEvaluator(found.evaluator, library) if found.evaluator else local
        folder = self.web(chosen.config)
        webs = (*found.webs, *((folder,) if folder else ()))
        parts = Parts(
            settings=chosen.settings,
            retriever=_Scoped(library, chosen.settings),
            evaluator=evaluator,
            refiner=StripRefiner(),
            rewriter=found.rewriter or self.rewriter,
            web=webs[0] if webs else None,
            generator=found.generator or self.generator,
            verifier=CitationVerifier(evaluator),
            cancel=chosen.cancel,
            began=began,
            meter=meter,
            spare_rewriter=self.rewriter if found.rewriter else None,
            spare_webs=webs[1:],
            spare_generator=self.generator if found.generator else None,
            allowed=chosen.allowed,
            aside=aside,
        )
        return parts, found.problems

    def grade(self, question: str, texts: Sequence[str]) -> Iterator[Grade]:
        """The evaluator's grade of each text, in order, without any library; `passage_id` is the place from 0."""
        passages = [Passage(id=str(place), text=text) for place, text in enumerate(texts)]
        grades = {grade.passage_id: grade for grade in self.evaluator.grade(question, passages)}
        yield from (grades[passage.id] for passage in passages)

    def status(self, config: AppConfig | None = None) -> list[ProviderStatus]:
        """What is on and off under `config` (this engine's own, if not given), each with its reason."""
        return [
            self._local("Embedding model", lambda: self.embedder.id),
            self._local("Retrieval evaluator", lambda: self.evaluator.id),
            ProviderStatus(name="Answers", on=True, detail="extractive: quotes the best sentences, no language model"),
            self._web_status(config or self.config),
        ]

    def _local(self, name: str, load: Callable[[], str]) -> ProviderStatus:
        try:
            return ProviderStatus(name=name, on=True, detail=f"{load()}, on this machine")
        except ModelError as error:
            return ProviderStatus(name=name, on=False, detail=str(error))

    def _web_status(self, config: AppConfig) -> ProviderStatus:
        web = self.web(config)
        if web is not None:
            where = f": {config.web_folder}" if self._given_web is None else ""
            return ProviderStatus(name="Web search", on=True, detail=f"{web.name}{where}")
        reason = "no folder of pages is set" if config.web == "folder" else "off"
        return ProviderStatus(name="Web search", on=False, detail=reason)

    def sample(self) -> Sample:
        """The sample library that ships with the project. Raises NotFoundError where it is missing."""
        return load_sample()

    def close(self) -> None:
        """Closes every library this engine opened."""
        with self._lock:
            for library in self._libraries.values():
                library.close()
            self._libraries.clear()


def _named(workspace: str) -> str:
    if not re.fullmatch(r"[a-z0-9-]{1,64}", workspace):
        raise InputError(
            f"{workspace!r} is no name for a workspace.", "Use 1 to 64 of the characters a to z, 0 to 9 and -."
        )
    return workspace


def _question(question: str) -> str:
    asked = question.strip()
    if not asked:
        raise QuestionError("The question is empty.")
    if len(asked) > QUESTION_CHARS:
        raise QuestionError(f"The question has {len(asked):,} characters; {QUESTION_CHARS:,} is the limit.")
    return asked
