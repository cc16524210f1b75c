"""The three questions that the app offers, asked of the real engine with its own models: each ends as promised."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from crag.core.config import AppConfig
from crag.core.sample import load_sample
from crag.core.trace import Trace
from crag.core.types import Action
from crag.engine import Engine
from tests.support import local_models

ANSWERS = {
    Action.CORRECT: ("internal", "4.0 percent"),
    Action.AMBIGUOUS: ("external", "field offices in 16 locations"),
    Action.INCORRECT: ("external", "snow"),
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, sample_data: Path) -> Iterator[Engine]:
    data = shutil.copytree(sample_data, tmp_path_factory.mktemp("own") / "data")
    with local_models.engine(AppConfig.of(data=data, web="folder", web_folder=load_sample().web)) as made:
        assert [document.pages for document in made.library().documents.all()] == [72]
        yield made


@pytest.mark.parametrize("place", range(3), ids=["first", "second", "third"])
def test_a_shown_question_ends_as_promised(engine: Engine, place: int) -> None:
    question = load_sample().questions[place]
    trace = Trace.from_events(engine.ask(question.question))
    assert trace.failures == ()
    assert trace.action is question.expected
    assert trace.answer is not None and not trace.answer.abstained
    origin, words = ANSWERS[question.expected]
    cited = [citation for citation in trace.answer.citations if words in citation.quote]
    assert cited and cited[0].origin == origin
    assert trace.faithfulness == 1.0
    assert bool(trace.searches) == (question.expected is not Action.CORRECT)
    if question.expected is Action.INCORRECT:
        assert {citation.origin for citation in trace.answer.citations} == {"external"}
