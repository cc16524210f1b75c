"""What other packages' providers make, held to what a run relies on: whatever else they do is a failure of theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from crag.core.errors import CragError, ProviderError, WebSearchError
from crag.core.protocols import RetrievalEvaluator, WebSearch
from crag.core.provider import EvaluatorParts, EvaluatorProvider, WebParts, WebProvider
from crag.core.types import Grade, Passage, Unread, WebPage
from crag.providers.registry import PROVIDERS
from crag.web.searching import usable_address

ELSEWHERE = "Choose another in Settings, or ask who made it."


def guarded_web(provider: WebProvider, parts: WebParts) -> WebSearch:
    """The provider's web. Raises ProviderError where it can't be made."""
    if provider in PROVIDERS:
        return provider.make(parts)
    with _theirs(ProviderError, f"{provider.title} can't be used"):
        return _Web(provider, provider.make(parts))


def guarded_evaluator(
    provider: EvaluatorProvider, make: Callable[[EvaluatorParts], RetrievalEvaluator], parts: EvaluatorParts
) -> RetrievalEvaluator:
    """The provider's evaluator, made by `make`. Raises ProviderError where it can't be made."""
    if provider in PROVIDERS:
        return make(parts)
    with _theirs(ProviderError, f"{provider.title} can't be used"):
        return _Evaluator(provider, make(parts))


@contextmanager
def _theirs(kind: type[ProviderError], what: str) -> Iterator[None]:
    """Whatever another package raises, as an error of ours that says `what`."""
    try:
        yield
    except CragError:
        raise
    except Exception as error:
        raise kind(f"{what} ({type(error).__name__}).", ELSEWHERE) from error


class _Web:
    """Its record says what it is called and whether queries leave."""

    def __init__(self, provider: WebProvider, web: WebSearch) -> None:
        self._web, self._title = web, provider.title
        self.name, self.leaves, self.id = provider.name, provider.leaves, f"{provider.name}:{web.id}"
        self.problems: tuple[Unread, ...] = ()

    def search(self, query: str, max_results: int) -> list[WebPage]:
        """At most `max_results` pages, each with an address that a browser may be sent to. Raises ProviderError."""
        self.problems = ()
        with _theirs(WebSearchError, f"{self._title} failed"):
            found = self._web.search(query, max_results)
            pages = [page for page in found if isinstance(page, WebPage) and usable_address(page.url) == page.url]
            self.problems = tuple(
                each if isinstance(each, Unread) else Unread(why=str(each)) for each in self._web.problems
            )
        return [replace(page, provider=self.name, rank=rank) for rank, page in enumerate(pages[:max_results], 1)]


class _Evaluator:
    """One grade a passage, whatever is raised or left out: what is missing has failed."""

    def __init__(self, provider: EvaluatorProvider, evaluator: RetrievalEvaluator) -> None:
        self._evaluator, self._title = evaluator, provider.title
        self.id, self.calls_models = f"{provider.name}:{evaluator.id}", provider.calls == "chunk"

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        waiting, why, who = {passage.id for passage in passages}, f"{self._title} gave no grade.", ""
        try:
            with _theirs(ProviderError, f"{self._title} failed"):
                for grade in self._evaluator.grade(question, passages):
                    if isinstance(grade, Grade) and grade.passage_id in waiting:
                        waiting.remove(grade.passage_id)
                        yield replace(grade, evaluator=self.id)
        except ProviderError as error:
            why, who = error.cause, error.who
        yield from (self._failed(passage.id, why, who) for passage in passages if passage.id in waiting)

    def grade_joint(self, question: str, passages: Sequence[Passage]) -> Grade:
        try:
            with _theirs(ProviderError, f"{self._title} failed"):
                grade = self._evaluator.grade_joint(question, passages)
        except ProviderError as error:
            return self._failed("joint", error.cause, error.who)
        fits = isinstance(grade, Grade) and grade.passage_id == "joint"
        return replace(grade, evaluator=self.id) if fits else self._failed("joint", f"{self._title} gave no grade.")

    def _failed(self, passage_id: str, why: str, who: str = "") -> Grade:
        return Grade(passage_id=passage_id, score=None, error=why, who=who, evaluator=self.id)
