"""Files: at most 500 lines, no path or address of a machine, nothing that a run leaves behind."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.support.product import tree_of

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 500


@cache
def tracked() -> tuple[Path, ...]:
    """What git tracks, and what it would: new files not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    return tuple(path for path in paths if path.is_file())


def product() -> list[Path]:
    return [
        path
        for path in tracked()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in {"crag", "ui", "pages", "app.py"}
    ]


def test_no_module_of_the_product_passes_500_lines() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in product()
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > LIMIT
    }
    assert long == {}


def test_a_room_s_init_holds_its_charter_and_nothing_else() -> None:
    """So that importing one module of a room loads nothing else of it; names that others import come when asked for."""
    inits = [path for path in product() if path.name == "__init__.py" and path.parent.parent == ROOT / "crag"]
    bodies = {path: tree_of(path).body for path in inits}
    lazy = {path for path, body in bodies.items() if any(getattr(each, "name", "") == "__getattr__" for each in body)}
    lazy.add(ROOT / "crag" / "core" / "__init__.py")  # the version
    full = [str(path.relative_to(ROOT)) for path, body in bodies.items() if len(body) > 1 and path not in lazy]
    assert inits
    assert full == []


# Written in pieces, so that this file does not hold what it looks for.
HOSTS = ["pypi." + "org", "files.python" + "hosted", "registry.npm" + "js", "deb." + "debian", "--index" + "-url http"]
PATHS = re.compile(
    "|".join(["/(?:ro" + "ot|wo" + "rk|ho" + "me|Us" + "ers)/[A-Za-z0-9_.]", "/opt/(?:py" + "pi|wh" + "eels)"])
)


def text_of(path: Path) -> str | None:
    """The text of a text file under a megabyte that this project wrote; samples are the work of others."""
    if path.stat().st_size > 1_000_000 or path.relative_to(ROOT).parts[0] == "samples":
        return None
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def test_no_tracked_file_names_a_package_registry() -> None:
    named = [
        f"{path.relative_to(ROOT)}: {host}"
        for path in tracked()
        if path.name != "package-lock.json" and (text := text_of(path)) is not None
        for host in HOSTS
        if host in text
    ]
    assert named == []


def test_no_tracked_file_holds_a_path_of_somebody_s_machine() -> None:
    named = [
        f"{path.relative_to(ROOT)}: {found.group()}"
        for path in tracked()
        if (text := text_of(path)) is not None
        for found in PATHS.finditer(text)
    ]
    assert named == []


def test_nothing_that_a_run_leaves_behind_is_tracked() -> None:
    left = [
        str(path.relative_to(ROOT))
        for path in tracked()
        if path.suffix in {".pyc", ".db", ".sqlite", ".sqlite3", ".pkl", ".pickle", ".whl", ".zip", ".gz"}
        or path.relative_to(ROOT).parts[0] in {".venv", "data", "build"}
        or path.name == "secrets.toml"
    ]
    assert left == []
