"""One sample, one folder and one library that all tests of the command line share."""

import shutil
from pathlib import Path

import pytest

from crag.core.sample import Sample, load_sample
from tests.support.small_pdf import LIGHTHOUSE, small_pdf


@pytest.fixture(scope="session")
def sample() -> Sample:
    """What ships with the project."""
    return load_sample()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small PDF, the same bytes under another name, and files that are none."""
    folder = tmp_path_factory.mktemp("papers")
    (folder / "below").mkdir()
    (folder / "lighthouse.pdf").write_bytes(small_pdf(*LIGHTHOUSE))
    (folder / "below" / "copy of it.PDF").write_bytes(small_pdf(*LIGHTHOUSE))
    (folder / "not a pdf.pdf").write_bytes(bytes(9))
    (folder / "notes.log").write_text("not looked at")
    return folder


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory, sample_data: Path) -> Path:
    """A library that holds the sample's PDF."""
    place = tmp_path_factory.mktemp("libraries") / "made"
    shutil.copytree(sample_data / "workspaces" / "default", place)
    return place
