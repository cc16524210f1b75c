"""What runs said of chunks is added up: once a run, of people's runs alone, and it goes with the document."""

from collections.abc import Callable

import pytest

from crag.core.ranking import rank_chunks
from crag.core.trace import Round, Trace, Track
from crag.core.types import Action, Answer, Chunk, Document, Grade
from crag.evaluation.refinement import make_strip
from crag.storage.library import Library
from crag.storage.store import count, meta
from crag.storage.tables import tracks
from tests.support.made import decided

Fill = Callable[..., Document]


def run(
    id: str, chunks: list[Chunk], scores: list[float | None], used: int = 1, at: str = "2026-02-01T10:00:00.000+00:00"
) -> Trace:
    """A run that retrieved these chunks, graded them, and answered from the first `used` of them."""
    grades = {
        chunk.id: Grade(passage_id=chunk.id, score=score, error=None if score is not None else "It failed.")
        for chunk, score in zip(chunks, scores, strict=True)
    }
    decision, found = decided(Action.CORRECT), tuple(rank_chunks(chunks))
    strips = {
        chunk.id: (make_strip(chunk.id, chunk.text, "internal", 0, 5, 0.5, kept=place < used),)
        for place, chunk in enumerate(chunks)
    }
    return Trace(
        run_id=id,
        question="?",
        started_at=at,
        rounds=(Round(query="?", chunks=found, grades=grades, decision=decision),) * 2,
        strips=strips,
        answer=Answer(text="So it is.", by="extractive"),
        finished=True,
    )


def test_what_runs_said_is_added_up(library: Library, fill: Fill) -> None:
    document = fill(library, "alpha", 3)
    first, second, third = library.documents.chunks(document.id)
    library.runs.save(run("one", [first, second], [0.9, 0.1]), [])
    library.runs.save(run("two", [first, third], [0.5, None], used=2, at="2026-02-02T10:00:00.000+00:00"), [])
    found = library.documents.chunk_tracks(document.id)
    assert found[first.id] == Track(
        retrieved=2,
        used=2,
        graded=2,
        score_sum=1.4,
        last_score=0.5,
        last_action="CORRECT",
        last_at="2026-02-02T10:00:00.000+00:00",
        last_used="2026-02-02T10:00:00.000+00:00",
    )
    assert (found[second.id].used, found[second.id].last_used) == (0, "")
    assert (found[third.id].graded, found[third.id].mean_score, found[third.id].used) == (0, None, 1)
    (whole,) = library.documents.tracks().values()
    assert (whole.retrieved, whole.used, whole.graded) == (4, 3, 3)
    assert whole.mean_score == pytest.approx(0.5)
    assert whole.last_used == "2026-02-02T10:00:00.000+00:00"


def test_a_run_stored_twice_counts_once_and_evaluations_not_at_all(library: Library, fill: Fill) -> None:
    document = fill(library, "alpha")
    chunks = library.documents.chunks(document.id)[:1]
    library.runs.save(run("one", chunks, [0.9]), [])
    library.runs.save(run("one", chunks, [0.9]), [])
    library.runs.save(run("0123456789abcdef-1", chunks, [0.9]), [])
    assert library.documents.tracks()[document.id].retrieved == 1


def test_a_run_changes_no_generation_and_deleting_takes_the_record_along(library: Library, fill: Fill) -> None:
    document, other = fill(library, "alpha"), fill(library, "beta")
    with library._database.read() as connection:
        before = meta(connection)
    for place, each in enumerate((document, other)):
        library.runs.save(run(f"run {place}", library.documents.chunks(each.id), [0.5] * 4), [])
    with library._database.read() as connection:
        assert meta(connection) == before
    library.documents.delete(document.id)
    assert library.documents.tracks().keys() == {other.id}
    with library._database.read() as connection:
        assert count(connection, tracks) == 4


def test_the_stamp_is_another_after_all_that_a_list_of_documents_tells(library: Library, fill: Fill) -> None:
    stored, seen = library.documents, [library.documents.version()]

    def changed() -> bool:
        seen.append(stored.version())
        return seen[-1] not in seen[:-1]

    document, other = fill(library, "one"), fill(library, "two")
    assert changed() and not changed()
    stored.describe(document.id, {"tags": ["x"]})
    assert changed()
    stored.note(document.id, path="/nowhere/one.pdf", modified=5)
    assert changed()
    library.runs.save(run("one", stored.chunks(document.id)[:1], [0.5]), [])
    assert changed()
    stored.delete(other.id)
    assert changed()
