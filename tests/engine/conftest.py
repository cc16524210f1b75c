"""An engine over a small library: real storage, retrieval, strips and answers; an evaluator that scores anything."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from crag.core.config import AppConfig
from crag.engine import Engine
from crag.testing.fakes import ScriptedEvaluator
from tests.support.small_library import WordEmbedder, spread


@pytest.fixture
def web_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "web"
    folder.mkdir()
    (folder / "moon.md").write_text("# The moon\n\nThe moon circles the earth in about twenty-seven days.\n")
    (folder / "hiring.md").write_text("# Hiring\n\nHiring people took the agency ninety days in 2018, on average.\n")
    return folder


@pytest.fixture
def engine(tmp_path: Path, web_folder: Path) -> Iterator[Engine]:
    config = AppConfig.of(data=tmp_path / "data", web="folder", web_folder=web_folder)
    with Engine(config, embedder=WordEmbedder(), evaluator=ScriptedEvaluator(score=spread)) as made:
        yield made
