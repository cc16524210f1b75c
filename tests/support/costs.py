"""What each test file takes of the processors, children and browsers included.

`make test OPTIONS='-p tests.support.costs'`; `sort -rn build/costs.tsv`: processor seconds, wall seconds, tests, file.
Wall times of a run with several workers say little, for each waits for the others.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

WRITTEN = Path("build/costs.tsv")


def processor() -> float:
    """Seconds of this process, of its living descendants and of those that have ended. Linux."""
    parents: dict[int, int] = {}
    spent: dict[int, float] = {}
    for folder in Path("/proc").iterdir():
        try:
            pid = int(folder.name)
            fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except (ValueError, OSError):
            continue  # no process, or it ended just now: its parent counts it from here on
        parents[pid] = int(fields[1])
        spent[pid] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    mine, found = {os.getpid()}, 0
    while len(mine) > found:
        found = len(mine)
        mine |= {pid for pid, parent in parents.items() if parent in mine}
    return sum(spent.get(pid, 0.0) for pid in mine)


class Costs:
    """One worker's files."""

    def __init__(self) -> None:
        self._file, self._tests = "", 0
        self._since = processor(), time.monotonic()

    def turn(self, file: str) -> None:
        """The next test is of this file; empty: there is none."""
        if file != self._file:
            now = processor(), time.monotonic()
            if self._file:
                spent, took = now[0] - self._since[0], now[1] - self._since[1]
                with WRITTEN.open("a", encoding="utf-8") as lines:
                    lines.write(f"{spent:.2f}\t{took:.2f}\t{self._tests}\t{self._file}\n")
            self._file, self._tests, self._since = file, 0, now
        self._tests += 1


def pytest_configure(config: pytest.Config) -> None:
    WRITTEN.parent.mkdir(exist_ok=True)
    if not hasattr(config, "workerinput"):
        WRITTEN.write_text("", encoding="utf-8")
    config.pluginmanager.register(Costs(), "costs")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    costs = item.config.pluginmanager.get_plugin("costs")
    assert isinstance(costs, Costs)
    costs.turn(item.nodeid.partition("::")[0])
    return (yield)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    costs = session.config.pluginmanager.get_plugin("costs")
    if isinstance(costs, Costs):
        costs.turn("")
