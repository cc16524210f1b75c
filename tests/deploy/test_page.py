"""docs/deploy.md followed word for word: its commands run one after another in a clean copy; what it names is there."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from crag.core.config import SETTINGS
from tests.support.app_server import ROOT
from tests.support.other_programs import free_port

PAGE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_what_the_page_names_is_there() -> None:
    for place in re.findall(r"\]\(([^)#]+)", PAGE):
        assert (ROOT / "docs" / place).exists(), place
    beside = {"METRICS_TOKEN", "METRICS_TOKEN_FILE", "TOKENS_FILE"}
    named = {name for name in re.findall(r"`CRAG_([A-Z_]+)", PAGE)} - beside
    assert len(named) > 10 and {name.lower() for name in named} <= set(SETTINGS)
    alerts = (ROOT / "deploy" / "prometheus" / "alerts.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"\bCrag[A-Z]\w+", PAGE)) == set(re.findall(r"alert: (\w+)", alerts))


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    """The tracked files alone, and an environment that counts as set up: packages are lent, nothing is downloaded."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode or not shutil.which("curl") or not shutil.which("openssl") or not shutil.which("make"):
        pytest.skip("needs a git checkout, curl, openssl and make")
    copy = tmp_path / "clean"
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file() and not name.startswith(("tests/", "benchmarks/", "training/")):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    os.utime(copy / "requirements" / "run.lock", (1, 1))
    (copy / ".venv").mkdir()
    for name in ("bin", "lib", "pyvenv.cfg"):
        (copy / ".venv" / name).symlink_to(Path(sys.prefix) / name)
    for stamp in (".python", ".run"):
        (copy / ".venv" / stamp).touch()
    return copy


@pytest.fixture
def servers() -> Iterator[list[subprocess.Popen[bytes]]]:
    """What was started and is still running; a later one takes the place of an earlier one."""
    started: list[subprocess.Popen[bytes]] = []
    yield started
    stop(started)


def stop(started: list[subprocess.Popen[bytes]]) -> None:
    for each in started:
        os.killpg(each.pid, signal.SIGTERM)
        each.wait(60)
    started.clear()


@pytest.mark.heavy
def test_the_page_is_followed_word_for_word(
    clean: Path, servers: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    port = str(free_port())
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CRAG_")}
    environment |= {"PORT": port, "HEADLESS": "true"}
    said = []
    for language, block in BLOCKS:
        if language != "sh":
            continue
        command = ["bash", "-euo", "pipefail", "-c", block.replace(":8501", f":{port}")]
        if "make run" in block:
            stop(servers)
            with (tmp_path / "log").open("ab") as log:
                made = subprocess.Popen(
                    command, cwd=clean, env=environment, stdout=log, stderr=log, start_new_session=True
                )
            servers.append(made)
            continue
        ran = subprocess.run(command, cwd=clean, env=environment, capture_output=True, text=True, timeout=300)
        assert ran.returncode == 0, (block, ran.stdout, ran.stderr, (tmp_path / "log").read_text()[-2000:])
        said.append(ran.stdout)
    whole = "\n".join(said)
    assert '"status":"ready"' in whole and "crag_ready" in whole and "is whole" in whole
    assert (clean / "restored" / "workspaces" / "default" / "library.db").is_file()
    assert (clean / "deploy" / "secrets").stat().st_mode & 0o077 == 0
