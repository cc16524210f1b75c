"""The app in a process of its own making: fresh data folder, no caches left over, the sample read once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import streamlit as st
from streamlit import config as streamlit_config
from streamlit.testing.v1 import AppTest

from crag.core.config import AppConfig
from crag.core.ingesting import DocumentAdded
from crag.engine import Engine
from crag.providers.registry import key_variables
from crag.sample import load_sample
from tests.support.model_server import Server, serving
from ui.app.program import program

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def sample_data(tmp_path_factory) -> Path:
    """A data folder that holds the sample library, made once."""
    folder = tmp_path_factory.mktemp("sample")
    engine = Engine(AppConfig(data=folder))
    sample = engine.sample()
    added = list(engine.add(sample.pdf.name, sample.pdf.read_bytes()))
    assert isinstance(added[-1], DocumentAdded)
    engine.close()
    return folder


@pytest.fixture(scope="session")
def make() -> Callable[[AppConfig], Engine]:
    """Makes engines that share the local models, loaded once."""
    plain = Engine(AppConfig())
    return lambda config: Engine(config, embedder=plain.embedder, evaluator=plain.evaluator)


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
    program().make = make
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
def app():
    """The app, not yet run."""
    return AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)


@pytest.fixture
def model_server() -> Iterator[Server]:
    """A model server on loopback whose one model `ok` passes the test of a model; `heard`: the keys it was sent."""
    with hearing() as server:
        yield server


@pytest.fixture
def other_server() -> Iterator[Server]:
    """Another one, at another address."""
    with hearing() as server:
        yield server


@contextmanager
def hearing() -> Iterator[Server]:
    with serving() as server:
        server.reply, server.heard = '{"sum": 5}', []

        class Hearing(server.RequestHandlerClass):
            def parse_request(self) -> bool:
                found = super().parse_request()
                with server.lock:
                    server.heard.append(self.headers.get("Authorization", "") if found else "")
                return found

        server.RequestHandlerClass = Hearing
        yield server
