"""Blind votes: one a question and pair, whichever is named first; gone with their evaluations, carried by a copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from crag.admin.moving import copy_library
from crag.core.errors import NotFoundError
from crag.storage.library import Library
from crag.storage.places import Place


def begin(library: Library, set_id: str = "set") -> str:
    """The id of a new evaluation."""
    if set_id not in {each.id for each in library.evaluations.sets()}:
        library.evaluations.save_set(set_id, "made.csv", "CSV", 1, 0, "{}")
    return library.evaluations.begin(set_id, "balanced", settings="{}", parts="p", key="k", restart=True).id


def test_a_vote_is_stored_once_changed_and_taken_back(library: Library) -> None:
    a, b, c = (begin(library) for _ in range(3))
    library.votes.save((a, b), "q 1", a)
    library.votes.save((b, a), "q2", "neither")
    library.votes.save((a, c), "q2", c)
    assert library.votes.of((b, a)) == {"q 1": a, "q2": "neither"}
    library.votes.save((b, a), "q 1", "both")
    assert list(library.votes.of((a, b)).items()) == [("q2", "neither"), ("q 1", "both")], "the latest is the last"
    library.votes.delete((a, b), "q 1")
    library.votes.delete((a, b), "q 1")
    assert library.votes.of((a, b)) == {"q2": "neither"} and library.votes.of((c, a)) == {"q2": c}
    with pytest.raises(ValueError, match="none of the choices"):
        library.votes.save((a, b), "q2", c)
    with pytest.raises(NotFoundError, match="deleted"):
        library.votes.save((a, "0123456789abcdef"), "q2", a)


def test_votes_go_with_an_evaluation_and_with_a_set(library: Library) -> None:
    a, b, c, d = begin(library), begin(library), begin(library, "other"), begin(library, "other")
    for pair in ((a, b), (c, d), (b, c)):
        library.votes.save(pair, "q%", pair[0])
    library.evaluations.delete(a)
    assert library.votes.of((a, b)) == {} and library.votes.of((c, b)) == {"q%": b}
    library.evaluations.delete_set("other")
    assert library.votes.of((c, d)) == {} and library.votes.of((b, c)) == {}
    library.votes.save((b, begin(library)), "q", "both")
    assert not library.verify()


@pytest.mark.parametrize("records", ["sqlite"])
def test_a_copy_has_the_votes(library: Library, tmp_path: Path) -> None:
    a, b = begin(library), begin(library)
    library.votes.save((a, b), "q", b)
    found = copy_library(Place.at(tmp_path / "library"), Place.at(tmp_path / "copy"))
    assert found.whole
    with Library.open(tmp_path / "copy", library._embedder) as copy:
        assert copy.votes.of((a, b)) == {"q": b}
