"""`crag serve` with the quick models, in a process of its own beside the app, over the same data folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.soak_served import ROOT


class Programs:
    """The server until the block ends; `chosen` is of its environment."""

    def __init__(self, data: Path, log: Path, **chosen: str) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CRAG_")}
        self._environment = {**environment, "CRAG_DATA": str(data), "PYTHONPATH": str(ROOT), **chosen}
        self._log = log
        self.url = ""

    def __enter__(self) -> Self:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "benchmarks.soak_programs", "serve", "--port", "0", "--json", "--rate", "0"]
        with self._log.open("ab") as out:
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=self._environment, stdout=subprocess.PIPE, stderr=out, text=True
            )
        assert self._process.stdout is not None
        first = self._process.stdout.readline()
        if not first:
            raise RuntimeError(f"crag serve did not start:\n{self.said()[-3000:]}")
        self.url = json.loads(first)["url"]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()

    def said(self) -> str:
        """Its log."""
        return self._log.read_text(encoding="utf-8", errors="replace")


def main() -> int:
    from benchmarks.soak_app import engine
    from crag.cli.main import main

    return main(sys.argv[1:], engine)


if __name__ == "__main__":
    sys.exit(main())
