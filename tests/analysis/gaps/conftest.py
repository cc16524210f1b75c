"""An engine whose documents know nothing of the moon, and a folder of pages in place of the web that does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from crag.core.config import AppConfig
from crag.engine import Engine
from tests.support.small_library import engine_with_texts

MOON = "Published 2019-05-01.\n\nThe moon circles the earth in about twenty-seven days.\n\nIts light is the sun's."


def score(text: str) -> float:
    """Only what speaks of the moon answers."""
    return 0.9 if "moon" in text else 0.02


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """Its library holds one document; its web has one page that helps and one that does not."""
    web = tmp_path / "web"
    web.mkdir()
    (web / "moon.md").write_text(f"# The moon: an orbit | Sky\n\n{MOON}\n")
    (web / "tides.md").write_text("# Tides\n\nHow long the tides take hangs on the shape of the coast.\n")
    config = AppConfig.of(data=tmp_path / "data", web="folder", web_folder=web)
    with engine_with_texts(config, score) as made:
        yield made
