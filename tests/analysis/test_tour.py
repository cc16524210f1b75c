"""The recorded stories: what each situation shows its runs, what is said of them, and who is misled."""

from pathlib import Path

import pytest

from crag.analysis import tour
from crag.analysis.tour import FIGURE, ORDER, QUESTIONS, STRATEGIES, is_misled, load_runs, load_story, marked
from crag.core.errors import NotFoundError
from crag.core.trace import Trace
from crag.core.types import Action, Chunk
from crag.messages.explanations import TITLES, says_text, situation_sentence


def texts(trace: Trace) -> str:
    return "\n".join(each.text for each in trace.sources.values() if isinstance(each, Chunk))


def test_each_situation_has_a_title_a_sentence_and_a_run_of_each_strategy() -> None:
    assert tuple(TITLES) == tuple(QUESTIONS)
    removed, later, planted = map(situation_sentence, QUESTIONS)
    assert FIGURE in removed and "2031" in later and ORDER in planted
    assert all([run.strategy for run in load_runs(each)] == list(STRATEGIES) for each in QUESTIONS)


def test_the_runs_show_what_was_done_to_the_sample() -> None:
    removed, later, planted = (texts(load_runs(each)[0]) for each in QUESTIONS)
    assert FIGURE not in removed and "FEHB" in removed
    assert FIGURE in later and ORDER not in later and f"\n{ORDER}" in planted
    assert [marked(load_runs(each)[0]) > 0 for each in QUESTIONS] == [False, False, True]


def test_crag_keeps_silent_where_the_answer_is_gone_or_of_another_year() -> None:
    removed, later, planted = map(load_runs, QUESTIONS)
    for plain, corrective in (removed, later):
        assert plain.answer is not None and not plain.answer.abstained
        assert says_text(corrective) == "No answer"
    assert says_text(removed[0]) == "Says something else"
    assert all(says_text(run) == f"Says {FIGURE}" for run in planted)
    misled = [[is_misled(each, run) for run in load_runs(each)] for each in QUESTIONS]
    assert misled == [[True, False], [True, False], [False, False]]


@pytest.mark.parametrize("action", Action)
def test_each_action_has_its_story(action: Action) -> None:
    trace = Trace.from_events(load_story(action.lower()))
    assert trace.action is action and trace.answer is not None and not trace.answer.abstained


@pytest.mark.parametrize("damaged", [None, "no json", '{"kind": "graded"}'])
def test_a_story_that_cannot_be_read_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, damaged: str) -> None:
    monkeypatch.setattr(tour, "STORIES", tmp_path)
    if damaged is not None:
        (tmp_path / "correct.jsonl").write_text(damaged)
    with pytest.raises(NotFoundError, match="can't be read"):
        load_story("correct")
