"""The app as a supervisor runs it: on one port over one data folder, killed and started again, and gone at the end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).resolve().parent.parent
QUICK = ROOT / "benchmarks" / "soak_app.py"
_START = 90.0
"""Seconds for a start on a machine that does much else."""


class Supervised:
    """`streamlit run` of the app. `chosen` is of its environment; `before` a command that runs it, as `faketime …`.

    `script`: the app with quick models, or another.
    """

    def __init__(self, folder: Path, *before: str, script: Path = QUICK, **chosen: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.url, self.data, self.log = f"http://127.0.0.1:{self.port}", folder / "data", folder / "log"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CRAG_")}
        self._environment = {**environment, "CRAG_DATA": str(self.data), "CRAG_SOAK_SERVED": "1"}
        self._environment |= {"PYTHONPATH": str(ROOT), **chosen}
        self._command = [*before, sys.executable, "-m", "streamlit", "run", str(script)]
        self._command += ["--server.port", str(self.port), "--server.address", "127.0.0.1", "--server.headless", "true"]
        self.process: subprocess.Popen[bytes] | None = None
        self.starts = 0

    def start(self) -> float:
        """Returns when it listens: after so many seconds."""
        began = time.monotonic()
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                self._command,
                cwd=ROOT,
                env=self._environment,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.starts += 1
        while time.monotonic() < began + _START and self.process.poll() is None:
            try:
                urllib.request.urlopen(f"{self.url}/_stcore/host-config", timeout=2).close()
                return time.monotonic() - began
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"the app did not start:\n{self.said()[-3000:]}")

    def kill(self) -> None:
        """As the system kills: at once, with all that it started."""
        process, self.process = self.process, None
        if process is not None and process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def health(self) -> tuple[int, str]:
        """What /healthz says."""
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=10) as answer:
                return answer.status, answer.read().decode().strip()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode().strip()
        except OSError as error:
            return 0, str(error)

    def said(self) -> str:
        """Its log."""
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def __enter__(self) -> Self:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.kill()
