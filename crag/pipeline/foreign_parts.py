"""Parts that other programs bring, checked against what a run relies on: whatever else they do is a failure of theirs.

This is the one boundary at which their exceptions and their wrong values become errors of ours, with the part's name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from inspect import getattr_static
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from crag.core.errors import CragError, ProviderError, ReplyError, RetrieverError, SettingsError, WebSearchError
from crag.core.protocols import (
    Generator,
    RetrievalEvaluator,
    Retriever,
    Rewriter,
    WebSearch,
)
from crag.core.settings import Settings
from crag.core.types import Answer, Chunk, Grade, Passage, RetrievedChunk, Strip, Unread, WebPage
from crag.providers.registry import PROVIDERS
from crag.runtime.provider import EvaluatorParts, EvaluatorProvider, WebParts, WebProvider
from crag.storage.documents import Documents
from crag.text.addresses import usable_address
from crag.web.folder import FolderWeb

_log = logging.getLogger(__name__)

ELSEWHERE = "Choose another in Settings, or ask who made it."
T = TypeVar("T")
_ALWAYS = ConfigDict(revalidate_instances="always", allow_inf_nan=False, defer_build=True)
_CHUNKS: TypeAdapter[list[RetrievedChunk]] = TypeAdapter(list[RetrievedChunk], config=_ALWAYS)
_PAGES: TypeAdapter[list[WebPage]] = TypeAdapter(list[WebPage], config=_ALWAYS)
_GRADES: TypeAdapter[list[Grade]] = TypeAdapter(list[Grade], config=_ALWAYS)
_ANSWERS: TypeAdapter[list[Answer]] = TypeAdapter(list[Answer], config=_ALWAYS)


def guard_web(provider: WebProvider, parts: WebParts) -> WebSearch:
    """The provider's web. Raises ProviderError where it can't be made."""
    if provider in PROVIDERS:
        made = provider.make(parts)
        if made is not parts.folder or isinstance(made, FolderWeb):
            return made
        return GuardedWeb(made, f"The web {name_of(made)}", name=made.name, id=made.id, leaves=made.leaves)
    with _theirs(ProviderError, f"{provider.title} can't be used"):
        made = provider.make(parts)
        return GuardedWeb(
            made, provider.title, name=provider.name, id=f"{provider.name}:{made.id}", leaves=provider.leaves
        )


def guard_plugin_evaluator(
    provider: EvaluatorProvider, make: Callable[[EvaluatorParts], RetrievalEvaluator], parts: EvaluatorParts
) -> RetrievalEvaluator:
    """The provider's evaluator, made by `make`. Raises ProviderError where it can't be made."""
    if provider in PROVIDERS:
        return make(parts)
    with _theirs(ProviderError, f"{provider.title} can't be used"):
        made = make(parts)
        return GuardedEvaluator(
            made, provider.title, id=f"{provider.name}:{made.id}", calls_models=provider.calls == "chunk"
        )


@contextmanager
def _theirs(kind: type[ProviderError], what: str) -> Iterator[None]:
    """Whatever another package raises, as an error of ours that says `what`."""
    try:
        yield
    except CragError:
        raise
    except Exception as error:
        _log.warning("%s", what, exc_info=error)
        raise kind(f"{what} ({type(error).__name__}).", ELSEWHERE) from error


def _check_values(adapter: TypeAdapter[T], found: Any, kind: type[ProviderError], title: str) -> T:
    """The values with every field checked. Raises `kind` where one has the wrong form."""
    try:
        return adapter.validate_python(found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(each) for each in first["loc"])
        raise kind(f"{title} returned a value that can't be used ({place}: {first['msg']}).", ELSEWHERE) from None


def name_of(part: object) -> str:
    """What a part that came as an object is called in messages."""
    return str(getattr(part, "by", "") or getattr(part, "name", "") or getattr(part, "id", "") or type(part).__name__)


def check_part(part: object, protocol: type, name: str) -> None:
    """Raises SettingsError where a part that was given lacks fields of its protocol, and names them.

    Its methods where that has no fields: a method that no strategy of a program calls may be missing.
    """
    wanted = list(protocol.__annotations__) or [each for each in vars(protocol) if not each.startswith("_")]
    # Looked up without being asked for: a property may load a model.
    lacks = [each for each in wanted if getattr_static(part, each, None) is None and not hasattr(part, each)]
    if part is not None and lacks:
        problem = f"{name}: {type(part).__name__} has no {' and no '.join(lacks)}."
        raise SettingsError(problem, f"crag.core.protocols.{protocol.__name__} says what a {name} has.")


def guard_evaluator(
    evaluator: RetrievalEvaluator, report: Callable[[ProviderError], None] = lambda error: None
) -> GuardedEvaluator:
    """An evaluator that was given as an object, under its own id. `report` gets its first failure."""
    guarded = GuardedEvaluator(
        evaluator, f"The evaluator {evaluator.id}", id=evaluator.id, calls_models=evaluator.calls_models
    )
    guarded.report = report
    return guarded


class GuardedRetriever:
    """Chunks and nothing else, whatever the retriever returns; those of no document that is `here` are marked so.

    Raises RetrieverError.
    """

    def __init__(self, retriever: Retriever, here: Documents) -> None:
        self._retriever, self._here, self._title = retriever, here, f"The retriever {name_of(retriever)}"

    def search(self, query: str, k: int) -> list[RetrievedChunk]:
        with _theirs(RetrieverError, f"{self._title} failed"):
            found = list(self._retriever.search(query, k))
        if other := next((each for each in found if not isinstance(each, RetrievedChunk)), None):
            problem = f"{self._title} returned a {type(other).__name__} where a RetrievedChunk is wanted."
            raise RetrieverError(problem, "crag.rank_texts makes them of texts with their sources.")
        checked = _check_values(_CHUNKS, found, RetrieverError, self._title)
        known = self._here.names([each.chunk.document_id for each in checked]) if checked else {}
        return [
            each if each.chunk.document_id in known else replace(each, chunk=replace(each.chunk, elsewhere=True))
            for each in checked
        ]


class GuardedRewriter:
    """A query that is text. Raises ProviderError."""

    def __init__(self, rewriter: Rewriter) -> None:
        self._rewriter, self._title = rewriter, f"The rewriter {name_of(rewriter)}"
        self.by = name_of(rewriter)

    def rewrite(
        self, question: str, *, max_keywords: int, failed: Sequence[Chunk] = (), tried: Sequence[str] = ()
    ) -> str:
        with _theirs(ProviderError, f"{self._title} failed"):
            query = self._rewriter.rewrite(question, max_keywords=max_keywords, failed=failed, tried=tried)
        if not isinstance(query, str) or not query.strip():
            raise ReplyError(f"{self._title} returned no query.", ELSEWHERE)
        return query


class GuardedGenerator:
    """Text in pieces, then an Answer. Raises ProviderError."""

    def __init__(self, generator: Generator) -> None:
        self._generator, self._title = generator, f"The generator {name_of(generator)}"
        self.by = name_of(generator)

    def answer(
        self, question: str, knowledge: Sequence[Strip], sources: dict[str, Chunk | WebPage], settings: Settings
    ) -> Iterator[str | Answer]:
        with _theirs(ProviderError, f"{self._title} failed"):
            for piece in self._generator.answer(question, knowledge, sources, settings):
                if not isinstance(piece, str | Answer):
                    raise ReplyError(f"{self._title} returned something else than text.", ELSEWHERE)
                if isinstance(piece, Answer):
                    yield _check_values(_ANSWERS, [piece], ReplyError, self._title)[0]
                    return
                yield piece
        raise ReplyError(f"{self._title} returned no answer.", ELSEWHERE)


class GuardedWeb:
    """A web provider of another program, under the name and with the promise that its record gives."""

    def __init__(self, web: WebSearch, title: str, *, name: str, id: str, leaves: bool) -> None:
        self._web, self._title = web, title
        self.name, self.leaves, self.id = name, leaves, id
        self.problems: tuple[Unread, ...] = ()

    def search(self, query: str, max_results: int) -> list[WebPage]:
        """At most `max_results` pages, each with an address that a browser may be sent to. Raises ProviderError."""
        self.problems = ()
        with _theirs(WebSearchError, f"{self._title} failed"):
            found = list(self._web.search(query, max_results))
            if found and not any(isinstance(page, WebPage) for page in found):
                raise WebSearchError(f"{self._title} returned something else than pages.", ELSEWHERE)
            pages = [page for page in found if isinstance(page, WebPage) and usable_address(page.url) == page.url]
            self.problems = tuple(
                each if isinstance(each, Unread) else Unread(why=str(each)) for each in self._web.problems
            )
        pages = _check_values(_PAGES, pages[:max_results], WebSearchError, self._title)
        return [replace(page, provider=self.name, rank=rank) for rank, page in enumerate(pages, 1)]


class GuardedEvaluator:
    """One grade a passage, whatever is raised or left out: what is missing has failed."""

    def __init__(self, evaluator: RetrievalEvaluator, title: str, *, id: str, calls_models: bool) -> None:
        self._evaluator, self._title = evaluator, title
        self.id, self.calls_models = id, calls_models
        self.report: Callable[[ProviderError], None] | None = None
        """Gets the first failure, once."""

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        waiting, why, who = {passage.id for passage in passages}, f"{self._title} gave no grade.", ""
        try:
            with _theirs(ProviderError, f"{self._title} failed"):
                for grade in self._evaluator.grade(question, passages):
                    if isinstance(grade, Grade) and grade.passage_id in waiting:
                        [grade] = _check_values(_GRADES, [grade], ReplyError, self._title)
                        waiting.remove(grade.passage_id)
                        yield grade if grade.evaluator == self.id else replace(grade, evaluator=self.id)
        except ProviderError as error:
            why, who = error.cause, error.who
            self._report(error)
        if waiting:
            self._report(ReplyError(why, ELSEWHERE))
        yield from (self._failed(passage.id, why, who) for passage in passages if passage.id in waiting)

    def grade_joint(self, question: str, passages: Sequence[Passage]) -> Grade:
        try:
            with _theirs(ProviderError, f"{self._title} failed"):
                grade = self._evaluator.grade_joint(question, passages)
            if not isinstance(grade, Grade) or grade.passage_id != "joint":
                raise ReplyError(f"{self._title} gave no grade.", ELSEWHERE)
            [grade] = _check_values(_GRADES, [grade], ReplyError, self._title)
        except ProviderError as error:
            self._report(error)
            return self._failed("joint", error.cause, error.who)
        return replace(grade, evaluator=self.id)

    def _report(self, error: ProviderError) -> None:
        report, self.report = self.report, None
        if report is not None:
            report(error)

    def _failed(self, passage_id: str, why: str, who: str = "") -> Grade:
        return Grade(passage_id=passage_id, score=None, error=why, who=who, evaluator=self.id)
