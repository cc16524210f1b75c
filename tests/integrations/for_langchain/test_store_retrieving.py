"""A store in memory, searched and corrected in place of the library; and whatever a store may do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

from crag.core.config import AppConfig
from crag.core.errors import EmptyLibraryError, RetrieverError, SettingsError
from crag.core.protocols import RunRequest
from crag.core.strategies import strategy
from crag.core.types import Action
from crag.engine import Engine
from crag.integrations.langchain.runs import CragEmbeddings, retriever_of
from tests.support.foreign_stores import QUESTION, documents, holds_of_a_run, small_engine
from tests.support.local_models import engine as engine_with_models
from tests.support.small_library import TEXTS, fill


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = small_engine(tmp_path / "data")
    yield made
    made.close()


@pytest.fixture
def store(engine: Engine) -> InMemoryVectorStore:
    made = InMemoryVectorStore(CragEmbeddings(engine))
    made.add_documents(documents())
    return made


class Listed(BaseRetriever):
    """Gives what it is told to, or raises it."""

    given: Any

    def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
        if isinstance(self.given, BaseException):
            raise self.given
        return self.given  # type: ignore[no-any-return]


def test_a_run_over_a_store(engine: Engine, store: InMemoryVectorStore) -> None:
    holds_of_a_run(engine, store, {"filter": lambda document: document.metadata.get("tenant") == "one"})


def test_how_many_are_found_is_the_strategy_s_or_the_store_s_own(store: InMemoryVectorStore) -> None:
    assert len(retriever_of(store).search(QUESTION, 2)) == 2
    assert len(retriever_of(store, search_kwargs={"k": 1}).search(QUESTION, 2)) == 1
    assert len(retriever_of(store.as_retriever(search_kwargs={"k": 3})).search(QUESTION, 5)) == 3
    assert len(retriever_of(store.as_retriever(), search_kwargs={"k": 2}).search(QUESTION, 5)) == 2
    assert len(retriever_of(Listed(given=documents())).search(QUESTION, 2)) == 2
    assert len(retriever_of(store, search_type="mmr").search(QUESTION, 2)) == 2


def test_more_are_looked_at_where_some_may_be_left_out(engine: Engine) -> None:
    store = InMemoryVectorStore(CragEmbeddings(engine))
    store.add_documents([Document(f"{QUESTION} {n}", metadata={"confidence": 0.1}) for n in range(4)])
    store.add_documents([Document("Another.", metadata={"confidence": 0.9})])
    assert [hit.chunk.text for hit in retriever_of(store, min_confidence=0.7).search(QUESTION, 2)] == ["Another."]


@pytest.mark.parametrize("given", [ValueError("password=hunter2"), TimeoutError("/srv/secret"), None, "text", ["text"]])
def test_whatever_a_store_does_ends_the_run_in_clear_words(engine: Engine, given: object) -> None:
    with pytest.raises(RetrieverError, match=r"Listed (failed|gave something else)") as caught:
        engine.trace(RunRequest(QUESTION, retriever=retriever_of(Listed(given=given)), via="agent"))
    assert "hunter2" not in str(caught.value) and "/srv" not in str(caught.value)
    assert caught.value.__cause__ is (given if isinstance(given, Exception) else None)
    (run,) = engine.library().runs.latest()
    failure = engine.library().runs.trace(run.run_id).failure
    assert failure is not None and (failure.step, failure.reason) == ("retrieve", "provider")


def test_an_error_of_ours_stays_itself(engine: Engine) -> None:
    with pytest.raises(EmptyLibraryError, match="Nothing here"):
        engine.trace(RunRequest(QUESTION, retriever=retriever_of(Listed(given=EmptyLibraryError("Nothing here.")))))


def test_a_document_of_a_million_letters_is_corrected(engine: Engine) -> None:
    trace = engine.trace(
        RunRequest(QUESTION, retriever=retriever_of(Listed(given=[Document("Hiring took long. " * 60_000)])))
    )
    assert trace.action is Action.CORRECT


@pytest.mark.parametrize(
    ("source", "how"),
    [
        (None, {}),
        ("store", {}),
        (object(), {}),
        (Listed(given=[]), {"search_kwargs": {"k": 3}}),
        (Listed(given=[]), {"min_confidence": 2}),
        (Listed(given=[]), {"first_page": 7}),
    ],
)
def test_what_can_t_be_searched_is_said_at_once(source: Any, how: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        retriever_of(source, **how)


def test_a_search_type_that_there_is_not_is_said_at_once(store: InMemoryVectorStore) -> None:
    with pytest.raises(SettingsError, match="InMemoryVectorStore"):
        retriever_of(store, search_type="psychic")  # type: ignore[arg-type]


def test_embeddings_are_the_engine_s(engine: Engine) -> None:
    made, vector = CragEmbeddings(engine), engine.embedder.embed(["one"])[0].tolist()
    assert made.embed_documents([]) == []
    assert made.embed_documents(["one", "\ud800"])[0] == made.embed_query("one") == vector


def test_the_library_and_a_store_of_the_same_texts_lead_to_the_same_action(tmp_path: Path) -> None:
    """With the models that ship: same texts, same grades, same action, whoever found them."""
    engine = engine_with_models(AppConfig.of(data=tmp_path / "data"))
    fill(engine)
    store = InMemoryVectorStore(CragEmbeddings(engine))
    store.add_texts(TEXTS)
    actions = set()
    by_best = strategy("balanced").settings.changed(aggregation="any")  # no score of the set without an index of ours
    for question in (QUESTION, "Who painted the ceiling?", "What did the survey of employees find?"):
        own = engine.trace(RunRequest(question, wanted="evidence", settings=by_best))
        theirs = engine.trace(RunRequest(question, wanted="evidence", settings=by_best, retriever=retriever_of(store)))
        assert theirs.action is own.action is not None
        graded = [
            {found.chunk.text: each.round.grades[found.chunk.id].score for found in each.round.chunks}
            for each in (own, theirs)
            if each.round
        ]
        assert graded[0] == graded[1]
        assert sorted(strip.text for strip in own.kept()) == sorted(strip.text for strip in theirs.kept())
        actions.add(own.action)
    engine.close()
    assert actions == {Action.CORRECT, Action.INCORRECT}
