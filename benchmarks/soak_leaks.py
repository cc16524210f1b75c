"""Two hundred private libraries, fifty of them at work at once: whether any word of one reaches anybody of another.

Each library has words of its own planted in a document's text and name, in a question with its answer, a label, and a
question set. Fifty sessions go through every page and ask; each also opens runs, comparisons and uploads of other
libraries by their ids, takes every file that a page offers, and whatever files it was told of. Beside them as many
programs ask `crag serve`, each with the token of one library, also for documents and runs of another by their ids. All
that anybody receives is searched for the words of all others, and no file's address may be told to two of them.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks.soak_app import engine
from benchmarks.soak_client import Lost, Tab
from benchmarks.soak_programs import Programs
from benchmarks.soak_served import Supervised
from crag.analysis.evaluate import add_set
from crag.analysis.questions.sets import Question, QuestionSet
from crag.core.config import AppConfig
from crag.core.protocols import RunRequest
from crag.storage.in_flight import InFlightJob
from crag.storage.private import name_of

GOAL = "0 leaks across 200 workspaces, 50 of them active, checked by planted words"

PAGES = ("documents", "tune", "compare", "evaluate", "settings")
_PLANTED = re.compile(rb"zq(\d{3})k")
_PAGE_OF = {"upload": "documents", "runs": "compare"}
"""Where an address with such a name leads; all others to Ask."""
_FILES = re.compile(rb"/files/[\w./%-]+")


def planted(number: int) -> str:
    """The word that only the library of this number holds."""
    return f"zq{number:03d}k"


@dataclass(slots=True)
class Planted:
    """One library: its key, and the ids of what lies in it."""

    number: int
    key: str
    run: str
    document: str

    @property
    def token(self) -> str:
        """What `crag serve` opens it by."""
        return f"token-of-{self.number:03d}"


@dataclass(slots=True)
class Heard:
    """What one session received."""

    size: int = 0
    own: int = 0
    foreign: list[str] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)

    def listen(self, number: int, data: bytes) -> None:
        """Search what came to the library of this number for planted words, and remember files that it tells of."""
        self.size += len(data)
        for found in _PLANTED.findall(data):
            if int(found) == number:
                self.own += 1
            else:
                self.foreign.append(f"library {number} received the word of {int(found)}")
        self.files.update(found.decode() for found in _FILES.findall(data))


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workspaces", type=int, default=200, help="leaks: private libraries")
    parser.add_argument("--active", type=int, default=50, help="leaks: sessions at once")
    parser.add_argument("--rounds", type=int, default=2, help="leaks: how often each goes through the pages")


async def measure(chosen: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="crag-leaks-") as folder:
        return await searched(Path(folder), chosen.workspaces, chosen.active, chosen.rounds)


def describe(figures: dict[str, Any]) -> list[str]:
    served = figures.get("requests", 0)
    programs = f" {served:,} requests to `crag serve`, a token for each library, every other one with ids of another."
    rows = [
        f"{figures['workspaces']} private libraries, {figures['active']} sessions at once, {figures['acts']} pages and "
        f"questions, {figures['forged']} addresses with another library's ids, {figures['files']} files fetched."
        f"{programs if served else ''} {figures['mb']:.0f} MB received and searched. Own planted words in it: "
        f"{figures['own']:,}. Words of others: **{len(figures['foreign'])}**.",
        "",
    ]
    return [*rows, *(f"- {each}" for each in (*figures["foreign"], *figures["problems"]))]


async def searched(folder: Path, workspaces: int, active: int, rounds: int) -> dict[str, Any]:
    """Plant, let the sessions work, and search all that they received."""
    libraries = plant(folder / "data", workspaces)
    heard = [Heard() for _ in range(active)]
    tokens = ",".join(f"{each.token}={name_of(each.key)}" for each in libraries[:active])
    with (
        Supervised(folder, CRAG_WORKSPACES="private") as app,
        Programs(folder / "data", folder / "programs.log", CRAG_TOKENS=tokens) as served,
    ):
        at_once = asyncio.Semaphore(10)  # all sessions stay open; so many are answered at a time
        sessions = [
            _Session(app.url, libraries[place], libraries[(place + 1) % workspaces], heard[place], at_once)
            for place in range(active)
        ]
        programs = [
            _Program(served.url, libraries[place], libraries[(place + 1) % active], heard[place], at_once)
            for place in range(active)
        ]
        try:
            await asyncio.gather(*(each.work(rounds) for each in sessions), *(each.work(rounds) for each in programs))
        finally:
            await asyncio.gather(*(each.tab.close() for each in sessions), return_exceptions=True)
        log = app.said() + served.said()
    told = Counter(path for each in heard for path in each.files)
    foreign = [f"session {place}: {what}" for place, each in enumerate(heard) for what in each.foreign]
    return {
        "workspaces": workspaces,
        "active": active,
        "acts": sum(each.acts for each in sessions),
        "forged": sum(each.forged for each in sessions),
        "files": sum(each.fetched for each in sessions),
        "requests": sum(each.requests for each in programs),
        "mb": sum(each.size for each in heard) / 1e6,
        "own": sum(each.own for each in heard),
        "foreign": foreign + [f"{path} was told to {count} sessions" for path, count in told.items() if count > 1],
        "problems": [problem for each in heard for problem in each.problems]
        + [f"in the log: {word.decode()}" for word in set(_PLANTED.findall(log.encode()))]
        + re.findall(r"Error executing deferred.*|^\w+(?:Error|Exception): .*", log, re.MULTILINE)[:5],
    }


def plant(data: Path, count: int) -> list[Planted]:
    """So many private libraries, each with its word wherever a person leaves words."""
    made = engine(AppConfig.of(data=data, workspaces="private", libraries=0, all_mb=0))
    found = []
    for number in range(count):
        word, key = planted(number), made.private_libraries.issue()
        workspace = name_of(key)
        text = (
            f"{word} says that hiring took {number} days in 2019.\n\nThe {word} report tells of harbour and ledger.\n"
        )
        for _ in made.add(f"{word}-report.txt", text.encode(), workspace):
            pass
        trace = made.trace(RunRequest(f"How long did hiring take, asks {word}?", workspace=workspace, via="app"))
        library = made.library(workspace)
        [document] = library.documents.all()
        [first, *_] = library.documents.chunks(document.id)
        library.documents.describe(document.id, {"tags": (f"tag {word}",)})
        library.labels.save(trace.question, first.id, "relevant")
        question = Question(id="1", question=f"What of {word}?", sources=(document.name,), pages=(1,))
        add_set(library, QuestionSet(name=f"set {word}", questions=(question,)))
        library.in_flight.start(
            InFlightJob(id=f"up{number}", kind="upload", label="1 file", names=(f"{word}-lost.txt",))
        )
        found.append(Planted(number=number, key=key, run=trace.run_id, document=document.id))
    made.close()
    return found


class _Listening(Tab):
    """A tab that keeps what it was sent."""

    heard: Heard
    number: int

    async def _receive(self, counts: Any = None) -> ForwardMsg:
        said = await super()._receive(counts)
        self.listen(said.SerializeToString())
        return said

    def listen(self, data: bytes) -> None:
        self.heard.listen(self.number, data)


class _Session:
    """One browser of one library, which also tries what belongs to another."""

    def __init__(self, url: str, own: Planted, other: Planted, heard: Heard, at_once: asyncio.Semaphore) -> None:
        self.tab, self.own, self.other, self.heard, self.at_once = _Listening(url), own, other, heard, at_once
        self.tab.heard, self.tab.number = heard, own.number
        self.acts = self.forged = self.fetched = 0

    async def work(self, rounds: int) -> None:
        try:
            await self._open("", f"run={self.own.run}")
            for turn in range(rounds):
                async with self.at_once:
                    await self.tab.open("", f"w={self.own.key}")
                    await self.tab.ask(f"How long did hiring take, asks {planted(self.own.number)} in turn {turn}?")
                self.acts += 2
                await self._files()
                for page in PAGES:
                    await self._open(page)
                    await self._files()
                await self._open("compare", f"runs={self.own.run},{self.other.run}")
                await self._files()
                for forged in (
                    f"run={self.other.run}",
                    f"run={self.other.run}&present=1",
                    f"upload=up{self.other.number}",
                    f"runs={self.other.run}",
                ):
                    await self._open(_PAGE_OF.get(forged.partition("=")[0], ""), forged)
                    self.forged += 1
            for path in sorted(self.heard.files)[:20]:
                answer = await self.tab.get(path)
                self.fetched += 1
                self.tab.listen(answer.content)
        except Lost as error:
            self.heard.problems.append(f"library {self.own.number}: {error}")
        if self.tab.exceptions:
            self.heard.problems += self.tab.exceptions[:3]

    async def _files(self) -> None:
        """Take every file that the page offers, in every format; again where the page was drawn anew."""
        for place, _ in enumerate(list(self.tab.elements("link_button"))):
            async with self.at_once:
                try:
                    answer = await self._file(place)
                except Lost:
                    await self.tab.rerun()
                    answer = await self._file(place)
            self.tab.listen(answer.content)
            self.fetched += 1

    async def _file(self, place: int) -> httpx.Response:
        """The file of the button that stands at this place now. Raises Lost where its page was drawn anew meanwhile."""
        answer = await self.tab.download(list(self.tab.elements("link_button"))[place])
        if answer.status_code == 404:
            raise Lost("the file is gone")
        return answer.raise_for_status()

    async def _open(self, page: str, query: str = "") -> None:
        async with self.at_once:
            await self.tab.open(page, "&".join(filter(None, (f"w={self.own.key}", query))))
        self.acts += 1


class _Program:
    """A program with the token of one library, which also tries what belongs to another."""

    def __init__(self, url: str, own: Planted, other: Planted, heard: Heard, at_once: asyncio.Semaphore) -> None:
        self.url, self.own, self.other, self.heard, self.at_once = url, own, other, heard, at_once
        self.requests = 0

    async def work(self, rounds: int) -> None:
        question = f"How long did hiring take, asks {planted(self.own.number)}?"
        headers = {"Authorization": f"Bearer {self.own.token}"}
        async with httpx.AsyncClient(base_url=self.url, headers=headers, timeout=120, trust_env=False) as client:
            for _ in range(rounds):
                for each in (self.own, self.other):
                    status = 200 if each is self.own else 404
                    await self._sent(client, "GET", f"/v1/documents/{each.document}", status)
                    await self._sent(client, "GET", f"/v1/runs/{each.run}", status)
                await self._sent(client, "DELETE", f"/v1/documents/{self.other.document}", 404)
                await self._sent(client, "GET", "/v1/documents", 200)
                await self._sent(client, "GET", f"/v1/documents?after={self.other.document}", 400)
                where = {"id": self.other.document}
                for more in ({}, {"where": {"name": {"!=": "none"}}}):
                    await self._sent(
                        client, "POST", "/v1/search", 200, {"query": "harbour and ledger", "k": 100, **more}
                    )
                await self._sent(client, "POST", "/v1/ask", 200, {"question": question})
                await self._sent(client, "POST", "/v1/ask", 404, {"question": question, "after": self.other.run})
                await self._sent(client, "POST", "/v1/ask", None, {"question": question, "where": where})
                await self._sent(
                    client, "POST", "/v1/ask", None, {"question": question, "documents": [self.other.document]}
                )

    async def _sent(
        self, client: httpx.AsyncClient, method: str, path: str, status: int | None, body: dict[str, Any] | None = None
    ) -> None:
        """`status`: the one that must come back; None: any but 200."""
        async with self.at_once:
            reply = await client.request(method, path, json=body)
        self.requests += 1
        self.heard.listen(self.own.number, reply.content)
        if reply.status_code != status if status else reply.status_code == 200:
            self.heard.problems.append(f"library {self.own.number}: {method} {path}: {reply.status_code}")
