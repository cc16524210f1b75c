"""The house: the package holds the engine with its models, the sample library, the app and the command.

That the whole set resolves with pip needs a package index, which no test asks: docs/decisions/dependencies.md says how
to check it by hand. Packages are built with the setuptools installed here, beside the packages installed here.
"""

import importlib
import importlib.metadata
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
import tomllib
import urllib.request
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy.release import INSTALLED, SOURCES, build, clean, packed, tracked
from tests.support.small_pdf import small_pdf

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of what the package is built from; the models' weights are links."""
    version = importlib.metadata.version("setuptools") if importlib.util.find_spec("setuptools") else "0"
    if int(version.partition(".")[0]) < 77:
        pytest.skip("building the package needs setuptools 77 or later: make setup")
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    folder = tmp_path / "source"
    for name in tracked(*SOURCES):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".onnx"):
            (folder / name).symlink_to(ROOT / name)
        else:
            shutil.copyfile(ROOT / name, folder / name)
    return folder


@pytest.mark.slow
def test_the_package_holds_every_file_and_serves_the_app(source: Path, tmp_path: Path) -> None:
    for weights in source.rglob("*.onnx"):
        weights.unlink()
        weights.write_bytes(b"weights")  # a hundred megabytes need not be packed to see their names
    with zipfile.ZipFile(build(source)[1]) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
        wheel.extractall(tmp_path / "site")
    names = tracked(*INSTALLED)
    assert len(names) > 400 and held == packed(names)

    (tmp_path / "empty").mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "crag", "ui", "--port", str(port), "--headless"]
    environment = clean() | {"PYTHONPATH": str(tmp_path / "site")}
    with (tmp_path / "log").open("wb") as log:
        app = subprocess.Popen(command, cwd=tmp_path / "empty", env=environment, stdout=log, stderr=log)
    try:
        assert answers(f"http://127.0.0.1:{port}/healthz", app) == b"ok", (tmp_path / "log").read_text()
    finally:
        app.terminate()
        app.wait(30)
    assert f"http://localhost:{port}" in (tmp_path / "log").read_text()


def answers(address: str, server: subprocess.Popen[bytes]) -> bytes:
    """What the server says once it listens; nothing where it ends or does not start."""
    until = time.monotonic() + 180  # seconds of processor, which a busy machine may not have
    while server.poll() is None and time.monotonic() < until:
        try:
            with urllib.request.urlopen(address, timeout=5) as reply:
                return bytes(reply.read())
        except OSError:
            time.sleep(0.1)
    return b""


def test_the_command_is_there_and_goes_by_its_name() -> None:
    module, _, name = PROJECT["project"]["scripts"]["crag"].partition(":")
    assert callable(getattr(importlib.import_module(module), name))
    program = "import sys; sys.argv = ['/bin/crag', '--help']; from crag.cli.main import main; main()"
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.stdout.startswith("Usage: crag [OPTIONS] COMMAND")


@pytest.fixture
def installed(source: Path, tmp_path: Path) -> Callable[..., str]:
    """Runs programs of an environment in which the package is installed, in an empty folder.

    Its other packages are those of the environment that runs this test, but for those of the app, which are hidden.
    """
    place, empty = tmp_path / "place", tmp_path / "empty"
    empty.mkdir()
    venv.create(place, with_pip=False)
    [site] = place.glob("lib/python*/site-packages")
    outer = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    (site / "outer.pth").write_text("\n".join(dict.fromkeys(outer)))

    def run(program: str, *arguments: object) -> str:
        command = [str(place / "bin" / program), *map(str, arguments)]
        ran = subprocess.run(command, cwd=empty, env=clean(), capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--ignore-installed", "--quiet"]
    run("python", "-m", "pip", "install", *offline, source)
    apart = ["streamlit", "plotly", "fastapi", "starlette", "uvicorn", "mcp", "pytest"]
    hidden = f"import sys; sys.modules.update(dict.fromkeys({apart}))\n"
    (site / "hidden.pth").write_text(hidden)
    return run


@pytest.mark.heavy
def test_the_installed_engine_answers_in_an_empty_folder(installed: Callable[..., str], tmp_path: Path) -> None:
    pdf = tmp_path / "report.pdf"
    pdf.write_bytes(small_pdf("The agency hired four hundred people in 2019.\nHiring took eighty days on average."))
    assert "Usage: crag" in installed("crag", "--help")
    assert "added" in installed("crag", "index", pdf)
    assert "eighty days" in installed("crag", "ask", "How many days did hiring take on average?")
    program = (
        "import crag, sys; from crag import Engine; engine = Engine(); "
        "answer = engine.answer('How many people did the agency hire?'); "
        "print(answer.text, engine.sample().document_id, crag.__file__)"
    )
    said = installed("python", "-c", program)
    assert "four hundred people" in said and str(tmp_path / "place") in said
