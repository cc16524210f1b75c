"""Many workspaces in one database and one collection: nothing of one is returned, changed or deleted by another."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from crag.core import events as ev
from crag.core.config import AppConfig
from crag.core.errors import EmptyLibraryError, FilterError, InputError, NotFoundError
from crag.core.filters import filter_of
from crag.core.protocols import RunRequest, SearchQuery
from crag.core.types import Document, Grade, WebPage
from crag.engine import Engine
from crag.storage.library import Library
from crag.testing.fakes import ScriptedEvaluator
from tests.support.library_makers import HashEmbedder, fill, save_run
from tests.support.sizes import sized

WORKSPACES, SEARCHES = sized(100, 4), sized(1_000, 20)
EVERYWHERE = "common"
"""A document, a run, a set and a grade of the same ids are in every workspace."""


@dataclass(frozen=True, kw_only=True)
class Tenant:
    """A workspace, the word that its own texts hold and no other's, and the ids of what is in it alone."""

    name: str
    word: str
    document: str
    chunks: tuple[str, ...]
    run: str
    set: str
    evaluation: str


@pytest.fixture(params=["sqlite-embedded", pytest.param("postgresql-milvus", marks=pytest.mark.slow)])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    config = AppConfig.of(data=tmp_path / "data")
    if request.param == "postgresql-milvus":
        url, uri = request.getfixturevalue("database"), request.getfixturevalue("milvus_server").uri
        config = AppConfig.of(data=tmp_path / "data", database_url=url, index="milvus", milvus_uri=uri)
    with Engine(config, embedder=HashEmbedder(), evaluator=ScriptedEvaluator(score=lambda text: 0.5)) as made:
        yield made


def added(library: Library, label: str, word: str) -> Document:
    return fill(library, label, texts=[f"{label} part {part} tells of harbour and {word}." for part in range(3)])


def moved_in(engine: Engine, number: int) -> Tenant:
    """A workspace in which everything says its word."""
    name, word = f"tenant-{number}", f"zz{number}zz"
    library = engine.library(name)
    added(library, EVERYWHERE, "ledger")
    document = added(library, f"own{number}", word)
    chunks = tuple(chunk.id for chunk in library.documents.chunks(document.id))
    for run in (EVERYWHERE, f"run-{number}"):
        save_run(library, run, f"What of {word}?")
    library.labels.save(word, chunks[0], "relevant")
    grade = Grade(passage_id="p", score=0.5, reason=word)
    library.cache.save_grades({EVERYWHERE: grade, f"grade-{number}": grade})
    page = WebPage(id="w", url="https://example.org", title=word, text=word, provider="tavily", query=word, rank=1)
    library.cache.save_search(EVERYWHERE, [page])
    library.cache.save_search(f"search-{number}", [page])
    for id in (EVERYWHERE, f"set-{number}"):
        library.evaluations.save_set(id, word, "CSV", 1, 0, word)
    evaluation = library.evaluations.begin(EVERYWHERE, "balanced", settings="{}", parts=word, key=EVERYWHERE)
    library.evaluations.save_result(evaluation.id, 1, word)
    return Tenant(
        name=name,
        word=word,
        document=document.id,
        chunks=chunks,
        run=f"run-{number}",
        set=f"set-{number}",
        evaluation=evaluation.id,
    )


def held(engine: Engine, tenant: Tenant) -> dict[str, Any]:
    """All that a workspace holds, as it can be read."""
    library = engine.library(tenant.name)
    number = tenant.name.rpartition("-")[2]
    found: dict[str, Any] = {
        "documents": library.documents.all(),
        "fields": [library.documents.fields(each.id) for each in library.documents.all()],
        "chunks": [library.documents.chunks(each.id) for each in library.documents.all()],
        "runs": [library.runs.trace(id) for id in library.runs.ids()],
        "labels": library.labels.all(),
        "grades": library.cache.load_grades([EVERYWHERE, f"grade-{number}"]),
        "searches": [library.cache.load_search(key, hours=24) for key in (EVERYWHERE, f"search-{number}")],
        "sets": [(each, library.evaluations.set_content(each.id)) for each in library.evaluations.sets()],
        "evaluations": [(each, library.evaluations.results(each.id)) for each in library.evaluations.all()],
    }
    return found


def forged(library: Library, of: Tenant) -> list[Callable[[], object]]:
    """What a workspace might try with the ids of another: each must be as if there were no such thing."""
    documents, runs, evaluations = library.documents, library.runs, library.evaluations
    return [
        *(lambda ask=ask: ask(of.document) for ask in (documents.get, documents.file, documents.fields)),  # type: ignore[misc]
        *(lambda ask=ask: ask(of.document) for ask in (documents.chunks, documents.delete)),  # type: ignore[misc]
        lambda: documents.describe(of.document, {"verified": True}),
        *(lambda id=id: documents.chunk(id) for id in of.chunks),  # type: ignore[misc]
        *(lambda ask=ask: ask(of.run) for ask in (runs.events, runs.trace, runs.delete)),  # type: ignore[misc]
        *(lambda id=id: library.labels.save("mine", id, "irrelevant") for id in of.chunks),  # type: ignore[misc]
        *(lambda ask=ask: ask(of.set) for ask in (evaluations.set_content, evaluations.delete_set)),  # type: ignore[misc]
        lambda: evaluations.begin(of.set, "balanced", settings="{}", parts="", key=EVERYWHERE),
        *(
            lambda ask=ask: ask(of.evaluation)  # type: ignore[misc]
            for ask in (evaluations.get, evaluations.results, evaluations.places, evaluations.finish)
        ),
        lambda: evaluations.save_result(of.evaluation, 2, "forged"),
        lambda: evaluations.drop_results(of.evaluation, [1]),
        lambda: evaluations.delete(of.evaluation, runs=True),
        lambda: evaluations.spending(of.evaluation),
    ]


def attacked(engine: Engine, own: Tenant, other: Tenant) -> None:
    library, number = engine.library(own.name), other.name.rpartition("-")[2]
    for attempt in forged(library, other):
        with pytest.raises(NotFoundError):
            attempt()
    library.labels.delete(other.word, other.chunks[0])
    assert library.cache.load_grades([f"grade-{number}"]) == {}
    assert library.cache.load_search(f"search-{number}", hours=24) is None
    assert [*library.runs.traces([other.run])] == []


def searched(engine: Engine, own: Tenant, other: Tenant, chance: random.Random) -> None:
    """Asks a workspace for another's words, in every way of searching."""
    library = engine.library(own.name)
    query = f"{other.word} {chance.choice(['harbour', 'ledger', f'own {other.document}', other.name])}"
    mode = chance.choice(["hybrid", "dense", "bm25"])
    try:
        found = library.find(SearchQuery(query, 20, mode=mode))
        found += library.find_in_records(SearchQuery(query, 20))
    except EmptyLibraryError:
        return
    ours = {chunk.id for each in library.documents.all() for chunk in library.documents.chunks(each.id)}
    assert {each.chunk.id for each in found} <= ours
    assert not any(other.word in each.chunk.text for each in found)
    for where in ({"name": other.word}, {"any of": [{"name": f"own{own.word}"}, {"workspace": other.name}]}):
        with pytest.raises(FilterError):
            library.find(SearchQuery(query, 20, where=filter_of(where)))


def names_like(tenant: Tenant) -> list[str]:
    name = tenant.name
    return [
        *("", ".", "..", "../x", f"../{name}", f"{name}/../{name}", f"/{name}", f"{name}/", f"{name}\0", f"{name}\n"),
        *(f"w_{name}", name.upper(), f" {name}", f"{name} ", f"{name}%", f"{name}'", f'{name}"', f"{name}; --"),
        *(f'{name}" or workspace != "', f"{name}' OR 1=1", "w_%", "crag.kept", "*", "tenant‑0", "ｔenant-0", "x" * 65),
    ]


def test_nothing_of_a_workspace_is_reachable_through_another(engine: Engine) -> None:
    chance = random.Random(11)
    tenants = [moved_in(engine, number) for number in range(WORKSPACES)]
    before = {tenant.name: held(engine, tenant) for tenant in tenants}
    assert all(tenant.word in f"{before[tenant.name]}" for tenant in tenants)
    for number in range(SEARCHES):
        own, other = chance.sample(tenants, 2)
        searched(engine, own, other, chance)
        if number % 5 == 0:
            attacked(engine, own, other)
    assert {tenant.name: held(engine, tenant) for tenant in tenants} == before

    everywhere = before[tenants[0].name]["documents"][0].id
    leaving = tenants[::3]
    for tenant in leaving:
        library = engine.library(tenant.name)
        for document in (tenant.document, everywhere):
            library.documents.delete(document)
        for run in library.runs.ids():
            library.runs.delete(run)
        for each in library.evaluations.sets():
            library.evaluations.delete_set(each.id)
        library.rest()
    staying = [tenant for tenant in tenants if tenant not in leaving]
    assert {tenant.name: held(engine, tenant) for tenant in staying} == {
        each.name: before[each.name] for each in staying
    }
    for tenant in tenants:
        library = engine.library(tenant.name)
        assert not library.verify()
        if tenant in leaving:
            assert library.size == (0, 0)
            with pytest.raises(EmptyLibraryError):
                library.search(tenant.word, 5)
        else:
            assert tenant.document in {each.chunk.document_id for each in library.search(f"{tenant.word} harbour", 5)}
        text = f"{held(engine, tenant)}"
        assert not any(other.word in text for other in tenants if other is not tenant)


def test_a_name_that_is_none_opens_nothing(engine: Engine) -> None:
    tenant = moved_in(engine, 0)
    before = held(engine, tenant)
    for name in names_like(tenant):
        with pytest.raises(InputError, match="is no name for a workspace"):
            engine.library(name)
        events = list(engine.ask(RunRequest(f"What of {tenant.word}?", workspace=name)))
        assert any(isinstance(event, ev.Failed) and event.fatal for event in events)
        assert tenant.word not in "".join(f"{event}" for event in events[1:])
    assert held(engine, tenant) == before
