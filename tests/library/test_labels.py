"""A person's word on a chunk: stored, replaced, taken back."""

from __future__ import annotations

import pytest

from crag.core.errors import NotFoundError


def test_a_label_is_replaced_by_a_later_one_and_can_be_taken_back(library, fill) -> None:
    first, second, *_ = library.chunks(fill(library, "one").id)
    library.save_label("where?", first.id, "relevant")
    library.save_label("where?", second.id, "relevant")
    library.save_label("who?", first.id, "relevant")
    library.save_label("where?", first.id, "irrelevant")
    found = {(label.question, label.chunk_id): label.label for label in library.labels()}
    assert found == {
        ("where?", first.id): "irrelevant",
        ("where?", second.id): "relevant",
        ("who?", first.id): "relevant",
    }
    library.delete_label("where?", first.id)
    library.delete_label("where?", first.id)
    assert {(label.question, label.chunk_id) for label in library.labels()} == {
        ("where?", second.id),
        ("who?", first.id),
    }


def test_a_chunk_that_is_not_there_has_no_label(library) -> None:
    with pytest.raises(NotFoundError):
        library.save_label("where?", "nothing", "relevant")
    library.delete_label("where?", "nothing")
