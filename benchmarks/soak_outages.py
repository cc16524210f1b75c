"""What the app stands on is taken away under working sessions, and given back: disk, database, index, clock, files.

Each case is a server of its own. Before, during and after the outage four sessions ask, add documents, look through the
pages and save settings. During it every failure must be a message with a remedy and no stack trace; after it, without a
restart, everything must work, and nothing that was confirmed before or during it may be gone.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import resource
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.soak_client import Lost, Missing, Rerun, Tab
from benchmarks.soak_kills import Ledger, missing, save_setting, stock, text_of, was_added
from benchmarks.soak_served import Supervised
from benchmarks.soak_world import closed
from crag.core.config import AppConfig

GOAL = "clear messages, recovery without a restart, nothing lost"

_LISTED = 8
"""Of what broke, the most frequent are listed."""
PAGES = ("", "documents", "tune", "compare", "evaluate", "settings")
_TAGS = re.compile(r"<[^>]+>")
_FAILED = re.compile(r'class="file result failed".*?class="said">(.*?)</span>', re.DOTALL)
_WORKED_AROUND = re.compile(r'class="faults".*?</div>', re.DOTALL)


@dataclass(slots=True)
class Found:
    """What one case showed."""

    case: str
    said: Counter[str] = field(default_factory=Counter)
    """Messages on the pages during the outage, and how often."""
    broken: list[str] = field(default_factory=list)
    """Stack traces, sessions that were lost, scripts that did not end."""
    worked: Counter[str] = field(default_factory=Counter)
    """Acts during the outage that did what was wanted."""
    health: list[str] = field(default_factory=list)
    recovered: float = -1.0
    """Seconds after the outage until every act worked again; below 0: not within a minute."""
    lost: list[str] = field(default_factory=list)
    repeated: int = 0
    """How often the line stands in the log that is repeated most."""
    skipped: str = ""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--outage-seconds", type=float, default=20.0, help="outages: how long each lasts")
    parser.add_argument("--outages", nargs="+", choices=list(CASES), default=list(CASES), help="outages: which")


async def measure(chosen: argparse.Namespace) -> dict[str, Any]:
    found = {}
    for case in chosen.outages:
        with tempfile.TemporaryDirectory(prefix="crag-outage-") as folder:
            found[case] = as_figures(await suffered(Path(folder), case, chosen.outage_seconds))
    return {"seconds": chosen.outage_seconds, "cases": found}


def as_figures(found: Found) -> dict[str, Any]:
    """What JSON can hold of it."""
    return {
        "said": dict(found.said.most_common()),
        "worked": dict(found.worked),
        "broken": found.broken,
        "health": found.health,
        "recovered": round(found.recovered, 1),
        "lost": found.lost,
        "repeated": found.repeated,
        "skipped": found.skipped,
    }


def describe(figures: dict[str, Any]) -> list[str]:
    rows = [
        f"Each outage lasted {figures['seconds']:g} seconds.",
        "",
        "| what went | stack traces, lost sessions | /healthz then | worked again after | confirmed and lost | a line "
        "of the log, at most |",
        "|---|---|---|---|---|---|",
    ]
    for case, each in figures["cases"].items():
        if each["skipped"]:
            rows.append(f"| {case} | not run: {each['skipped']} | | | | |")
            continue
        again = f"{each['recovered']:.1f} s" if each["recovered"] >= 0 else "not within a minute"
        health = each["health"][0] if each["health"] else ""
        rows.append(
            f"| {case} | {len(each['broken'])} | {health} | {again} | {len(each['lost'])} | {each['repeated']} × |"
        )
    for case, each in figures["cases"].items():
        rows += ["", f"**{case}**: worked meanwhile: {', '.join(sorted(each['worked'])) or 'nothing'}. Said:", ""]
        rows += [f"- {said} ({times} ×)" for said, times in each["said"].items()]
        rows += [f"- broken: {what} ({times} ×)" for what, times in Counter(each["broken"]).most_common(_LISTED)]
        rows += [f"- lost: {what}" for what in each["lost"]]
    return rows


async def suffered(folder: Path, case: str, seconds: float) -> Found:
    """One case: its outage of so many seconds under four sessions."""
    found = Found(case)
    try:
        with ExitStack() as stack:
            await _suffered(folder, stack, found, seconds)
    except Skipped as why:
        found.skipped = str(why)
    return found


class Skipped(Exception):
    """A case that can't be made here, and why."""


async def _suffered(folder: Path, stack: ExitStack, found: Found, seconds: float) -> None:
    world = stack.enter_context(CASES[found.case](folder))
    config = AppConfig.of(**{"data": folder / "data", **world.config})
    stock(config, [f"stock-{number}.txt" for number in range(4)])
    chosen = {f"CRAG_{name.upper()}": str(value) for name, value in world.config.items()}
    app = stack.enter_context(Supervised(folder, **chosen, **world.environment))
    ledger = Ledger()
    sessions = [_Session(app, kind, ledger, found) for kind in ("ask", "upload", "look", "setting")]
    try:
        await asyncio.gather(*(each.begin() for each in sessions))
        await asyncio.gather(*(each.act() for each in sessions))
        found.said.clear()
        found.worked.clear()
        before = len(app.said().splitlines())
        await asyncio.to_thread(world.take, app)
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            await asyncio.gather(*(each.act() for each in sessions))
            status, said = await asyncio.to_thread(app.health)
            found.health.append(f"{status} {said}")
            await asyncio.sleep(0.5)
        await asyncio.to_thread(world.give, app)
        given, waiting = time.monotonic(), set(sessions)
        kept = found.said.copy(), found.worked.copy()
        while waiting and time.monotonic() < given + 60:
            done = [each for each in waiting if await each.act()]
            waiting -= set(done)
        found.said, found.worked = kept
        found.recovered = -1.0 if waiting else time.monotonic() - given
        found.broken += [f"{each.kind}: still fails: {each.last}" for each in waiting]
        lines = Counter(re.sub(r"\d+", "#", line) for line in app.said().splitlines()[before:] if line.strip())
        found.repeated = max(lines.values(), default=0)
        found.broken += [f"in the log: {line}" for line in lines if line.startswith("Traceback")][:3]
    finally:
        await closed([each.tab for each in sessions])
    app.kill()
    found.lost = missing(config, ledger)


class _Session:
    """One tab that does one kind of work."""

    def __init__(self, app: Supervised, kind: str, ledger: Ledger, found: Found) -> None:
        self.tab, self.kind, self.ledger, self.found = Tab(app.url, patience=45), kind, ledger, found
        self.number, self.last = 0, ""

    async def begin(self) -> None:
        await self.tab.open({"upload": "documents", "setting": "settings"}.get(self.kind, ""))

    async def act(self) -> bool:
        """Once; whether it did what was wanted. What the page said is kept."""
        self.number += 1
        try:
            done, fine = await getattr(self, f"_{self.kind}")()
        except (Lost, Missing) as error:
            self.last = f"{self.kind}: {error}"
            self._keep(())
            if isinstance(error, Lost):
                self.found.broken.append(self.last)
            try:
                await self.tab.open(self.tab.page)
            except Lost as again:
                self.found.broken.append(f"{self.kind}: not to be opened again: {again}")
            return False
        self._keep(done.exceptions)
        if fine:
            self.found.worked[self.kind] += 1
        else:
            self.last = " ".join(self._said())
        return bool(fine)

    def _keep(self, exceptions: tuple[str, ...]) -> None:
        self.found.broken += [f"{self.kind}: {each}" for each in exceptions]
        self.found.said.update(f"{self.kind}: {said}" for said in self._said())

    def _said(self) -> list[str]:
        """Each message of a failure that stands on the page, in one line."""
        seen = self.tab.texts()
        boxes = [str(each.element.body) for each in self.tab.elements("alert") if each.element.format != 4]
        parts = [*boxes, *_FAILED.findall(seen), *_WORKED_AROUND.findall(seen)]
        told = [" ".join(_TAGS.sub(" ", part).replace("\\", "").replace("**", "").split())[:220] for part in parts]
        return [re.sub(r"file-\d+", "file-N", each) for each in dict.fromkeys(told) if each]

    async def _ask(self) -> tuple[Rerun, bool]:
        before = self.tab.query
        done = await self.tab.ask(f"How long did hiring take in 2019, asks {self.number}?")
        seen = self.tab.texts()
        fine = (
            self.tab.query != before
            and not done.errors
            and 'class="answer' in seen
            and "not in the history" not in seen
        )
        if fine:
            self.ledger.answered.add(self.tab.query.partition("run=")[2].partition("&")[0])
        return done, fine

    async def _upload(self) -> tuple[Rerun, bool]:
        name = f"file-{self.number}.txt"
        done = await self.tab.upload("Add documents", {name: text_of(name)})
        if fine := was_added(self.tab, name):
            self.ledger.added.add(name)
        return done, fine

    async def _look(self) -> tuple[Rerun, bool]:
        done = None
        fine = True
        for page in PAGES:
            done = await self.tab.open(page)
            fine = fine and not done.errors and not done.exceptions
            self._keep(done.exceptions)
        assert done is not None
        return done, fine

    async def _setting(self) -> tuple[Rerun, bool]:
        done = await save_setting(self.tab, 100 + self.number)
        return done, "Saved and in use" in self.tab.texts()


# The cases


@dataclass(slots=True)
class World:
    """What a case stands on: the app's configuration, and how it is taken away and given back."""

    take: Callable[[Supervised], None]
    give: Callable[[Supervised], None]
    config: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)


@contextmanager
def _small_disk(folder: Path) -> Iterator[Path]:
    """A file system of 48 MB as the data folder."""
    data = folder / "data"
    data.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "none", str(data)], capture_output=True)
    if mounted.returncode:
        raise Skipped("no file system can be mounted here")
    try:
        yield data
    finally:
        subprocess.run(["umount", "-l", str(data)], check=False)


@contextmanager
def _full(folder: Path) -> Iterator[World]:
    with _small_disk(folder) as data:
        ballast = data / "ballast"

        def take(_: Supervised) -> None:
            with ballast.open("wb", buffering=0) as file:
                try:
                    while file.write(bytes(4096)):
                        pass
                except OSError:
                    return

        yield World(take, lambda _: ballast.unlink())


@contextmanager
def _database(folder: Path) -> Iterator[World]:
    from tests.support.postgres_server import postgres_server

    try:
        server = postgres_server()
        running = server.__enter__()
    except BaseException as error:  # pytest's own way to skip is no Exception
        raise Skipped(str(error)) from error
    try:
        yield World(
            lambda _: running.stop("immediate"), lambda _: running.start(), {"database_url": running.url("postgres")}
        )
    finally:
        server.__exit__(None, None, None)


@contextmanager
def _milvus(folder: Path) -> Iterator[World]:
    try:
        from tests.support.milvus_server import MilvusServer
    except ImportError as error:
        raise Skipped(str(error)) from error
    with MilvusServer(folder / "milvus") as running:
        yield World(lambda _: running.kill(), lambda _: running.start(), {"index": "milvus", "milvus_uri": running.uri})


@contextmanager
def _clock(folder: Path) -> Iterator[World]:
    """The app's own modules and `time.time` are told another time; see `benchmarks.soak_app`."""
    said = folder / "clock"

    def set_to(seconds: int) -> None:
        said.write_text(str(seconds), encoding="utf-8")

    set_to(0)
    yield World(lambda _: set_to(-3600), lambda _: set_to(0), environment={"CRAG_SOAK_CLOCK": str(said)})


@contextmanager
def _files(folder: Path) -> Iterator[World]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)

    def take(app: Supervised) -> None:
        held = len(os.listdir(f"/proc/{app.pid}/fd"))
        resource.prlimit(app.pid, resource.RLIMIT_NOFILE, (held + 4, before[1]))

    yield World(take, lambda app: resource.prlimit(app.pid, resource.RLIMIT_NOFILE, before) and None)


CASES: dict[str, Callable[[Path], Any]] = {
    "disk full": _full,
    "database gone": _database,
    "Milvus gone": _milvus,
    "clock set back by an hour": _clock,
    "no more open files": _files,
}
