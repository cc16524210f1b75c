"""Fixtures that every room's tests share, how many examples are tried, and which files begin first."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import hashlib
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.support.sizes import ALL, sized

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling

    from tests.support.milvus_server import MilvusServer
    from tests.support.model_server import Server
    from tests.support.postgres_server import PostgresServer

# A busy machine is slow without being wrong; what failed once is tried again in the same order.
settings.register_profile("few", max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("all", settings.get_profile("few"), max_examples=100)
settings.load_profile("all" if sized(1, 0) else "few")

ROOT = Path(__file__).resolve().parent.parent
MEMORY = Path("/dev/shm")
"""Where Linux keeps files in memory."""
ENOUGH = 4 * 2**30
SERVERS = (
    *("tests/admin/backup/", "tests/storage/", "tests/admin/limits/", "tests/admin/teams/"),
    *("tests/index/test_milvus_failures.py", "tests/index/test_milvus_index.py", "tests/engine/test_tenancy.py"),
    *("tests/cli/test_copy_command.py", "tests/deploy/test_containers.py"),
)
"""Where tests need PostgreSQL or Milvus: one worker takes them all, and starts each server once."""
LONG = (*SERVERS, "tests/browser/", "tests/engine/", "tests/app/", "tests/providers/", "tests/web/", "tests/cli/")
"""Where tests take long: they begin first, in this order."""
KEPT = 7 * 86400.0
"""Seconds that readings which no run uses are kept."""


def readings() -> Path:
    """Where what the models made of texts is kept for the next run: for this state of them, their code and packages."""
    packages = [version(name) for name in ("numpy", "onnxruntime", "tokenizers")]
    digest = hashlib.sha256(repr((platform.machine(), platform.python_version(), packages)).encode())
    models = ROOT / "crag" / "models"
    for path in sorted([*models.glob("*.py"), *models.glob("*/*.json")]):
        digest.update(path.read_bytes())
    found = ROOT / "build" / "readings" / digest.hexdigest()[:16]
    found.mkdir(parents=True, exist_ok=True)
    os.utime(found)
    for other in found.parent.iterdir():  # another Python may be at its tests
        with suppress(FileNotFoundError):
            if other.stat().st_mtime < time.time() - KEPT:
                shutil.rmtree(other, ignore_errors=True)
    return found


def pytest_configure(config: pytest.Config) -> None:
    """All workers, the apps that they serve and the next run share what the models made of what many of them read.

    What tests store lies in memory where there is room: a disk takes half of their time, as each transaction waits for
    it. A `TMPDIR` or `--basetemp` of one's own counts.
    """
    if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ENOUGH:
        os.environ["TMPDIR"], tempfile.tempdir = str(MEMORY), str(MEMORY)
        config.add_cleanup(lambda: os.environ.pop("TMPDIR", None))
    gc.disable()  # nothing of what is collected goes away again; see below
    if "TEST_VECTORS" not in os.environ:
        folder = readings()
        if ALL:  # all of it anew
            shared = TemporaryDirectory(prefix="crag-vectors-")
            config.add_cleanup(shared.cleanup)
            folder = Path(shared.name)
        os.environ["TEST_VECTORS"] = str(folder)
        config.add_cleanup(lambda: os.environ.pop("TEST_VECTORS", None))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """A file's bytes hold the time at which they were made: in a test's name, that name differs between workers."""
    return argname if isinstance(val, bytes) and len(val) > 80 else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long begin first, so that no worker is left with one at the end."""
    items.sort(key=lambda item: next((n for n, at in enumerate(LONG) if item.nodeid.startswith(at)), len(LONG)))


def pytest_collection_finish() -> None:
    """Leaves thousands of tests and modules out of the collector's rounds: one through them all takes a second."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """Whole files go to workers, those of SERVERS together."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return SERVERS[0] if nodeid.startswith(SERVERS) else super()._split_scope(nodeid)

    return Scheduling(config, log)


@pytest.fixture
def server() -> Iterator[Server]:
    """A model server on loopback."""
    from tests.support.model_server import serving

    with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def apart_from_the_browser(request: pytest.FixtureRequest) -> Iterator[None]:
    """Once a worker has driven a browser, Playwright's loop counts as running in its thread: no other test sees it."""
    loop = None if "browser" in request.fixturenames else asyncio._get_running_loop()
    if loop is not None:
        asyncio._set_running_loop(None)
    yield
    if loop is not None:
        asyncio._set_running_loop(loop)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the checkout; a test that needs it is skipped where it is absent."""
    folder = Path(os.environ.get("CRAG_SHARED", ROOT.parent / "shared")) / "data"
    if not folder.is_dir():
        pytest.skip(f"no shared data folder at {folder}: set CRAG_SHARED to run this test")
    return folder


@pytest.fixture(scope="session")
def sample_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose library holds the sample's PDF; copy it. All workers share one, made by whoever is first."""
    from crag.core.config import AppConfig  # only now: most tests need no engine
    from tests.support import local_models

    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    data, done = folder / "sample", folder / "sample.done"
    with (folder / "sample.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            with local_models.engine(AppConfig.of(data=data)) as engine:
                sample = engine.sample()
                events = list(engine.add(sample.pdf.name, sample.pdf.read_bytes()))
                assert "document_added" in [event.kind for event in events]
            done.touch()
    return data


@pytest.fixture
def read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read without the reader's child, for tests of other things than what the child is kept to."""
    from tests.support.reading_here import read_here  # only now: most tests read nothing

    monkeypatch.setattr("crag.ingest.reader.run_child", read_here)


@pytest.fixture(scope="session")
def database_server() -> Iterator[PostgresServer]:
    from tests.support.postgres_server import postgres_server  # only now: most tests need no database

    with postgres_server() as server:
        yield server


@pytest.fixture
def database(database_server: PostgresServer) -> Iterator[str]:
    """The address of an empty database."""
    with database_server.emptied() as url:
        yield url


@pytest.fixture(scope="session")
def milvus_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusServer]:
    """A server that all tests of a worker share; none of them stops it."""
    pytest.importorskip("pymilvus", reason="pip install -r requirements/milvus.txt")
    from tests.support.milvus_server import MilvusServer

    with MilvusServer(tmp_path_factory.mktemp("milvus")) as started:
        yield started
