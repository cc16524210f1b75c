"""What is put into vector stores of others, and what must hold of a run that searches one of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from crag.core.config import AppConfig
from crag.core.protocols import RunRequest
from crag.core.trace import Trace
from crag.core.types import Action
from crag.engine import Engine
from crag.integrations.langchain.runs import retriever_of
from crag.testing.fakes import ScriptedEvaluator
from tests.support.small_library import TEXTS, WordEmbedder

QUESTION = "How long did hiring take in 2019?"


def about_hiring(text: str) -> float:
    return 0.9 if "iring" in text else 0.01


def small_engine(folder: Path) -> Engine:
    return Engine(AppConfig.of(data=folder), embedder=WordEmbedder(), evaluator=ScriptedEvaluator(score=about_hiring))


def documents() -> list[Document]:
    """Those of one tenant, as a reader of PDF makes them, and one of another tenant's."""
    own = [
        Document(text, id=f"own-{page}", metadata={"source": "/srv/files/report.pdf", "page": page, "tenant": "one"})
        for page, text in enumerate(TEXTS)
    ]
    other = Document("Hiring took two days in 2019, says the other.", id="other", metadata={"tenant": "two"})
    return [*own, other]


def holds_of_a_run(engine: Engine, store: VectorStore, tenant: Mapping[str, Any]) -> None:
    """A run over `store`, of which `tenant` are the search arguments that let the first one's Documents through."""
    searched = retriever_of(store.as_retriever(search_kwargs={**tenant}))
    hits = searched.search(QUESTION, 3)
    assert [hit.rank for hit in hits] == [1, 2, 3] and all("says the other" not in hit.chunk.text for hit in hits)
    theirs = store.as_retriever(search_kwargs={**tenant, "k": 3}).invoke(QUESTION)
    assert [hit.chunk.text for hit in hits] == [each.page_content for each in theirs]

    trace = engine.trace(RunRequest(QUESTION, retriever=searched, via="agent"))
    assert trace.action is Action.CORRECT and trace.answer and not trace.answer.abstained
    cited = trace.answer.citations[0]
    assert (cited.source, cited.page, cited.where) == ("report.pdf", 1, "page 1")
    runs = engine.library().runs
    assert runs.trace(trace.run_id) == trace == Trace.from_events(runs.events(trace.run_id))
    assert (engine.stale(), engine.library().documents.all()) == ({}, [])
