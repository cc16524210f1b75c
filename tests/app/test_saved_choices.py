"""What one person chose stays for the next start, on a machine of their own alone; keys stay in the keyring alone."""

import shutil

import keyring
import pytest
import streamlit as st
from keyring.backend import KeyringBackend
from keyring.backends.fail import Keyring as NoKeyring
from keyring.errors import KeyringLocked, PasswordDeleteError
from streamlit.testing.v1 import AppTest

from crag.core.config import AppConfig
from crag.core.sample import load_sample
from tests.support.app_text import said, visit
from tests.support.models_tab import choose, enter, widget
from tests.support.tab_states import state_in
from ui.app import saved_choices, system_keyring
from ui.app.program import program
from ui.app.saved_choices import SavedChoices
from ui.app.tab import ChoicesState

KEY = "sk-person-3kPz8WvNq1"
SERVER = "http://127.0.0.1:9"


class Memory(KeyringBackend):
    """A keyring that can be looked into, and locked."""

    priority = 5

    def __init__(self):
        super().__init__()
        self.held, self.locked = {}, False

    def get_password(self, service, username):
        return self.held.get((service, username))

    def set_password(self, service, username, password):
        if self.locked:
            raise KeyringLocked(f"locked, and this is {password}")
        self.held[service, username] = password

    def delete_password(self, service, username):
        if self.held.pop((service, username), None) is None:
            raise PasswordDeleteError("there is none")


class PlainText(Memory):
    """A backend that the package does not recommend."""

    priority = 0.5


@pytest.fixture
def memory():
    keyring.set_keyring(Memory())
    return keyring.get_keyring()


@pytest.fixture
def start(app, make):
    """Starts the program and opens the Settings page; what was open before is gone."""

    def started() -> AppTest:
        program().close()
        st.cache_resource.clear()
        st.cache_data.clear()
        program().make, program().warm = make, lambda engine: None
        return visit("settings")

    return started


def shown(tab, name):
    return widget(tab, name).value


def stored(data) -> bytes:
    """All that lies in the data folder."""
    return b"\n".join(each.read_bytes() for each in data.rglob("*") if each.is_file())


# Choices


def test_what_was_chosen_is_there_at_the_next_start(start):
    first = choose(start(), llm="openai-compatible", llm_base_url=SERVER, web="duckduckgo", writer="extractive")
    first.selectbox(key="settings-strategy").set_value("paper").run()
    first.button(key="settings-use").click().run()
    first.slider(key="set-paper-0-k").set_value(4).run()
    first.pills(key="set-paper-0-web_on").set_value(["INCORRECT"]).run()
    later = start()
    assert [shown(later, name) for name in ("llm", "llm_base_url", "web", "writer")] == [
        *("openai-compatible", SERVER, "duckduckgo", "extractive")
    ]
    assert state_in(later, ChoicesState).strategy == "paper" and later.slider(key="set-paper-0-k").value == 4
    assert state_in(later, ChoicesState).changes["paper"] == {"k": 4, "web_on": ("INCORRECT",)}
    assert "are saved on this machine for the next start. Keys hold until" in said(later)


def test_a_reset_is_saved_too_and_forgetting_leaves_nothing(start, data):
    first = choose(start(), writer="llm", web="duckduckgo")
    first.slider(key="set-balanced-0-k").set_value(4).run()
    first.button(key="models-reset").click().run()
    later = start()
    assert shown(later, "writer") == "auto" and state_in(later, ChoicesState).changes["balanced"] == {"k": 4}
    later.button(key="forget-choices").click().run()
    assert not later.exception and later.slider(key="set-balanced-1-k").value != 4
    assert not (data / saved_choices.FILE).exists() and state_in(start(), ChoicesState).changes == {"balanced": {}}


def test_the_web_turned_off_stays_off_though_the_library_holds_the_sample(start, data, sample_data):
    shutil.copytree(sample_data, data, dirs_exist_ok=True)
    first = start()
    assert shown(first, "web") == "off" and "search the pages that come with it" in said(first)
    choose(choose(first, web="duckduckgo"), web="off")
    assert "sample" not in (data / saved_choices.FILE).read_text(), "its pages were no choice"
    later = start()
    assert shown(later, "web") == "off" and "search the pages that come with it" not in said(later)


def test_a_folder_of_pages_outlasts_another_web_provider(start, tmp_path_factory):
    pages = tmp_path_factory.mktemp("pages")
    (pages / "page.html").write_text("<html><body><p>A ferry leaves at nine.</p></body></html>")
    first = choose(choose(start(), web="folder"), web_folder=str(pages))
    assert shown(choose(choose(first, web="tavily"), web="folder"), "web_folder") == str(pages)
    assert shown(choose(choose(start(), web="off"), web="folder"), "web_folder") == str(pages)


@pytest.mark.parametrize(
    "damaged",
    [
        "no json",
        "[]",
        '{"version": 2}',
        '{"version": 1, "theme": "dark"}',
        '{"version": 1, "strategies": {"gone": {}}}',
        '{"version": 1, "strategies": {"paper": {"upper": 7}}}',
        '{"version": 1, "strategies": {"paper": {"gone": 1}}}',
        '{"version": 1, "providers": {"data": "/elsewhere"}}',
        '{"version": 1, "providers": {"llm_timeout": "soon"}}',
        "\x00\xff",
    ],
)
def test_a_damaged_file_or_one_of_another_version_means_the_defaults(data, damaged):
    (data / saved_choices.FILE).write_text(damaged, encoding="latin-1")
    saved, problem = saved_choices.read(AppConfig.of(data=data))
    assert saved == SavedChoices() and problem.startswith("Your saved choices were not used")


def test_a_place_that_cant_be_written_ends_no_run_and_is_reported(start, with_sample):
    (with_sample / saved_choices.FILE).mkdir()  # no file can take its place, also for root
    tab = choose(start(), writer="extractive")
    assert shown(tab, "writer") == "extractive", "it holds for this session"
    assert "Your choices can't be saved" in said(tab).replace("\\", "")
    ask = visit()
    ask.selectbox(key="strategy-choice").set_value("paper").run()
    ask.chat_input(key="question").set_value(load_sample().questions[0].question).run()
    assert not ask.exception and not ask.error and program().engine.library().runs.latest(1)[0].strategy == "paper"


def test_on_a_shared_server_nothing_is_saved(shared, start, data, memory):
    tab = choose(start(), llm="openai")
    enter(tab, KEY)
    tab.slider(key="set-balanced-0-k").set_value(4).run()
    assert not (data / saved_choices.FILE).exists() and not memory.held
    assert not [each for each in tab.button if each.key == "forget-choices"]
    assert "hold for this browser session" in said(tab) and shown(start(), "llm") == "none"


# Keys


def test_a_key_is_in_the_keyring_and_in_no_file(start, data, memory):
    first = enter(choose(start(), llm="openai"), KEY)
    assert "Saved in the system's keyring." in said(first).replace("\\", "")
    assert memory.held == {(system_keyring.SERVICE, "llm for openai"): KEY}
    later = start()
    assert KEY not in said(later) and "Saved in the system's keyring." in said(later).replace("\\", "")
    [key] = state_in(later, ChoicesState).own_keys.values()
    assert key.get_secret_value() == KEY and KEY.encode() not in stored(data)
    later.button(key="models-key-llm-forget").click().run()
    assert not memory.held and not state_in(start(), ChoicesState).own_keys


def test_forgetting_choices_takes_the_keys_out_of_the_keyring(start, memory):
    enter(choose(start(), llm="openai", web="tavily"), KEY)
    tab = enter(start(), "tvly-1", slot="tavily")
    assert len(memory.held) == 2
    tab.button(key="forget-choices").click().run()
    assert not tab.exception and not memory.held and shown(tab, "llm") == "none"


@pytest.mark.parametrize("backend", [NoKeyring, PlainText])
def test_without_a_usable_keyring_the_variable_is_named_and_nothing_is_stored(start, data, monkeypatch, backend):
    keyring.set_keyring(backend())
    tab = enter(choose(start(), llm="openai"), KEY)
    assert "Set the variable OPENAI_API_KEY to keep it." in said(tab).replace("\\", "")
    assert KEY.encode() not in stored(data) and not state_in(start(), ChoicesState).own_keys
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert "Set by the environment." in said(start())


def test_a_locked_keyring_is_reported_without_the_key_which_holds_for_the_session(start, data, memory):
    memory.locked = True
    tab = enter(choose(start(), llm="openai"), KEY)
    assert "could not store the key" in tab.error[0].value and KEY not in said(tab)
    [key] = state_in(tab, ChoicesState).own_keys.values()
    assert key.get_secret_value() == KEY and KEY.encode() not in stored(data)
