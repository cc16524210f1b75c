"""The guided tour: what each situation shows its runs, what is said of them, and that nobody's library is touched."""

import threading
from pathlib import Path

import pytest

from crag.analysis.tour import FIGURE, ORDER, QUESTIONS, STRATEGIES, marked, play
from crag.core.config import AppConfig
from crag.core.errors import CancelledError
from crag.core.trace import Trace
from crag.core.types import Chunk
from crag.engine import Engine
from crag.messages.explanations import TITLES, says_text, situation_sentence
from crag.testing.fakes import ScriptedEvaluator
from tests.support import local_models
from tests.support.small_library import WordEmbedder, spread


def texts(trace: Trace) -> str:
    return "\n".join(each.text for each in trace.sources.values() if isinstance(each, Chunk))


def test_each_situation_shows_its_runs_what_was_done(tmp_path: Path) -> None:
    config = AppConfig.of(data=tmp_path / "data")
    engine = Engine(config, embedder=WordEmbedder(), evaluator=ScriptedEvaluator(score=spread))
    asked: list[tuple[int, int]] = []
    found = list(play(engine, threading.Event(), lambda done, total: asked.append((done, total))))
    assert [each.situation for each in found] == list(QUESTIONS) and asked[-1][0] == asked[-1][1] > 0
    assert all([run.strategy for run in each.runs] == list(STRATEGIES) for each in found)
    removed, later, planted = (texts(each.runs[0]) for each in found)
    assert FIGURE not in removed and "FEHB" in removed
    assert FIGURE in later and ORDER not in later and f"\n{ORDER}" in planted
    assert marked(found[2].runs[0]) and not marked(found[1].runs[0])
    assert not engine.library().exists and engine.library().runs.ids() == []
    engine.close()


def test_each_situation_has_a_title_and_a_sentence() -> None:
    assert tuple(TITLES) == tuple(QUESTIONS)
    removed, later, planted = map(situation_sentence, QUESTIONS)
    assert FIGURE in removed and "2031" in later and ORDER in planted


def test_the_tour_can_be_stopped(tmp_path: Path) -> None:
    engine = Engine(AppConfig.of(data=tmp_path), embedder=WordEmbedder(), evaluator=ScriptedEvaluator(score=spread))
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(CancelledError):
        list(play(engine, cancel))
    engine.close()


@pytest.mark.slow
def test_on_the_sample_crag_keeps_silent_where_the_answer_is_gone_or_of_another_year(tmp_path: Path) -> None:
    engine = local_models.engine(AppConfig.of(data=tmp_path))
    removed, later, planted = (each.runs for each in play(engine, threading.Event()))
    engine.close()
    for plain, corrective in (removed, later):
        assert plain.answer is not None and not plain.answer.abstained
        assert says_text(corrective) == "No answer"
    assert says_text(removed[0]) == "Says something else"
    assert all(says_text(run) == f"Says {FIGURE}" for run in planted)
