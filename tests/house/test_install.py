"""The house: `pip install .` gives the engine with its models, the sample library and the command, without the app.

That the whole set resolves with pip needs a package index, which no test asks: docs/decisions/dependencies.md says how
to check it by hand. The heavy test builds and installs the package itself, beside the packages installed here.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path

import pytest

from crag.core.sample import load_sample
from tests.support.small_pdf import small_pdf

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DATA: dict[str, list[str]] = PROJECT["tool"]["setuptools"]["package-data"]


def tracked(*folders: str) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *folders],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def covered(package: str, name: str) -> bool:
    """Whether the package's data holds the file, by its path below the package; a star stands for no slash."""
    return any(fnmatch(name, glob) and name.count("/") == glob.count("/") for glob in DATA[package])


def test_every_file_of_the_engine_is_installed() -> None:
    names = tracked("crag")
    folders = {str(Path(name).parent) for name in names if name.endswith(".py")}
    assert all(f"{folder}/__init__.py" in names for folder in folders), "setup.py finds packages alone"
    others = [name for name in names if not name.endswith(".py")]
    missing = [
        name
        for name in others
        if not any(
            name.startswith(f"{package.replace('.', '/')}/")
            and covered(package, name.removeprefix(f"{package.replace('.', '/')}/"))
            for package in DATA
        )
    ]
    assert others and missing == []


def test_the_whole_sample_library_is_installed() -> None:
    sample = load_sample()
    files = [sample.pdf, sample.question_set, ROOT / "samples" / "questions.json", *sample.web.iterdir()]
    missing = [file.name for file in files if not covered("crag.samples", str(file.relative_to(ROOT / "samples")))]
    assert len(files) > 5 and missing == []


def test_the_command_is_there_and_goes_by_its_name() -> None:
    module, _, name = PROJECT["project"]["scripts"]["crag"].partition(":")
    assert callable(getattr(importlib.import_module(module), name))
    program = "import sys; sys.argv = ['/bin/crag', '--help']; from crag.cli.main import main; main()"
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.stdout.startswith("Usage: crag [OPTIONS] COMMAND")


@pytest.fixture
def installed(tmp_path: Path) -> Callable[..., str]:
    """Runs programs of an environment in which the package is installed, in an empty folder.

    Its other packages are those of the environment that runs this test, but for those of the app, which are hidden.
    """
    version = importlib.metadata.version("setuptools") if importlib.util.find_spec("setuptools") else "0"
    if int(version.partition(".")[0]) < 77:
        pytest.skip("building the package needs setuptools 77 or later: make setup")
    source, place, empty = tmp_path / "source", tmp_path / "place", tmp_path / "empty"
    for name in tracked("crag", "samples", "*.toml", "setup.py", "requirements", "README.md", "LICENSE"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, source / name)
    empty.mkdir()
    venv.create(place, with_pip=False)
    [site] = place.glob("lib/python*/site-packages")
    outer = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    (site / "outer.pth").write_text("\n".join(dict.fromkeys(outer)))
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CRAG_", "PYTHON"))}

    def run(program: str, *arguments: object) -> str:
        command = [str(place / "bin" / program), *map(str, arguments)]
        ran = subprocess.run(command, cwd=empty, env=clean, capture_output=True, text=True, check=False)
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
