"""The app in a process of its own making: fresh data folder, no caches left over, the sample read once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from crag.core.config import AppConfig
from crag.core.ingesting import DocumentAdded
from crag.engine import Engine
from ui.house import house

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


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    """An empty data folder for the app of this test, and nothing remembered from another test."""
    for name in ("CRAG_WEB", "CRAG_WEB_FOLDER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CRAG_DATA", str(tmp_path))
    monkeypatch.setenv("CRAG_WORKSPACES", "one")  # there is no server here whose address could decide
    st.cache_resource.clear()
    st.cache_data.clear()
    yield tmp_path
    house().engine.close()
    st.cache_resource.clear()


@pytest.fixture
def with_sample(data, sample_data, monkeypatch):
    """The sample library is loaded, and its pages stand in for the web."""
    shutil.copytree(sample_data, data, dirs_exist_ok=True)
    monkeypatch.setenv("CRAG_WEB", "folder")
    monkeypatch.setenv("CRAG_WEB_FOLDER", str(Engine(AppConfig(data=data)).sample().web))
    return data


@pytest.fixture
def app():
    """The app, not yet run."""
    return AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
