"""The app is killed again and again while sessions ask, upload, delete, label and save settings.

Each session is a WebSocket client that reconnects as a browser does: with the id of its session, which the new process
does not know, and with its address. What it saw finished or added must be in the library ever after. What it was in the
middle of must be there too, or be told as cut off: the run with its question, the upload with the files to be added
again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.soak_app import engine
from benchmarks.soak_client import Lost, Missing, Rerun, Tab
from benchmarks.soak_served import Supervised
from benchmarks.soak_world import closed
from crag.core.config import AppConfig
from crag.core.errors import CragError

GOAL = "every browser finds its run or its upload again or is told what was lost; nothing that was confirmed is lost"

CUT_OFF = "The program ended in the middle of this run."
UPLOAD_CUT_OFF = "CRAG Explorer stopped while working on"
WORK = ("ask", "ask", "ask", "ask", "ask", "upload", "upload", "delete", "label", "setting")
"""What each of ten sessions does, again and again."""
_FILES = 3
_PAUSE = {"setting": 3.0, "delete": 3.0, "upload": 1.0}
"""Seconds between two acts of what is done in a moment, else 0.2: so that a kill waits for runs and labels too."""


@dataclass(slots=True)
class Ledger:
    """What sessions were told is done, and what became of what they were in the middle of."""

    answered: set[str] = field(default_factory=set)
    added: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    labels: set[tuple[str, str]] = field(default_factory=set)
    setting: int = 0
    """The value that was confirmed last, and how many were."""
    settings: int = 0
    acts: int = 0
    found: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def count(self, what: str) -> None:
        self.found[what] = self.found.get(what, 0) + 1


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kills", type=int, default=20, help="kills: how often the app is killed")
    parser.add_argument("--kill-seconds", type=float, default=15.0, help="kills: work before a kill, at most")


async def measure(chosen: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="crag-kills-") as folder:
        return await killed(Path(folder), chosen.kills, chosen.kill_seconds)


def describe(figures: dict[str, Any]) -> list[str]:
    met = figures["kills"] >= 20 and not figures["lost"] and not figures["problems"]
    rows = [
        f"Killed {figures['kills']} times with SIGKILL while {figures['sessions']} sessions worked; "
        f"{figures['acts']} acts, of which were confirmed: {figures['answered']} runs, {figures['added']} documents "
        f"added, {figures['deleted']} deleted, {figures['labels']} labels, {figures['settings']} settings.",
        "",
        f"Confirmed and lost: **{len(figures['lost'])}**. Sessions that found neither their work nor a word of it: "
        f"**{len(figures['problems'])}**. {'Goal met.' if met else 'Goal missed.'}",
        "",
        "| what a session in the middle of something found when it came back | times |",
        "|---|---|",
    ]
    rows += [f"| {what} | {times} |" for what, times in sorted(figures["found"].items())]
    return [*rows, *(f"- lost: {each}" for each in figures["lost"]), *(f"- {each}" for each in figures["problems"])]


async def killed(
    folder: Path, kills: int, seconds: float, work: tuple[str, ...] = WORK, seed: int = 3
) -> dict[str, Any]:
    """Kill the app so often; what was confirmed, found again, and lost."""
    chance, ledger = random.Random(seed), Ledger()
    config = AppConfig.of(data=folder / "data")
    stock(config, [f"stock-{number}.txt" for number in range(3 * kills + 3)])
    with Supervised(folder, CRAG_SOAK_GRADE="0.5") as app:
        sessions = [_Session(app.url, kind, place, ledger) for place, kind in enumerate(work)]
        try:
            await asyncio.gather(*(each.open() for each in sessions))
            for _ in range(kills):
                working = [asyncio.create_task(each.work()) for each in sessions]
                await _until(ledger, ledger.acts + chance.randint(1, len(work)), seconds)
                await asyncio.sleep(chance.uniform(0, 1))
                app.kill()
                await asyncio.gather(*working)
                await asyncio.to_thread(app.start)
                await asyncio.gather(*(each.come_back() for each in sessions))
        finally:
            await closed([each.tab for each in sessions])
    lost = missing(config, ledger)
    return {
        "kills": kills,
        "sessions": len(work),
        "acts": ledger.acts,
        "answered": len(ledger.answered),
        "added": len(ledger.added),
        "deleted": len(ledger.deleted),
        "labels": len(ledger.labels),
        "settings": ledger.settings,
        "found": ledger.found,
        "lost": lost,
        "problems": ledger.problems,
    }


async def _until(ledger: Ledger, acts: int, seconds: float) -> None:
    """Wait for so many acts in all, but no longer than so many seconds."""
    ends = time.monotonic() + seconds
    while ledger.acts < acts and time.monotonic() < ends:
        await asyncio.sleep(0.05)


def stock(config: AppConfig, names: list[str]) -> None:
    """A library of small files."""
    opened = engine(config)
    for _ in opened.add_files([(name, lambda name=name: text_of(name)) for name in names]):  # type: ignore[misc]
        pass
    opened.close()


def text_of(name: str) -> bytes:
    """A file of a page that says its name."""
    return (
        f"{name} tells of hiring.\n\nHiring took eighty days in 2019, says {name}. In 2018 it took ninety.\n".encode()
    )


def missing(config: AppConfig, ledger: Ledger) -> list[str]:
    """What was confirmed and is not in the library."""
    opened = engine(config)
    try:
        library = opened.library()
        names = {document.name for document in library.documents.all()}
        held = {(label.question, label.chunk_id) for label in library.labels.all()}
        chunks = {chunk.id for document in library.documents.all() for chunk in library.documents.chunks(document.id)}
        whole = {run for run in library.runs.ids() if library.runs.trace(run).answer is not None}
        lost = [f"document {name}" for name in sorted(ledger.added - names)]
        lost += [f"deletion of {name}" for name in sorted(ledger.deleted & names)]
        # With a document go the labels of its chunks.
        lost += [f"label {each}" for each in sorted(ledger.labels - held) if each[1] in chunks]
        lost += [f"answer of run {run}" for run in sorted(ledger.answered - whole)]
        if differences := library.verify():
            lost.append(f"the index differs from the records: {differences}")
    except CragError as error:
        return [str(error)]
    finally:
        opened.close()
    settings = config.storage.data / "settings.json"
    if ledger.setting and json.loads(settings.read_text(encoding="utf-8"))["run_calls"] < ledger.setting:
        lost.append(f"setting {ledger.setting}")
    return lost


class _Session:
    """One browser tab that does one kind of work, and looks for it after a kill."""

    def __init__(self, url: str, kind: str, place: int, ledger: Ledger) -> None:
        self.tab, self.kind, self.place, self.ledger = Tab(url), kind, place, ledger
        self.number, self.before = 0, ""
        self.begun: tuple[str, ...] = ()
        """What it is in the middle of: the files of an upload, or the question."""

    async def open(self) -> None:
        page = {"upload": "documents", "delete": "documents", "setting": "settings"}.get(self.kind, "")
        await self.tab.open(page)

    async def work(self) -> None:
        """Until the connection is lost."""
        try:
            while True:
                self.number += 1
                await getattr(self, f"_{self.kind}")()
                self.ledger.acts += 1
                self.begun = ()
                await asyncio.sleep(_PAUSE.get(self.kind, 0.2))
        except Lost:
            return
        except Missing as error:
            self.ledger.problems.append(f"{self.kind}: {error}")

    async def come_back(self) -> None:
        """Reconnect, and look for what was under way."""
        begun, self.begun = self.begun, ()
        for attempt in range(20):
            try:
                await self.tab.reconnect()
                break
            except Lost:
                if attempt == 19:
                    raise
                await asyncio.sleep(0.5)
        seen = self.tab.texts()
        if self.tab.exceptions:
            self.ledger.problems += [f"{self.kind}: {each}" for each in self.tab.exceptions]
            self.tab.exceptions.clear()
        if begun and self.kind == "ask":
            self._look_for_run(begun[0], seen)
        elif begun and self.kind == "upload":
            self._look_for_files(begun, seen)

    def _look_for_run(self, question: str, seen: str) -> None:
        run = _run(self.tab)
        if question not in seen.replace("\\", ""):
            self.ledger.count("run: killed before it started; the page is as it was before")
        elif CUT_OFF in seen:
            self.ledger.count("run: said to be cut off, with its question")
        elif run and run != self.before:
            self.ledger.count("run: found with its answer")
            self.ledger.answered.add(run)
        elif run == self.before:
            self.ledger.count("run: cut off before the browser knew of it; its question is among the past ones")
        else:
            self.ledger.problems.append(f"run: {question} is neither there nor told of")

    def _look_for_files(self, names: tuple[str, ...], seen: str) -> None:
        said = " ".join(str(each.element.body) for each in self.tab.elements("alert")).replace("\\", "")
        if any(name in said for name in names):
            self.ledger.count("upload: said to be cut off, and which files to add again")
            self.ledger.added.update(name for name in names if name not in said)
        elif UPLOAD_CUT_OFF in seen and f"{len(names)} were stored by then" in said:
            self.ledger.count("upload: said to be cut off, all its files stored")
        else:
            self.ledger.count("upload: killed while the files were sent, or after the last was stored")

    async def _ask(self) -> None:
        question = f"How long did hiring take in 2019, asks {self.place}-{self.number}?"
        self.before, self.begun = _run(self.tab), (question,)
        done = await self.tab.ask(question)
        if _run(self.tab) != self.before and not done.errors and 'class="answer' in self.tab.texts():
            self.ledger.answered.add(_run(self.tab))

    async def _upload(self) -> None:
        names = tuple(f"file-{self.place}-{self.number}-{part}.txt" for part in range(_FILES))
        self.begun = names
        await self.tab.upload("Add documents", {name: text_of(name) for name in names})
        self.ledger.added.update(name for name in names if was_added(self.tab, name))

    async def _delete(self) -> None:
        name = f"stock-{self.number}.txt"
        await self.tab.type("Search", name)
        if not self._asks_to_delete(name):
            self.ledger.problems.append(f"delete: {name} is not found")
            return
        done = await self.tab.press("Delete")
        if not done.errors and not self._asks_to_delete(name):
            self.ledger.deleted.add(name)

    def _asks_to_delete(self, name: str) -> bool:
        return f"Delete **{name}**" in self.tab.texts().replace("\\", "")

    async def _label(self) -> None:
        question = f"How long did hiring take in 2019, asks {self.place}-{self.number}?"
        await self.tab.ask(question)
        if found := re.findall(r'label:relevant:([^"]+)"', self.tab.texts()):
            done = await _pick(self.tab, f"label:relevant:{found[0]}", self.number)
            pressed = rf'label:relevant:{found[0]}"[^>]*aria-pressed="true"'
            if done and not done.errors and re.search(pressed, self.tab.texts()):
                self.ledger.labels.add((question, found[0]))

    async def _setting(self) -> None:
        value = 100 + self.number
        await save_setting(self.tab, value)
        if "Saved and in use" in self.tab.texts():
            self.ledger.setting, self.ledger.settings = value, self.ledger.settings + 1


async def save_setting(tab: Tab, calls: int) -> Rerun:
    """Save another number of calls for a run, on the Settings page."""
    field = tab.find("number_input", "Calls in a run").element
    save = next(each.element for each in tab.elements("button") if each.element.label == "Save")
    return await tab._run(
        WidgetState(id=field.id, double_value=float(calls)), WidgetState(id=save.id, trigger_value=True)
    )


def was_added(tab: Tab, name: str) -> bool:
    """Whether the page says that a file is in the library now."""
    return any(name in line and "Added:" in line for line in tab.texts().replace("\\", "").splitlines())


async def _pick(tab: Tab, pick: str, number: int) -> Rerun | None:
    """A click on what is drawn, as the page's script tells it."""
    for each in list(tab.elements("bidi_component")):
        if each.element.component_name == "crag_picker":
            return await tab._run(WidgetState(id=each.element.id, json_value=json.dumps({"pick": [[number, pick]]})))
    return None


def _run(tab: Tab) -> str:
    return parse_qs(tab.query).get("run", [""])[0]
