"""What anybody's retriever found, graded and cut down to what answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

from crag.core.errors import QuestionError
from crag.core.strategies import STRATEGIES, strategy
from crag.engine import Engine
from crag.integrations.langchain import CragCompressor, CragEmbeddings
from tests.support.foreign_stores import QUESTION, documents, small_engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = small_engine(tmp_path / "data")
    yield made
    made.close()


class Compressing(BaseRetriever):
    """A retriever whose Documents a compressor goes over."""

    compressor: BaseDocumentCompressor
    retriever: BaseRetriever

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        found = self.retriever.invoke(query, {"callbacks": run_manager.get_child()})
        return list(self.compressor.compress_documents(found, query, callbacks=run_manager.get_child()))


def test_it_works_behind_any_retriever_and_for_coroutines(engine: Engine) -> None:
    store = InMemoryVectorStore(CragEmbeddings(engine))
    store.add_documents(documents())
    compressor = CragCompressor(engine=engine)
    pipeline = Compressing(compressor=compressor, retriever=store.as_retriever(search_kwargs={"k": 5}))
    found = [each.id for each in pipeline.invoke(QUESTION)]
    assert sorted(map(str, found)) == ["other", "own-0"]
    again = asyncio.run(compressor.acompress_documents(documents(), QUESTION))
    assert [each.id for each in again] == ["own-0", "other"]


def test_only_strips_that_answer_are_left_unless_the_whole_is_asked_for(engine: Engine) -> None:
    strict = strategy("balanced").settings.changed(strip_filter=0.5, strip_context=False)
    made = CragCompressor(engine=engine, settings=strict)
    cut = made.compress_documents(documents()[:1], QUESTION)
    whole = made.model_copy(update={"whole": True}).compress_documents(documents()[:1], QUESTION)
    assert cut[0].page_content == "Hiring took eighty days on average, ten fewer than before."
    assert whole[0].page_content == documents()[0].page_content


def test_after_incorrect_nothing_is_left_and_nothing_else_is_searched(engine: Engine) -> None:
    made = CragCompressor(engine=engine)
    assert made.compress_documents(documents()[1:4], "Who painted the ceiling?") == []
    trace = engine.library().runs.trace(engine.library().runs.latest()[0].run_id)
    assert str(trace.action) == "INCORRECT" and (len(trace.rounds), trace.searches) == (1, ())


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_goes_over_documents(engine: Engine, name: str) -> None:
    found = CragCompressor(engine=engine, strategy=name).compress_documents(documents(), QUESTION)
    assert {each.id for each in found} <= {each.id for each in documents()}
    assert found or name in ("three-way", "three-way-conservative", "three-way-aggressive", "joint")


def test_what_is_no_question_is_said(engine: Engine) -> None:
    for query in ("", "x" * 2_001, None):
        with pytest.raises(QuestionError):
            CragCompressor(engine=engine).compress_documents(documents(), query)  # type: ignore[arg-type]
        with pytest.raises(QuestionError):
            asyncio.run(CragCompressor(engine=engine).acompress_documents(documents(), query))  # type: ignore[arg-type]
