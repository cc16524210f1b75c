"""The scale benchmark: made chunks that are like real ones, each other than the rest, and the steps that measure."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.scale_child import add, build, recall, search
from benchmarks.scale_chunks import LARGEST, SMALLEST, Maker
from benchmarks.scale_likeness import likeness, thinned, wording
from benchmarks.scale_plan import ADDED, ADDED_CHUNKS, nearest, planned
from benchmarks.scale_report import report, verdicts
from benchmarks.scale_sides import SIDES, Asked
from benchmarks.scale_sources import NEIGHBOURS, Sources, neighbours
from crag.index.chunk_index import Contents

PLACES = "Bergen Oslo Turin Lyon Porto Ghent Malmo Basel Graz Bonn".split()
CHUNKS = 60
"""Of each real document."""
DIMENSION = 24
CONTENTS = Contents(library="test", model="test/1", dimension=DIMENSION)


@pytest.fixture(scope="module")
def sources() -> Sources:
    """Ten documents on ten places, in clusters of vectors."""
    chance = np.random.default_rng(0)
    centres = chance.normal(size=(len(PLACES), 1, DIMENSION))
    vectors = (centres + 0.7 * chance.normal(size=(len(PLACES), CHUNKS, DIMENSION))).reshape(-1, DIMENSION)
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return Sources(
        titles=[(f"{place}.pdf", f"The harbour of {place}, 2019") for place in PLACES],
        starts=np.arange(len(PLACES) + 1, dtype=np.int64) * CHUNKS,
        contexts=[f"The harbour of {place}, 2019 › Part {part}" for place in PLACES for part in range(CHUNKS)],
        texts=[_text(place, part) for place in PLACES for part in range(CHUNKS)],
        vectors=vectors,
        near=neighbours(vectors, NEIGHBOURS),
        questions=[f"How many ships came to {place}?" for place in PLACES],
        asked=vectors[::CHUNKS],
        model="test/1",
    )


def _text(place: str, part: int) -> str:
    """One in three has no figures at all."""
    figures = "many" if part % 3 == 0 else f"{1234 + part} of {5678 + part}"
    return f"In 2017 {figures} ships came to {place} for repairs, as the harbour said in its 10-K."


def texts(maker: Maker, chunks: int) -> list[str]:
    return [text for document in maker.documents(chunks) for text in document.batch.texts]


# ---- the chunks ----------------------------------------------------------------------------------------------------


def test_the_same_seed_makes_the_same_library_and_another_another(sources: Sources) -> None:
    first, again, other = (list(Maker(sources, seed=seed).documents(400)) for seed in (1, 1, 2))
    assert [each.title for each in first] == [each.title for each in again]
    for one, two in zip(first, again, strict=True):
        assert one.batch.texts == two.batch.texts
        assert np.array_equal(one.batch.vectors, two.batch.vectors)
    assert first[0].batch.texts != other[0].batch.texts


def test_no_two_chunks_are_the_same(sources: Sources) -> None:
    found = texts(Maker(sources), 6_000)
    assert len(set(found)) == len(found) == 6_000
    vectors = np.concatenate(list(Maker(sources).vectors(6_000)))
    assert len(np.unique(vectors, axis=0)) == 6_000


def test_a_larger_library_begins_with_the_smaller_one(sources: Sources) -> None:
    small, large = texts(Maker(sources), 300), texts(Maker(sources), 700)
    assert large[:300] == small


def test_documents_come_one_by_one(sources: Sources) -> None:
    """Of a library that would fill any memory."""
    some = list(islice(Maker(sources).documents(10**9), 5))
    sizes = [len(document.batch.texts) for document in some]
    assert all(SMALLEST <= size <= LARGEST for size in sizes)
    numbers = np.concatenate([document.batch.numbers for document in some])
    assert numbers.tolist() == list(range(1, sum(sizes) + 1))
    assert [document.batch.document for document in some] == [1, 2, 3, 4, 5]


def test_the_library_has_as_many_chunks_as_were_asked_for(sources: Sources) -> None:
    for chunks in (1, 49, 777):
        assert len(texts(Maker(sources), chunks)) == chunks


def test_vectors_have_length_one_and_are_those_of_the_documents(sources: Sources) -> None:
    maker = Maker(sources)
    alone = np.concatenate(list(maker.vectors(500)))
    with_texts = np.concatenate([document.batch.vectors for document in maker.documents(500)])
    assert alone.dtype == np.float32
    assert np.array_equal(alone, with_texts)
    assert np.linalg.norm(alone, axis=1) == pytest.approx(1, abs=1e-5)


def test_a_document_calls_a_place_by_one_name(sources: Sources) -> None:
    document = next(Maker(sources).documents(50))
    named = {re.search(r"came to (\w+)", text)[1] for text in document.batch.texts}  # type: ignore[index]
    assert len(named) == 1
    assert named.pop() in document.title
    assert all(context.startswith(document.title) for context in document.batch.contexts)


def test_the_words_between_names_and_figures_stay(sources: Sources) -> None:
    for text in texts(Maker(sources), 100):
        assert re.match(r"In (19|20)\d\d (many|\d{4} of \d{4}) ships came to \w+ for repairs, as the harbour", text)
        assert "10-K" in text


def test_an_added_document_has_its_size_and_numbers(sources: Sources) -> None:
    added = Maker(sources).added(77, 501, 1_000)
    assert (added.batch.document, len(added.batch.texts)) == (77, 1_000)
    assert added.batch.numbers[[0, -1]].tolist() == [501, 1_500]
    assert len(set(added.batch.texts)) == 1_000


def test_sources_are_kept_and_told_apart(sources: Sources, tmp_path: Path) -> None:
    assert Sources.load(tmp_path) is None
    sources.save(tmp_path)
    again = Sources.load(tmp_path)
    assert again is not None
    assert again.id == sources.id
    assert again.titles == sources.titles
    assert replace(sources, texts=[*sources.texts[:-1], "another"]).id != sources.id


def test_neighbours_are_the_nearest_others(sources: Sources) -> None:
    cosines = sources.vectors @ sources.vectors.T
    np.fill_diagonal(cosines, -1)
    assert np.array_equal(sources.near[:, :3], np.argsort(-cosines, axis=1)[:, :3])


def test_likeness_compares_as_many_of_each(sources: Sources) -> None:
    found = likeness(sources)
    assert len(thinned(sources).texts) == len(sources.texts) // 8
    assert {len(each.chunks) for each in found.values()} == {3}
    words = wording(sources, 200)
    assert words["real"]["chunks"] == words["made"]["chunks"] == 200


# ---- the steps -----------------------------------------------------------------------------------------------------


def test_nearest_is_exact_over_many_blocks(sources: Sources) -> None:
    parts = list(Maker(sources).vectors(9_000))
    vectors = np.concatenate(parts)
    assert len(vectors) > 8_192
    expected = np.argsort(-(sources.asked @ vectors.T), axis=1)[:, :10] + 1
    assert np.array_equal(nearest(parts, sources.asked, 10), expected)


def test_recall_is_the_share_of_the_exact_ones() -> None:
    exact = np.array([[1, 2], [3, 4]])
    assert recall([np.array([2, 1, 9])], exact) == 1
    assert recall([np.array([2, 1]), np.array([3, 9])], exact) == 0.75


@pytest.mark.slow
@pytest.mark.parametrize("name", ["earlier", "flat", "library"])
def test_a_side_is_built_searched_and_added_to(name: str, sources: Sources, tmp_path: Path) -> None:
    maker, place = Maker(sources), tmp_path / "place"
    place.mkdir()
    plan = planned(sources, maker, 600, tmp_path)
    assert [len(document.batch.texts) for document in plan.added] == [ADDED_CHUNKS] * ADDED

    def opened() -> Any:
        return SIDES[name].opened(place, CONTENTS)

    built = build(opened(), maker.documents(600))
    found = search(opened, plan, 600)
    assert found["recall"] == 1
    assert found["searches"] == len(PLACES)
    added = add(opened(), plan)
    assert built["memory"]["peak"] > 0 and added["documents"] == ADDED
    again = opened()
    assert again.size == 600 + ADDED * ADDED_CHUNKS
    again.close()


def test_the_earlier_search_finds_by_words_and_forgets_what_is_deleted(sources: Sources, tmp_path: Path) -> None:
    from benchmarks.earlier_search import EarlierSearch

    index = EarlierSearch(tmp_path, CONTENTS)
    document = next(Maker(sources).documents(50))
    index.add([document.batch])
    index.commit(1)
    found = index.top(document.batch.vectors[0], [["ships", "repairs"]], 60)
    assert sorted(found.numbers) == document.batch.numbers.tolist() == index.numbers().tolist()
    assert (found.lexical > 0).all()
    index.delete([1])
    index.commit(2)
    assert (index.size, len(index.top(document.batch.vectors[0], [["ships"]], 5).numbers)) == (0, 0)
    index.close()


def test_code_of_a_side_and_its_presence() -> None:
    assert not any(SIDES[name].missing for name in ("earlier", "flat", "library"))
    assert SIDES["earlier"].code() != SIDES["flat"].code()


def test_a_question_without_words_is_searched_by_its_vector(sources: Sources, tmp_path: Path) -> None:
    side = SIDES["earlier"].opened(tmp_path, CONTENTS)
    side.add(list(Maker(sources).documents(50)))
    side.commit(1)
    assert len(side.find(Asked("?", [], sources.asked[0]))) == 50
    side.close()


# ---- the page ------------------------------------------------------------------------------------------------------


def _row(size: int, p50: float, **other: Any) -> dict[str, Any]:
    memory = {"before": 80.0, "loaded": 200.0, "resident": 200.0, "anonymous": 150.0, "peak": 300.0}
    searched = {"open": 1.0, "searches": 260, "p50": p50, "p95": 0.05, "processor p50": p50, "recall": 0.98, "load": 1}
    return {
        "side": "embedded",
        "label": "the embedded index",
        "size": size,
        "disk": 10.0,
        "build": {"seconds": 60.0, "memory": memory},
        "search": searched | {"memory": memory},
        "add": {"seconds": 1.0, "adding": 0.9, "finding": 0.1, "memory": memory},
        **other,
    }


def test_the_goals_are_judged_on_both_sizes() -> None:
    assert not verdicts([_row(10_000, 0.005)])
    met = verdicts([_row(10_000, 0.008), _row(1_000_000, 0.02)])
    assert [each for _, _, each in met] == [True] * 7
    missed = verdicts([_row(10_000, 0.005), _row(1_000_000, 0.02)])
    assert [each for _, _, each in missed].count(False) == 1


def test_the_page_names_what_failed(sources: Sources) -> None:
    results = {
        "whole": False,
        "machine": {"cores": 2, "processor": "x", "python": "3", "load_before": [1.0], "load_after": [2.0]},
        "questions": 10,
        "chunks": {
            "real": 600,
            "documents": 10,
            "model": "test/1",
            "nearness": {},
            "words": wording(sources, 50),
        },
        "rows": [_row(10_000, 0.005), {"side": "flat", "label": "flat", "size": 10_000, "failed": "build"}],
    }
    page = report(results)
    assert "failed: build" in page
    assert "5.0 ms" in page
