"""Processes that add documents to a library and delete some, until they are killed."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class Confirmed:
    """What a process said before it was killed, by ids: `there` was added, `gone` was deleted.

    `open`: what was being deleted; the kill may have come before it or after.
    """

    there: list[str]
    gone: list[str]
    open: list[str]


def work_until_killed(
    folder: Path, prefix: str, seconds: float, url: str = "", uri: str = "", *, after: int = 1
) -> Confirmed:
    """Start such a process, kill it `seconds` after it has said `after` things; what it confirmed.

    `url`: the database that holds the library, where it is no file; `uri`: the Milvus that has its index, if one has.
    """
    child = subprocess.Popen(
        [sys.executable, str(ROOT / "tests" / "support" / "adding_child.py"), str(folder), prefix, url, uri],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert child.stdout is not None
    first = b"".join(child.stdout.readline() for _ in range(after))
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    rest = child.stdout.read()
    child.wait()
    child.stdout.close()
    assert child.returncode == -signal.SIGKILL, "the adding process must die by the kill, not of itself"
    # A line cut short by the kill was confirmed to nobody.
    said = [line.decode().split() for line in (first + rest).split(b"\n")[:-1]]
    added, begun, gone = ([id for word, id in said if word == step] for step in ("added", "deleting", "deleted"))
    return Confirmed(
        there=[id for id in added if id not in begun], gone=gone, open=[id for id in begun if id not in gone]
    )
