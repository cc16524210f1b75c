"""The recorded run of the first page: it folds and draws today, and is what the sample gives today."""

import re
import shutil

import pytest

from crag.core.config import AppConfig
from crag.core.events import Event, events_from_jsonl
from crag.core.sample import RECORDING, load_sample
from crag.core.trace import Trace
from samples.record import record
from tests.support import local_models
from tests.support.app_text import said
from ui.ask import welcome


@pytest.fixture
def events() -> list[Event]:
    return events_from_jsonl(RECORDING.read_text(encoding="utf-8"))


def test_it_shows_the_steps_in_order_with_nothing_to_click(events):
    drawn = welcome.draw_states(events)
    assert re.findall(r'class="step">(\w+)<', drawn) == [
        *("Question", "Evaluate", "Action", "Refine", "Search", "Answer")
    ]
    done = [state.count('<li class="done"') for state in drawn.split('style="--at:')[1:]]
    assert done == sorted(done) and done[0] == 0 and done[-1] > done[1] > 0
    assert "<button" not in drawn and "data-pick" not in drawn and "<script" not in drawn


@pytest.mark.slow
def test_it_is_what_the_sample_gives_today(events, sample_data, tmp_path):
    shutil.copytree(sample_data, tmp_path, dirs_exist_ok=True)
    engine = local_models.engine(AppConfig.of(data=tmp_path, web="folder", web_folder=load_sample().web))
    kept, now = Trace.from_events(events), Trace.from_events(record(engine))
    engine.close()
    remedy = "run python -m samples.record"
    assert (kept.question, kept.settings, kept.action) == (now.question, now.settings, now.action), remedy
    assert kept.answer.text == now.answer.text, remedy
    assert [each.text for each in kept.kept()] == [each.text for each in now.kept()], remedy
    assert [round(each.score, 2) for each in kept.round.grades.values()] == [
        round(each.score, 2) for each in now.round.grades.values()
    ], remedy


@pytest.mark.parametrize("damaged", [None, "no json", '{"kind": "graded"}'])
def test_without_a_recording_that_can_be_read_the_page_goes_without(app, monkeypatch, tmp_path, damaged):
    place = tmp_path / "recorded-run.jsonl"
    if damaged is not None:
        place.write_text(damaged)
    monkeypatch.setattr(welcome, "RECORDING", place)
    app.run()
    assert not app.exception and "A recorded run" not in said(app) and app.button(key="sample")
