"""The kept projection: brought up to date without moving what was there, made again where it can't serve."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from crag.analysis.atlas import projection
from crag.analysis.atlas.projection import FILE, Projection
from crag.core.config import AppConfig
from crag.core.errors import CancelledError
from crag.core.protocols import RunRequest
from crag.engine import Engine
from crag.testing.fakes import ScriptedEvaluator
from tests.support.library_makers import WORDS
from tests.support.small_library import WordEmbedder, add_document


class OtherEmbedder(WordEmbedder):
    id = "words-test-2"


def texts(name: str, count: int) -> list[str]:
    return [f"{name} tells of {WORDS[at % 24]} and of {WORDS[(7 * at + 3) % 24]}, number {at}." for at in range(count)]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = Engine(
        AppConfig.of(data=tmp_path), embedder=WordEmbedder(), evaluator=ScriptedEvaluator(score=lambda _: 0.9)
    )
    yield made
    made.close()


def refreshed(engine: Engine) -> Projection:
    found = projection.refresh(engine.library())
    assert len({len(found.numbers), len(found.points), len(found.clusters), len(found.landmarks)}) == 1
    assert np.isfinite(found.points).all()
    return found


def same(one: Projection, other: Projection) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in Projection.__slots__)


def test_it_is_made_once_and_holds_no_word(engine: Engine) -> None:
    add_document(engine, "one.pdf", texts("Harbour", 30))
    engine.answer(RunRequest("What tells of copper?"))
    made = refreshed(engine)
    file = engine.library().folder / FILE
    assert file.stat().st_mode & 0o077 == 0 and len(made.asked) == 1 and made.changed(engine.library()) == 0
    stamp = file.stat().st_mtime_ns
    assert same(refreshed(engine), made) and file.stat().st_mtime_ns == stamp
    with np.load(file, allow_pickle=False) as stored:
        assert [name for name in stored if stored[name].dtype.kind not in "iufb"] == ["made_of"]


def test_new_chunks_are_placed_and_old_ones_stay(engine: Engine) -> None:
    add_document(engine, "one.pdf", texts("Harbour", 30))
    gone = add_document(engine, "two.pdf", texts("Meadow", 4))
    before = refreshed(engine)
    add_document(engine, "three.pdf", texts("Lantern", 6))
    engine.library().documents.delete(gone)
    assert before.changed(engine.library()) == 10
    now = refreshed(engine)
    assert len(now.numbers) == 36 and np.array_equal(now.points[:30], before.points[:30])
    assert now.landmarks.sum() == 30 and (now.clusters <= before.clusters.max()).all()


def test_chunks_are_found_with_their_documents_and_those_of_a_deleted_one_are_not(engine: Engine) -> None:
    points = engine.library().points
    assert not points.spans().find(np.arange(9))[0].any() and not len(points.numbers())
    ids = [add_document(engine, name, texts(name, count)) for name, count in (("a", 3), ("b", 2), ("c", 4))]
    numbers = points.numbers()
    engine.library().documents.delete(ids[1])
    there, documents = points.spans().find(numbers)
    assert there.tolist() == [True] * 3 + [False] * 2 + [True] * 4 and documents.tolist() == [0] * 3 + [1] * 4
    assert list(points.spans().ids) == [ids[0], ids[2]] and np.array_equal(points.numbers(), numbers[there])


def test_what_changed_too_much_or_is_of_another_model_is_laid_out_again(engine: Engine, tmp_path: Path) -> None:
    add_document(engine, "one.pdf", texts("Harbour", 10))
    refreshed(engine)
    add_document(engine, "two.pdf", texts("Meadow", 20))
    grown = refreshed(engine)
    assert grown.landmarks.all() and grown.laid == 30
    engine.close()
    with closing(Engine(AppConfig.of(data=tmp_path), embedder=OtherEmbedder())) as other:
        other.library().reindex()
        assert projection.load(other.library()) is None
        assert refreshed(other).made_of != grown.made_of


def test_vectors_of_an_older_model_have_a_map_without_questions(engine: Engine, tmp_path: Path) -> None:
    add_document(engine, "one.pdf", texts("Harbour", 10))
    engine.answer(RunRequest("What tells of copper?"))
    engine.close()
    with closing(Engine(AppConfig.of(data=tmp_path), embedder=OtherEmbedder())) as other:
        found = refreshed(other)
        assert len(found.numbers) == 10 and len(found.asked) == 0


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 no archive", b"\x93NUMPY no array", b"\0" * 4000])
def test_a_damaged_file_is_made_again(engine: Engine, damage: bytes) -> None:
    add_document(engine, "one.pdf", texts("Harbour", 10))
    made = refreshed(engine)
    (engine.library().folder / FILE).write_bytes(damage)
    assert projection.load(engine.library()) is None
    assert same(refreshed(engine), made) and same(projection.load(engine.library()) or made, made)


def test_where_it_cannot_be_kept_it_is_made_all_the_same(engine: Engine) -> None:
    add_document(engine, "one.pdf", texts("Harbour", 10))
    (engine.library().folder / FILE).mkdir()
    assert len(refreshed(engine).numbers) == 10


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_a_library_of_hardly_anything_has_a_map(engine: Engine, count: int) -> None:
    if count:
        add_document(engine, "one.pdf", texts("Harbour", count))
    assert len(refreshed(engine).points) == count


def test_work_that_is_stopped_keeps_nothing(engine: Engine) -> None:
    add_document(engine, "one.pdf", texts("Harbour", 30))

    def stop(share: float) -> None:
        raise CancelledError("Stopped.")

    with pytest.raises(CancelledError):
        projection.refresh(engine.library(), stop)
    assert not (engine.library().folder / FILE).exists()
