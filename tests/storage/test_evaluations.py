"""Question sets, evaluations and results in the library: kept, found again, removed whole; stored runs read in bulk."""

from collections.abc import Callable

import pytest
from sqlalchemy import update

from crag.core.errors import NotFoundError, StorageError
from crag.core.trace import Trace
from crag.core.types import Document
from crag.storage.evaluations import EvaluationRecord, Evaluations, StoredSet
from crag.storage.library import Library
from crag.storage.runs import Unreadable
from crag.storage.store import count
from crag.storage.tables import results, runs
from tests.support.library_makers import change, save_run

Fill = Callable[..., Document]


def add_set(library: Library, id: str = "s1", name: str = "first.csv") -> None:
    library.evaluations.save_set(id, name, "CSV", 3, 1, f"content of {id}")


def begin(library: Library, set_id: str = "s1", key: str = "k", *, restart: bool = False) -> EvaluationRecord:
    return library.evaluations.begin(set_id, "balanced", settings="{}", parts="local parts", key=key, restart=restart)


# Sets


def test_a_set_is_listed_and_its_content_comes_back(library: Library) -> None:
    add_set(library)
    (listed,) = library.evaluations.sets()
    assert listed == StoredSet(id="s1", name="first.csv", kind="CSV", questions=3, problems=1, added_at=listed.added_at)
    assert listed.added_at.endswith("+00:00")
    assert library.evaluations.set_content("s1") == "content of s1"


def test_a_removed_set_takes_its_evaluations_and_results_and_no_others(library: Library) -> None:
    add_set(library, "s1")
    add_set(library, "s2")
    gone, kept = begin(library, "s1", "a"), begin(library, "s2", "b")
    for each in (gone, kept):
        library.evaluations.save_result(each.id, 1, "{}")
        save_run(library, f"{each.id}-1")
    library.evaluations.delete_set("s1")
    assert [each.id for each in library.evaluations.sets()] == ["s2"]
    assert [(each.id, each.done) for each in library.evaluations.all()] == [(kept.id, 1)]
    with library._database.read() as connection:
        assert count(connection, results) == 1
    assert library.runs.ids() == [f"{gone.id}-1", f"{kept.id}-1"]


@pytest.mark.parametrize(
    "what",
    [
        lambda kept: kept.set_content("gone"),
        lambda kept: kept.begin("gone", "balanced", settings="{}", parts="", key=""),
        lambda kept: kept.get("gone"),
        lambda kept: kept.save_result("gone", 1, "{}"),
    ],
)
def test_what_is_not_there_is_named(library: Library, what: Callable[[Evaluations], object]) -> None:
    with pytest.raises(NotFoundError, match="gone"):
        what(library.evaluations)


# Evaluations


def test_an_unfinished_evaluation_is_gone_on_with_under_its_key_alone(library: Library) -> None:
    add_set(library)
    first = begin(library, key="a")
    assert begin(library, key="a") == first
    assert begin(library, key="b").id != first.id
    library.evaluations.finish(first.id)
    assert library.evaluations.get(first.id).finished_at >= first.started_at
    assert begin(library, key="a").id != first.id


# Results


def test_results_come_in_the_order_of_the_set_and_each_place_has_one(library: Library) -> None:
    add_set(library)
    id = begin(library).id
    kept = library.evaluations
    assert [kept.save_result(id, place, f"row {place}") for place in (3, 1, 2)] == [True, True, True]
    assert kept.save_result(id, 2, "another row") is False
    assert kept.results(id) == ["row 1", "row 2", "row 3"]
    assert (kept.places(id), kept.get(id).done) == ([1, 2, 3], 3)
    kept.drop_results(id, [1, 3])
    assert (kept.results(id), kept.has_result(id, 2), kept.has_result(id, 3)) == (["row 2"], True, False)


def test_results_stay_when_runs_chunks_and_documents_go(library: Library, fill: Fill) -> None:
    document = fill(library, "alpha")
    add_set(library)
    id = begin(library).id
    save_run(library, f"{id}-1")
    library.evaluations.save_result(id, 1, "row")
    library.runs.delete(f"{id}-1")
    library.documents.delete(document.id)
    assert library.evaluations.results(id) == ["row"]
    library.verify()


@pytest.mark.parametrize("runs", [False, True])
def test_a_removed_evaluation_leaves_its_runs_unless_they_are_to_go_too(library: Library, runs: bool) -> None:
    add_set(library)
    gone, kept = begin(library, key="a").id, begin(library, key="b").id
    others = [f"{kept}-1", gone, f"{gone}.1", f"x{gone}-1"]
    for run in (f"{gone}-1", f"{gone}-20", *others):
        save_run(library, run)
    for id in (gone, kept):
        library.evaluations.save_result(id, 1, "row")
    library.evaluations.delete(gone, runs=runs)
    assert [each.id for each in library.evaluations.all()] == [kept]
    assert library.evaluations.results(kept) == ["row"]
    assert library.runs.ids() == ([] if runs else [f"{gone}-1", f"{gone}-20"]) + others


# Stored runs in bulk


@pytest.mark.parametrize("text", ['{"rounds": "of another time"}', "", "{", "[]"])
def test_a_run_that_cannot_be_read_is_named_and_the_others_go_on(library: Library, text: str) -> None:
    for run in ("one", "two", "three"):
        save_run(library, run)
    change(library, update(runs).where(runs.c.id == "two").values(trace=text, events="{}"))
    first, broken, third = library.runs.traces(["one", "two", "three"])
    assert isinstance(first, Trace) and isinstance(third, Trace) and third.run_id == "three"
    assert isinstance(broken, Unreadable)
    assert broken.run_id == "two" and "two" in broken.message and broken.remedy
    for read in (library.runs.trace, library.runs.events):
        with pytest.raises(StorageError, match=r"run two .*another version"):
            read("two")
    library.runs.delete("two")
    assert [run.run_id for run in library.runs.latest()] == ["three", "one"]


# The history


def history(library: Library) -> list[str]:
    return [run.run_id for run in library.runs.latest(3)]


def test_the_history_holds_what_a_person_asked_and_no_run_of_an_evaluation(library: Library) -> None:
    add_set(library)
    removed, kept = begin(library, key="a").id, begin(library, key="b").id
    asked = ["first", f"x{kept}-1", "last"]
    for run in (asked[0], f"{removed}-1", asked[1], *(f"{kept}-{place}" for place in range(1, 9)), asked[2]):
        save_run(library, run)
    library.evaluations.delete(removed)
    assert history(library) == asked[::-1], "not what is left of the last three"
    assert [run.run_id for run in library.runs.latest(3, every=True)] == ["last", f"{kept}-8", f"{kept}-7"]
