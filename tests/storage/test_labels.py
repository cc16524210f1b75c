"""A person's word on a chunk: stored, replaced, taken back."""

from __future__ import annotations

import pytest

from crag.core.errors import NotFoundError


def test_a_label_is_replaced_by_a_later_one_and_can_be_taken_back(library, fill) -> None:
    first, second, *_ = library.documents.chunks(fill(library, "one").id)
    library.labels.save("where?", first.id, "relevant")
    library.labels.save("where?", second.id, "relevant")
    library.labels.save("who?", first.id, "relevant")
    library.labels.save("where?", first.id, "irrelevant")
    found = {(label.question, label.chunk_id): label.label for label in library.labels.all()}
    assert found == {
        ("where?", first.id): "irrelevant",
        ("where?", second.id): "relevant",
        ("who?", first.id): "relevant",
    }
    library.labels.delete("where?", first.id)
    library.labels.delete("where?", first.id)
    assert {(label.question, label.chunk_id) for label in library.labels.all()} == {
        ("where?", second.id),
        ("who?", first.id),
    }


def test_a_chunk_that_is_not_there_has_no_label(library) -> None:
    with pytest.raises(NotFoundError):
        library.labels.save("where?", "nothing", "relevant")
    library.labels.delete("where?", "nothing")
