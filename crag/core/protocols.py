"""Protocols of the parts that a run is made of; requests as values: a question to the engine, a query to a library."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel

from crag.core.config import AppConfig, Keys
from crag.core.errors import ProviderError
from crag.core.filters import EVERY, Filter
from crag.core.settings import Settings
from crag.core.strategies import strategy
from crag.core.types import (
    Answer,
    Chunk,
    Exchange,
    Grade,
    GradedText,
    GradePart,
    OutputMode,
    Passage,
    QuotedAnswer,
    Remark,
    RetrievedChunk,
    SetGrade,
    SpanReading,
    Standalone,
    Strip,
    Unread,
    WebPage,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@runtime_checkable
class Embedder(Protocol):
    """Texts to unit vectors. `id` names model and preparation: vectors of different ids never mix."""

    id: str

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (len(texts), dimension), float32, rows of length 1. Any text gives a defined vector."""
        ...


@runtime_checkable
class QuestionEmbedder(Embedder, Protocol):
    """One that reads a question in another way than a text that may answer it; others embed both alike."""

    def embed_question(self, text: str) -> NDArray[np.float32]:
        """Shape (dimension,), of length 1, for comparison with what `embed` gives."""
        ...


def embed_question(embedder: Embedder, text: str) -> NDArray[np.float32]:
    """The vector of a question, by an embedder of either kind."""
    ask: Callable[[str], NDArray[np.float32]] | None = getattr(embedder, "embed_question", None)
    return ask(text) if ask else embedder.embed([text])[0]


def texts_at_once(embedder: Embedder, usual: int) -> int:
    """How many texts are worth giving it together: a server takes many, in several requests at the same time."""
    return max(usual, getattr(embedder, "at_once", usual))


class Retriever(Protocol):
    """The library as a run sees it."""

    def search(self, query: str, k: int) -> list[RetrievedChunk]:
        """At most `k` chunks, best first, ranks from 1. Raises EmptyLibraryError, ModelMismatchError."""
        ...


class RetrievalEvaluator(Protocol):
    """Scores passages for a question. `id` names evaluator, model and prompt version: the cache key."""

    id: str
    calls_models: bool
    """True where a grade costs a model call of its own (an LLM), for the meter."""

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        """Exactly one grade a passage, as each is ready, in any order. A bad passage is a failed grade, not a raise."""
        ...

    def grade_joint(self, question: str, passages: Sequence[Passage]) -> Grade:
        """One grade over all passages together; its `passage_id` is "joint"."""
        ...


@runtime_checkable
class AnswerReader(Protocol):
    """Finds the words of a text that answer a question."""

    def read(self, question: str, passage: str) -> SpanReading | None:
        """The likeliest answer's place in `passage`, and how sure it is; None where nothing can be read. Never raises.

        A first line that is a title is read with the text. The same question and text give the same reading.
        """
        ...


@runtime_checkable
class AnswerGrader(Protocol):
    """Says how likely an answer is right: another thing than how relevant its text is."""

    def grade_answer(self, question: str, answer: QuotedAnswer) -> float | None:
        """The probability 0..1 that a quoted answer is right; None where that is not known. Never raises."""
        ...


@runtime_checkable
class SetGrader(Protocol):
    """Says how likely texts that were graded one by one answer together."""

    def grade_set(self, question: str, texts: Sequence[GradedText]) -> SetGrade | None:
        """The probability and what it rests on; None where that is not known, or there are no texts. Never raises."""
        ...


@runtime_checkable
class GradeExplainer(Protocol):
    """Says which layers made its score of a text."""

    def grade_parts(self, question: str, text: str) -> tuple[GradePart, ...]:
        """The parts whose `adds` sum to the score's log-odds; none where nothing was read. Never raises."""
        ...


class GradeCache(Protocol):
    """Grades by content. Keys are opaque strings."""

    def load_grades(self, keys: Sequence[str]) -> dict[str, Grade]: ...

    def save_grades(self, grades: dict[str, Grade]) -> None: ...


class Rewriter(Protocol):
    """Question to query. `by` names who rewrote it."""

    by: str

    def rewrite(
        self, question: str, *, max_keywords: int, failed: Sequence[Chunk] = (), tried: Sequence[str] = ()
    ) -> str:
        """A query of at most `max_keywords` keywords or phrases, different from all `tried`. Never empty."""
        ...


class Contextualizer(Protocol):
    """A question within a conversation to one that stands alone. `by` names who worded it."""

    by: str

    def standalone(self, question: str, history: Sequence[Exchange]) -> Standalone:
        """The question as it is asked in place of `question`, which follows on `history`, oldest first.

        One that stands alone, or of which that is unsure, is given back as it is.
        """
        ...


Messages = Sequence[tuple[str, str]]
"""(role, text) pairs; the roles are system, human and ai."""
Parsed = TypeVar("Parsed", bound=BaseModel)


class Cut(str):
    """The piece " …" at the end of a reply that was cut, and `why` it was."""

    why: Remark

    def __new__(cls, why: Remark) -> Cut:
        made = super().__new__(cls, " …")
        made.why = why
        return made


class Chat(Protocol):
    """A chat model within one run: calls are counted against its budget and end when the person presses Stop.

    Every method raises ProviderError where the model fails, CancelledError on Stop. `max_tokens` limits a reply.
    """

    id: str

    def text(self, messages: Messages, *, max_tokens: int) -> str:
        """The whole reply, without white space around it."""
        ...

    def parsed(self, schema: type[Parsed], messages: Messages, *, max_tokens: int) -> Parsed:
        """The reply as an object of the schema, after one attempt at repair."""
        ...

    def parsed_each(
        self, schema: type[Parsed], each: Sequence[Messages], *, max_tokens: int
    ) -> Iterator[tuple[int, Parsed | ProviderError, float]]:
        """For every conversation its place, its object or failure, and seconds: each as it is ready, many at once."""
        ...

    def written(self, messages: Messages, *, max_tokens: int, temperature: float = 0.0) -> Iterator[str]:
        """The reply piece by piece; the last piece of one that was cut is a `Cut`. `temperature`: 0..2."""
        ...


class RerankServer(Protocol):
    """A reranking model within one run."""

    id: str

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """One finite score a text, in order; higher is more relevant. Raises ProviderError."""
        ...


@runtime_checkable
class StripGrader(Protocol):
    """Scores the strips of a passage, each in its context: neighbours, heading, table header. `id`: the cache key."""

    id: str

    def grade_strips(self, question: str, passage: Passage, spans: Sequence[tuple[int, int]]) -> Sequence[float | None]:
        """A score 0..1 for every [start, end) of the passage's text, in order; None where it could not be judged.

        An evaluator that scores strips in the reading that makes a passage's grade has this method beside `grade`.
        """
        ...


class PageReader(Protocol):
    """Reads the pages behind web results."""

    def fetched(
        self, pages: Sequence[WebPage], *, seconds: float, cancel: threading.Event
    ) -> tuple[list[WebPage], list[Unread]]:
        """The pages with their own text, where it could be read in time, and which could not, and why."""
        ...


class WebSearch(Protocol):
    """A web provider. `name` is one of the provider names in Settings; results are remembered by `id`.

    `leaves`: whether a query leaves this machine. `problems`: which pages of the last search were left out, and why.
    """

    id: str
    name: str
    leaves: bool
    problems: tuple[Unread, ...]

    def search(self, query: str, max_results: int) -> list[WebPage]:
        """At most `max_results` pages, best first. Raises WebSearchError."""
        ...


class Generator(Protocol):
    """Knowledge to answer. `by` names what writes."""

    by: str

    def answer(
        self, question: str, knowledge: Sequence[Strip], sources: dict[str, Chunk | WebPage], settings: Settings
    ) -> Iterator[str | Answer]:
        """Pieces of text as they are written, if any, then the whole Answer as the last item.

        `knowledge` is in reading order; `sources` maps a strip's `source_id` to its chunk or page.
        """
        ...


OWN = ("", "app")
"""How the runs of the app came in: `via` of them, and of those that earlier builds stored."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One question to the engine. Only the question is needed.

    - `strategy` names the published settings of the run. Those that `settings` names take the place of its own.
    - `workspace` is a name, or the folder of a library.
    - `config` and `keys` choose other providers than the engine's own.
    - `allowed` approves a query before it leaves for the web, where `config.providers.ask_before_web` is set. Without
      it, no query leaves.
    - `cancel` stops the run when it is set.
    - `run_id` names the stored run and replaces an earlier one of that id. The default is a new, unguessable id.
    - `history` holds the exchanges before the question, oldest first. A question that needs them is rewritten to stand
      alone, unless `standalone` gives that question.
    - `retriever` is searched in place of the library, by its own filters.
    - `wanted="evidence"` ends the run before an answer is written.
    - `via` and `client` say which program asks, for the history of runs: see `RunStarted`.
    - `conversation` is the id of the stored conversation that the run belongs to.
    """

    question: str
    strategy: str = "balanced"
    workspace: str | Path = "default"
    settings: Settings | Mapping[str, Any] | None = None
    config: AppConfig | None = None
    keys: Keys | None = None
    allowed: Callable[[str], bool] | None = None
    cancel: threading.Event | None = None
    run_id: str | None = None
    history: Sequence[Exchange] = ()
    standalone: str | None = None
    retriever: Retriever | None = None
    wanted: OutputMode = "answer"
    via: str = "python"
    client: str = ""
    conversation: str = ""

    @property
    def effective_settings(self) -> Settings:
        """The settings of the run. Raises SettingsError for a setting that does not exist, and for such a strategy
        unless the settings name all: those of a stored run outlive its strategy.
        """
        given = self.settings
        if isinstance(given, Settings) and given.model_fields_set >= Settings.model_fields.keys():
            return given
        return strategy(self.strategy).settings.under(given)


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """One query to a library, and which documents it is about.

    At most `k` chunks are found. `mode` "bm25" finds only chunks that share a word with `text`. Only documents that
    meet the filter `where` are searched (`crag.core.filters`), and of these none below `min_confidence` (0..1),
    unless all are. With `half_life_days` above 0, a document's similarity halves with
    every such number of days since it was added. `by_words`: without the embedding model, by words alone.
    """

    text: str
    k: int = 10
    mode: Literal["hybrid", "dense", "bm25"] = "hybrid"
    where: Filter = EVERY
    min_confidence: float = 0.0
    half_life_days: float = 0.0
    by_words: bool = False

    @classmethod
    def under(
        cls, settings: Settings, text: str, k: int, mode: Literal["hybrid", "dense", "bm25"] = "hybrid"
    ) -> SearchQuery:
        """A query to the documents that a run's settings let through, as they trust them."""
        return cls(text, k, mode, settings.where, settings.min_confidence, settings.half_life_days)
