"""The Settings page's questions and program: made from the declarations, checked in words. Its models: a file apart."""

import json

import pytest

from crag.core.config import SETTINGS
from crag.core.sample import load_sample
from crag.core.settings import Settings, meta
from crag.core.strategies import STRATEGIES
from tests.support.app_text import plain, said, visit
from tests.support.tab_states import state_in
from ui.app.program import program
from ui.app.tab import ChoicesState
from ui.components import forms


@pytest.fixture
def settings():
    return visit("settings")


def shown(app) -> dict[str, object]:
    kinds = ("slider", "number_input", "selectbox", "toggle", "text_input", "pills", "button_group", "multiselect")
    return {element.label: element for kind in kinds for element in app.get(kind)}


def test_every_declared_setting_has_its_widget(settings):
    labels = shown(settings)
    declared = [(Settings, name) for name in Settings.model_fields]
    declared += [(kind, name) for name, kind in SETTINGS.items() if of_the_program(name)]
    for model, name in declared:
        assert forms.label(model, name) in labels, name


def of_the_program(name: str) -> bool:
    """Models, prices and limits have tabs of their own; the database's address, which holds a password, is nowhere;
    what is of people is there where they sign in.
    """
    return meta(SETTINGS[name], name)["group"] not in ("providers", "prices", "database", "people", "quotas")


def test_a_filter_is_typed_and_what_is_wrong_with_it_is_said(settings):
    settings.multiselect(key="set-balanced-0-where").set_value(["verified", "date>=2024"]).run()
    kept = {"where": {"date": {">=": "2024"}, "verified": {"=": True}}}
    assert state_in(settings, ChoicesState).changes["balanced"] == kept
    settings.multiselect(key="set-balanced-0-where").set_value(["verified", "date >="]).run()
    assert "gives no value" in settings.error[0].value.replace("\\", "")
    assert state_in(settings, ChoicesState).changes["balanced"] == kept


def test_a_change_shapes_the_next_question_until_reset(settings):
    settings.slider(key="set-balanced-0-k").set_value(4).run()
    assert state_in(settings, ChoicesState).changes["balanced"] == {"k": 4} and "1 setting changed" in said(settings)
    settings.button(key="reset").click().run()
    assert not state_in(settings, ChoicesState).changes.get("balanced")
    assert settings.slider(key="set-balanced-1-k").value == STRATEGIES["balanced"].settings.k


def test_a_strategy_that_is_looked_at_is_used_by_no_question_until_that_is_said(with_sample, settings):
    box = settings.selectbox(key="settings-strategy")
    assert state_in(settings, ChoicesState).strategy == "balanced" and settings.button(key="settings-use").disabled
    assert [each for each in box.options if each.endswith(" (in use)")] == ["Balanced (in use)"]
    box.set_value("paper").run()
    assert state_in(settings, ChoicesState).strategy == "balanced" and "Not in use" in said(settings)
    assert settings.slider(key="set-paper-0-upper")
    settings.button(key="settings-use").click().run()
    assert state_in(settings, ChoicesState).strategy == "paper" and settings.button(key="settings-use").disabled
    assert settings.selectbox(key="settings-strategy").value == "paper" and "Not in use" not in said(settings)
    settings.switch_page("pages/ask.py").run()
    assert settings.selectbox(key="strategy-choice").value == "paper"


def test_settings_that_contradict_each_other_are_told_and_not_used(settings):
    settings.slider(key="set-balanced-0-lower").set_value(0.9).run()
    assert "lower threshold is above the upper" in settings.error[0].value.replace("\\", "")
    assert not state_in(settings, ChoicesState).changes.get("balanced")


def save(app):
    next(button for button in app.button if button.label == "Save").click().run()
    assert not app.exception


def test_what_the_program_is_given_is_stored_and_in_use(settings, data):
    settings.slider(key="program-threads").set_value(3)
    save(settings)
    assert program().config.models.threads == 3 and "in use. Threads: from the next start" in plain(settings)
    assert json.loads((data / "settings.json").read_text())["threads"] == 3


def test_pages_that_may_frame_the_app_are_typed_and_checked(settings, data):
    field = settings.text_input(key="program-framed_by")
    assert field.value == ""
    field.set_value("https://portal.example, http://10.0.0.7:8080")
    save(settings)
    assert program().config.serving.framed_by == ("https://portal.example", "http://10.0.0.7:8080")
    assert settings.text_input(key="program-framed_by").value == "https://portal.example, http://10.0.0.7:8080"
    settings.text_input(key="program-framed_by").set_value("https://portal.example/page; script-src *")
    save(settings)
    assert "is no origin" in said(settings)
    assert len(json.loads((data / "settings.json").read_text())["framed_by"]) == 2


def test_stored_settings_that_cannot_be_read_are_told_and_harm_nothing(data):
    (data / "settings.json").write_text("{broken")
    assert "can't be read" in visit("settings").warning[0].value.replace("\\", "")


def test_a_stored_setting_that_there_is_no_longer_harms_no_other(data):
    (data / "settings.json").write_text(json.dumps({"threads": 3, "idle_days": 30}))
    assert program().config.models.threads == 3 and not program().notice


def test_visitors_are_not_told_where_things_lie_on_the_server(shared, with_sample):
    page, seen = visit(), ""
    for each in ("ask", "documents", "compare", "evaluate", "settings"):
        page.switch_page(f"pages/{each}.py").run()
        assert not page.exception
        seen += said(page) + " ".join(str(typed.value) for typed in page.text_input)
    assert "folder: web" in seen
    assert str(with_sample) not in seen and str(load_sample().web.parent) not in seen and "samples/web" not in seen
