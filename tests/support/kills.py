"""Processes that add documents until they are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def add_until_killed(folder: Path, prefix: str, seconds: float, url: str = "") -> list[str]:
    """Start the adding process, kill it `seconds` after its first confirmation; the confirmed documents' ids.

    `url`: the database that holds the library, where it is no file.
    """
    child = subprocess.Popen(
        [sys.executable, str(ROOT / "tests" / "support" / "adding_child.py"), str(folder), prefix, url],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert child.stdout is not None
    first = child.stdout.readline()
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    rest = child.stdout.read()
    child.wait()
    child.stdout.close()
    assert child.returncode == -signal.SIGKILL, "the adding process must die by the kill, not of itself"
    # A line cut short by the kill was confirmed to nobody.
    return [line.decode() for line in (first + rest).split(b"\n")[:-1]]
