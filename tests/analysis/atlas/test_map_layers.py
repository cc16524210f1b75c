"""What a map shows beside its points: words, questions, holes, scores; also where things are gone."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from crag.analysis.atlas import projection
from crag.analysis.atlas.projection import Question
from crag.core.config import AppConfig
from crag.core.protocols import RunRequest
from crag.core.types import Grade, Passage
from crag.engine import Engine
from tests.support.small_library import TEXTS, WordEmbedder, add_document

MOON = "How long does the moon take till it circles the earth?"
HIRING = "How many people were hired in 2019?"


class SharedWords:
    """Scores a text by the words that it shares with the question, and low for a question of "never"."""

    id, calls_models = "shared-words", False

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        asked = set(re.findall(r"\w{4,}", question.lower()))
        for each in passages:
            shared = len(asked & set(re.findall(r"\w{4,}", each.text.lower())))
            yield Grade(
                passage_id=each.id, score=0.9 if shared > 1 and "never" not in asked else 0.02, evaluator=self.id
            )


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """Its documents know nothing of the moon; its web has one page, which does."""
    web = tmp_path / "web"
    web.mkdir()
    (web / "moon.md").write_text("# The moon\n\nThe moon circles the earth in about twenty-seven days.\n")
    config = AppConfig.of(data=tmp_path / "data", web="folder", web_folder=web)
    made = Engine(config, embedder=WordEmbedder(), evaluator=SharedWords())
    add_document(made, "report.pdf", TEXTS)
    yield made
    made.close()


def questions(engine: Engine) -> list[Question]:
    return projection.past_questions(engine.library(), projection.refresh(engine.library()))


def test_questions_lie_where_their_chunks_do_and_a_hole_has_its_web_pages(engine: Engine) -> None:
    for question in (MOON, HIRING, MOON):
        engine.answer(RunRequest(question))
    hole, known = questions(engine)
    assert (hole.text, hole.action, hole.hole) == (MOON, "INCORRECT", True)
    assert (known.text, known.action, known.hole) == (HIRING, "CORRECT", False) and known.nearest > hole.nearest
    assert [page.title for page in projection.web_pages(engine.library(), hole)] == ["The moon"]
    engine.library().runs.delete(hole.run)
    assert projection.web_pages(engine.library(), hole) == ()


def test_clusters_are_named_by_what_sets_them_apart(engine: Engine) -> None:
    numbers = engine.library().points.numbers()
    texts = engine.library().points.texts(numbers.tolist())
    named = projection.cluster_words(texts, numbers, np.array([0, 1, 2, 2], np.int16))
    assert named[0][0] in ("agency", "hired", "hundred", "people", "hiring", "took", "eighty", "average", "fewer")
    assert all(len(each) == 2 for each in named) and not {"the", "were", "said"} & {
        word for each in named for word in each
    }
    assert projection.cluster_words(texts, numbers[:0], np.zeros(0, np.int16)) == []


def test_scores_of_a_run_are_those_of_chunks_that_are_still_here(engine: Engine) -> None:
    trace = engine.trace(RunRequest(HIRING))
    found = projection.scores(engine.library(), trace)
    assert max(found.values()) == 0.9 and set(found) <= set(engine.library().points.numbers().tolist())
    assert engine.library().points.used().keys() <= set(found)
    engine.library().documents.delete(trace.documents[0])
    assert projection.scores(engine.library(), trace) == {}


def test_a_document_is_of_its_date_or_else_of_the_day_it_was_added(engine: Engine) -> None:
    library = engine.library()
    (document,) = library.documents.all()
    assert projection.document_days(library, [document]) == {document.id: "2026-01-01"}
    library.documents.describe(document.id, {"date": "2019-03"})
    assert projection.document_days(library, [document]) == {document.id: "2019-03-01"}
