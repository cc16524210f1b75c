"""The app in a process of its own making: fresh data folder, no caches left over, no warm-up, models loaded once."""

import os
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import keyring
import pytest
import streamlit as st
from keyring.backends.fail import Keyring as NoKeyring
from streamlit import config as streamlit_config
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest, local_script_runner

from crag.admin.people import Identity, Person
from crag.core.config import AppConfig
from crag.core.errors import AccessError
from crag.core.sample import load_sample
from crag.engine import Engine
from crag.providers.registry import key_variables
from tests.support import local_models
from tests.support.model_server import Server, serving
from tests.support.tab_states import state_in
from ui.app.program import program
from ui.components.tab_state import ShownLibrary

ROOT = Path(__file__).resolve().parents[2]
HANGS = 240.0
"""Seconds after which a script of AppTest is taken to hang."""

# Every AppTest reads the metadata of every installed package: a fifth of a second that is the same each time.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


def ended(runner: local_script_runner.LocalScriptRunner, timeout: float) -> None:
    """Waits for a script as AppTest does, but in one wait: a look each millisecond costs a tenth of these tests; and as
    long as only one that hangs takes: on a machine that does six things more the sample's four seconds were sixty."""
    thread = runner._script_thread
    assert thread is not None
    thread.join(max(timeout, HANGS))
    if thread.is_alive():
        runner.request_stop()
        raise RuntimeError(f"AppTest script run timed out after {max(timeout, HANGS)}(s)")


local_script_runner.require_widgets_deltas = ended

_run_once = AppTest._run
_STOPS = frozenset({"stop", "compare-stop", "upload-stop"})
"""Buttons that stand on a page as long as it follows what goes on."""


def followed(app: AppTest, *args: Any, **given: Any) -> AppTest:
    """Runs the script, and again when what it follows is over, as a browser does, which looks every quarter second."""
    _run_once(app, *args, **given)
    while _STOPS & {button.key for button in app.button}:
        here, jobs = state_in(app, ShownLibrary).workspace, program().jobs
        for job in (*jobs.running("run", workspace=here), *jobs.running("upload", workspace=here)):
            for _ in job.follow():
                pass
        _run_once(app)
    return app


AppTest._run = followed  # type: ignore[method-assign]

# After each run of the script, Streamlit would have the collector go through all modules, for a tenth of a second.
streamlit_config.set_option("runner.postScriptGC", False)


@pytest.fixture(scope="session")
def make() -> Callable[[AppConfig], Engine]:
    """Makes engines that share the local models, loaded once."""
    return local_models.engine


@pytest.fixture(autouse=True)
def no_keyring() -> None:
    """The machine's own keyring is never asked."""
    keyring.set_keyring(NoKeyring())


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch, make):
    """An empty data folder for the app of this test, and nothing remembered from another test."""
    given = [name for name in os.environ if name.startswith("CRAG_")]
    for name in (*given, *(name for names in key_variables().values() for name in names)):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CRAG_DATA", str(tmp_path))
    monkeypatch.setenv("CRAG_WORKSPACES", "one")  # there is no server here whose address could decide
    st.cache_resource.clear()
    st.cache_data.clear()
    program().make, program().warm = make, lambda engine: None
    yield tmp_path
    program().close()
    st.cache_resource.clear()


@pytest.fixture
def with_sample(data, sample_data, monkeypatch):
    """The sample library is loaded, and its pages stand in for the web."""
    shutil.copytree(sample_data, data, dirs_exist_ok=True)
    monkeypatch.setenv("CRAG_WEB", "folder")
    monkeypatch.setenv("CRAG_WEB_FOLDER", str(load_sample().web))
    return data


@pytest.fixture(params=["private libraries", "one library on a reachable address"])
def shared(request, monkeypatch) -> Iterator[None]:
    """Others than the owner may be visiting, in either way in which that can be."""
    if request.param == "private libraries":
        monkeypatch.setenv("CRAG_WORKSPACES", "private")
        yield
        return
    before = st.get_option("server.address")
    streamlit_config.set_option("server.address", "0.0.0.0")
    yield
    streamlit_config.set_option("server.address", before)


@pytest.fixture
def people(data) -> dict[str, Person]:
    """Anna, an editor, Ben, a viewer, Cleo and Dora, admins, each with a workspace; a tab says by `as` whose it is."""
    teams, found = program().engine.teams, {}
    for name, role in (("anna", "editor"), ("ben", "viewer"), ("cleo", "admin"), ("dora", "admin")):
        teams.people.invite(f"{name}@example.org", role, by="owner")
        identity = Identity(issuer="http://p", subject=name, name=name.capitalize(), email=f"{name}@example.org")
        found[name] = teams.people.admit(identity)
        teams.spaces.own(found[name])

    def who() -> Person:
        if not st.session_state.get("as"):
            raise AccessError("Nobody has signed in.", "Sign in.")
        person = teams.people.get(found[st.session_state["as"]].id)
        if not person.welcome:
            raise AccessError("You were removed from this program.")
        return person

    program().who = who
    return found


@pytest.fixture
def app():
    """The app, not yet run."""
    return AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)


@pytest.fixture
def model_server() -> Iterator[Server]:
    """A model server on loopback whose one model `ok` passes the test of a model."""
    with serving() as server:
        server.reply = '{"sum": 5}'
        yield server


other_server = model_server
"""Another one, at another address."""
