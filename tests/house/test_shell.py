"""The house: the ways in. What `make` offers, and what continuous integration runs."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def make(*arguments: str) -> str:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    ran = subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout


def test_help_lists_every_target_that_people_use() -> None:
    shown = make("help")
    assert all(re.search(rf"^  make {target} +\S", shown, flags=re.MULTILINE) for target in ("run", "test", "check"))


def test_both_ways_in_set_up_an_environment_of_their_own_from_a_lock(tmp_path: Path) -> None:
    fresh = f"VENV={tmp_path / 'fresh'}"
    run, test = make("--dry-run", "run", fresh, "PORT=8600"), make("--dry-run", "test", fresh)
    assert "-m venv" in run
    assert "requirements/run.lock" in run
    assert "requirements/dev.lock" not in run
    assert "--server.port 8600" in run
    assert "requirements/dev.lock" in test
    assert "-m pytest" in test


def test_continuous_integration_runs_make_test() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
    text = script.read_text(encoding="utf-8")
    assert "set -euo pipefail" in text
    assert text.rstrip().splitlines()[-1].startswith("exec make test")
