"""Work that a killed program left unfinished is told; what goes on, here or in another process, is not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from crag.storage.library import Library
from crag.storage.postgres import Server
from tests.support.library_makers import HashEmbedder

CHILD = """
import sys
from pathlib import Path
from crag.storage import runs
from crag.storage.runs import InFlightJob
from crag.storage.library import Library
from crag.storage.records import server_at
from tests.support.library_makers import HashEmbedder
library = Library.open(Path(sys.argv[1]), HashEmbedder(), server=server_at(sys.argv[2]))
library.in_flight.start(InFlightJob(id="up", kind="upload", label="2 files", names=("a.txt", "b.txt")))
print("noted", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def library(tmp_path: Path, embedder: HashEmbedder, server: Server | None) -> Iterator[Library]:
    with Library.open(tmp_path / "library", embedder, server=server) as opened:
        yield opened


@pytest.mark.parametrize("records", ["sqlite", "postgresql"])
def test_what_another_process_works_on_is_cut_off_by_its_kill_alone(library: Library, url: str) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(library.folder), url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parents[2],
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"noted\n"
        assert library.in_flight.known("up")
        assert library.in_flight.cut_off() == []
        child.kill()
        child.wait()
        [work] = library.in_flight.cut_off()
        assert (work.label, work.names) == ("2 files", ("a.txt", "b.txt"))
        library.in_flight.finish("up")
        assert library.in_flight.cut_off() == []
    finally:
        child.kill()
        child.communicate()


@pytest.mark.parametrize("records", ["sqlite"])
def test_the_end_of_work_that_nobody_noted_makes_no_library(library: Library) -> None:
    library.in_flight.finish("nobody's")
    assert not library.exists
