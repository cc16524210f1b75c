"""One sample, one folder and one library that all tests of the command line share."""

from __future__ import annotations

from pathlib import Path

import pytest

from crag.sample import Sample, load_sample
from tests.support.shell import LIGHTHOUSE, crag, small_pdf


@pytest.fixture(scope="session")
def sample() -> Sample:
    """What ships with the project."""
    return load_sample()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small PDF, the same bytes under another name, and files that are none."""
    folder = tmp_path_factory.mktemp("papers")
    (folder / "below").mkdir()
    (folder / "lighthouse.pdf").write_bytes(small_pdf(LIGHTHOUSE))
    (folder / "below" / "copy of it.PDF").write_bytes(small_pdf(LIGHTHOUSE))
    (folder / "not a pdf.pdf").write_bytes(b"<html>no</html>")
    (folder / "notes.txt").write_text("not looked at")
    return folder


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory, sample: Sample) -> Path:
    """A library that holds the sample's PDF, made by the command line."""
    place = tmp_path_factory.mktemp("libraries") / "made"
    ran = crag("index", sample.pdf, "--library", place)
    assert ran.code == 0, ran.err
    return place
