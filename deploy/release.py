"""Makes the files of a release from the last commit, checks them, and says what to type next. It publishes nothing.

make release    (python -m deploy.release)

The version is `crag.__version__`. Nothing may be uncommitted, the changelog must have a dated section for the version,
and no such tag may exist yet. Run `make check` before.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INSTALLED = {
    "crag": "crag",
    "samples": "crag/samples",
    "app.py": "crag_explorer/app.py",
    "pages": "crag_explorer/pages",
    "ui": "crag_explorer/ui",
    ".streamlit": "crag_explorer/.streamlit",
}
"""What of the clone is installed, and where it lies in the package."""
SOURCES = (*INSTALLED, "pyproject.toml", "setup.py", "requirements", "README.md", "LICENSE")
LARGEST = 100 * 10**6
"""Bytes that the package index takes in one file."""


def main() -> int:
    sys.path.insert(0, str(ROOT))
    from crag import __version__ as version

    if found := list(problems(version)):
        print(*found, sep="\n", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "source"
        for name in tracked(*SOURCES):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
        files = build(folder)
        if found := list(faults(files[1], version)):
            print(*found, sep="\n", file=sys.stderr)
            return 1
        (ROOT / "dist").mkdir(exist_ok=True)
        for file in files:
            shutil.copyfile(file, ROOT / "dist" / file.name)
            said = hashlib.sha256(file.read_bytes()).hexdigest()
            print(f"dist/{file.name}  {file.stat().st_size / 1e6:.1f} MB  sha256 {said}")
    print(f"Next: git tag -a v{version} -m 'CRAG Explorer {version}' && git push origin v{version}")
    print(f"Then: twine upload dist/crag_explorer-{version}*")
    return 0


def problems(version: str) -> Iterator[str]:
    """Why this commit is no release yet, a sentence each."""
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n+\S", changes, re.MULTILINE):
        yield f"CHANGELOG.md has no section '## [{version}] - YYYY-MM-DD' with text."
    if git("status", "--porcelain", "--untracked-files=no"):
        yield "Some changes are not committed."
    if git("tag", "--list", f"v{version}"):
        yield f"There is a tag v{version} already: set another version in crag/core/__init__.py."


def faults(wheel: Path, version: str) -> Iterator[str]:
    """What is wrong with the built wheel, a sentence each."""
    if wheel.stat().st_size > LARGEST:
        yield f"{wheel.name} is larger than {LARGEST:,} bytes."
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as site:
        missing = packed(tracked(*INSTALLED)) ^ {name for name in archive.namelist() if ".dist-info/" not in name}
        yield from (f"{name} is not in the wheel, or not in the clone." for name in sorted(missing))
        archive.extractall(site)
        command = [sys.executable, "-m", "crag", "--version"]
        shown = subprocess.run(command, cwd=site, env=clean() | {"PYTHONPATH": site}, capture_output=True, check=False)
        if shown.stdout.decode().split()[-1:] != [version]:
            yield f"{wheel.name} does not start as {version}."


def build(folder: Path) -> tuple[Path, Path]:
    """The source package of a folder and the wheel made of it, beside the folder. Raises CalledProcessError."""
    source = _backend("sdist", folder)
    shutil.unpack_archive(source, folder.parent / "unpacked")
    return source, _backend("wheel", folder.parent / "unpacked" / source.name.removesuffix(".tar.gz"))


def _backend(kind: str, folder: Path) -> Path:
    """What `python -m build --no-isolation` does, without the package `build`."""
    place = folder.parent if kind == "sdist" else folder.parents[1]
    program = f"import setuptools.build_meta as backend; print(backend.build_{kind}({str(place)!r}))"
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, cwd=folder, env=clean(), stdout=subprocess.PIPE, text=True, check=True)
    return place / ran.stdout.split()[-1]


def packed(names: Iterable[str]) -> set[str]:
    """Where these files of the clone lie in the package."""
    return {INSTALLED[top] + name.removeprefix(top) for name in names for top in [name.split("/")[0]]}


def tracked(*folders: str) -> list[str]:
    """The files of these folders that git tracks, or would."""
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *folders)
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip("\n")


def clean() -> dict[str, str]:
    """The environment without what would lead Python or the app to the clone."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("CRAG_", "PYTHON"))}


if __name__ == "__main__":
    sys.exit(main())
