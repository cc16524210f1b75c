"""A library as points: all of its chunks, their topics' words, and past questions among them."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from crag.analysis.atlas import projection
from crag.core.config import AppConfig
from crag.core.protocols import RunRequest
from crag.core.types import Grade, Passage
from crag.engine import Engine
from tests.support.small_library import TEXTS, WordEmbedder, add_document

MOON = "How long does the moon take till it circles the earth?"
HIRING = "How many people were hired in 2019?"


class SharedWords:
    """Scores a text by the words that it shares with the question."""

    id, calls_models = "shared-words", False

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        asked = set(re.findall(r"\w{4,}", question.lower()))
        for each in passages:
            shared = len(asked & set(re.findall(r"\w{4,}", each.text.lower())))
            yield Grade(passage_id=each.id, score=0.9 if shared > 1 else 0.02, evaluator=self.id)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """Its documents know nothing of the moon; its web has one page, which does."""
    web = tmp_path / "web"
    web.mkdir()
    (web / "moon.md").write_text("# The moon\n\nThe moon circles the earth in about twenty-seven days.\n")
    config = AppConfig.of(data=tmp_path / "data", web="folder", web_folder=web)
    with Engine(config, embedder=WordEmbedder(), evaluator=SharedWords()) as made:
        add_document(made, "report.pdf", TEXTS)
        yield made


def test_every_chunk_has_a_place_also_where_the_plane_is_fitted_to_some(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_document(engine, "other.pdf", [f"{text} Once more." for text in TEXTS])
    monkeypatch.setattr(projection, "_PART", 3)
    found = projection.project(engine.library())
    assert np.array_equal(found.numbers, engine.library().points.numbers()) and len(found.points) == 8
    assert np.isfinite(found.points).all() and len(found.topics) == 8
    monkeypatch.setattr(projection, "MOST", 4)
    assert np.array_equal(projection.project(engine.library()).numbers, found.numbers[::2])


def test_what_was_deleted_is_on_no_map_made_after(engine: Engine) -> None:
    library, gone = engine.library(), add_document(engine, "gone.pdf", TEXTS)
    engine.answer(RunRequest(HIRING))
    found, version = projection.project(library), library.points.standing()
    library.documents.delete(gone)
    library.runs.delete(library.runs.latest(1)[0].run_id)
    assert library.points.standing() != version and len(projection.project(library).numbers) == 4
    assert projection.past_questions(library, found, lambda question: engine.embedder.embed([question])[0]) == []


def test_questions_lie_near_chunks_like_them_and_those_without_an_answer_are_gaps(engine: Engine) -> None:
    for question in (MOON, HIRING, MOON):
        engine.answer(RunRequest(question))
    library, found = engine.library(), projection.project(engine.library())
    asked = projection.past_questions(library, found, lambda question: engine.embedder.embed([question])[0])
    moon, known = asked
    assert (moon.text, moon.action, moon.gap) == (MOON, "INCORRECT", True)
    assert (known.text, known.action, known.gap) == (HIRING, "CORRECT", False)
    assert moon.run == library.runs.latest(1)[0].run_id
    place = found.plane.place(engine.embedder.embed([HIRING]))[0][0]
    assert np.allclose(known.point, place, atol=1e-6)


def test_topics_are_named_by_what_sets_them_apart(engine: Engine) -> None:
    numbers = engine.library().points.numbers()
    texts = engine.library().points.texts(numbers.tolist())
    named = projection.topic_words(texts, numbers, np.array([0, 1, 3, 3]))
    assert named[0][0] in ("agency", "hired", "hundred", "people", "hiring", "took", "eighty", "average", "fewer")
    assert [len(each) for each in named] == [2, 2, 0, 2]
    assert not {"the", "were", "said"} & {word for each in named for word in each}
    assert projection.topic_words(texts, numbers[:0], np.zeros(0, np.int64)) == []


def test_chunks_are_found_with_their_documents_and_those_of_a_deleted_one_are_not(engine: Engine) -> None:
    points = engine.library().points
    first = points.numbers()
    ids = [add_document(engine, name, TEXTS[:count]) for name, count in (("a", 3), ("b", 2), ("c", 4))]
    numbers = points.numbers()[len(first) :]
    engine.library().documents.delete(ids[1])
    there, documents = points.spans().find(numbers)
    assert there.tolist() == [True] * 3 + [False] * 2 + [True] * 4 and documents.tolist() == [1] * 3 + [2] * 4
    assert np.array_equal(points.numbers()[len(first) :], numbers[there])
