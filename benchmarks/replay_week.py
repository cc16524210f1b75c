"""Four weeks of runs for the Monitor page: real questions asked for real, then stored as if over the weeks.

python -m benchmarks.replay_week FOLDER [--runs N] [--until 2026-11-22] [--pool FOLDER] [--data FOLDER]

FOLDER becomes the data folder of an app: `CRAG_DATA=FOLDER CRAG_PRICES=searxng=0/0/0.005 make run`. Its library holds
encyclopedia passages of Natural Questions (train) and reports of the United States government; the questions are those
of that set, under several strategies. The web is a SearXNG on loopback that finds passages by their words. Some hundred
runs are really made, and kept in --pool; N of them, drawn again and again, are stored at office hours of the four weeks
before the day --until, each with its own id and time. One day the web server is down, one day the questions are about
what the library does not hold, and in the last week a second evaluator's thresholds are tried.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from crag.core.config import AppConfig, Keys
from crag.core.events import Event, RunStarted, events_from_jsonl, events_to_jsonl
from crag.core.filters import Scope, narrow_filter
from crag.core.protocols import RunRequest
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from crag.engine import Engine
from crag.storage.library import Library

ROOT = Path(__file__).resolve().parent.parent
SEED = 18
DAYS = 28
OWN, FOREIGN = 260, 80
"""Questions whose passage is in the library, and such whose passage is not."""
A_FILE = 10
"""Passages in one document."""
REPORTS = (
    "us-agency-annual-performance-report-2019.pdf",
    "ntsb-20071229X02007.pdf",
    "ntsb-20080102X00002.pdf",
    "ntsb-20080104X00020.pdf",
)
ON_REPORTS = (
    "How many employees did the agency have?",
    "What was the retirement claims backlog at the end of the year?",
    "What caused the accident?",
    "How much flight experience did the pilot have?",
    "Which goals did the agency meet in 2019?",
    "What was the weather at the time of the accident?",
    "What share of hiring managers was satisfied with applicants?",
    "How long did processing a retirement claim take?",
    "Was the airplane inspected in the year before?",
    "What damage did the airplane sustain?",
)
OFTEN = {"balanced": 0.62, "paper": 0.2, "binary-any": 0.1, "plain-rag": 0.08}
"""The share of runs under each strategy."""
ASKERS = {"app": 0.7, "http": 0.18, "mcp": 0.08, "agent": 0.04}
TRIED = {"lower": 0.15, "upper": 0.6}
"""The thresholds that `balanced` is asked with in the last week, for some of its runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What a run of the pool is: `about` "own", "foreign" or "reports"; `down`: while the web server was."""

    about: str
    strategy: str
    down: bool = False
    tried: bool = False

    @property
    def name(self) -> str:
        return "-".join((self.about, self.strategy, *(["down"] * self.down), *(["tried"] * self.tried)))


Pool = Mapping[str, Sequence[Sequence[Event]]]


def main() -> int:
    options = arguments()
    source = options.data / "nq" / "train.jsonl"
    if not source.is_file():
        print(f"Skipped: no Natural Questions in {options.data}. Give --data or set CRAG_SHARED.", file=sys.stderr)
        return 2
    passages = read(source)
    pool_at = options.pool or options.folder / "pool"
    with searxng(passages) as web:
        config = AppConfig.of(data=pool_at / "data", web="searxng", searxng_base_url=web.address, web_cache_hours=0)
        engine = Engine(config, Keys())
        try:
            library = engine.library()
            if not library.exists:
                filled(engine, passages[:OWN], options.data)
            pool = asked(engine, web, passages, pool_at)
        finally:
            engine.close()
    target = options.folder / "workspaces" / "default"
    stored = spread(pool, pool_at / "data" / "workspaces" / "default", target, options.runs, options.until)
    print(f"{sum(stored.values()):,} runs of {len(stored)} days in {options.folder}, {min(stored)} to {max(stored)}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    data = Path(os.environ.get("CRAG_SHARED", ROOT.parent / "shared")) / "data"
    parser.add_argument("folder", type=Path, help="the data folder that is made")
    parser.add_argument("--runs", type=int, default=1_800, help="so many are stored")
    parser.add_argument("--until", type=date.fromisoformat, default=datetime.now(UTC).date(), help="the last day")
    parser.add_argument("--pool", type=Path, help="where the runs that were really made are kept")
    parser.add_argument("--data", type=Path, default=data, help="the shared data folder")
    return parser.parse_args()


@dataclass(frozen=True, slots=True)
class Passage:
    """A question and the passage that answers it."""

    question: str
    title: str
    text: str


def read(source: Path) -> list[Passage]:
    """Passages of Natural Questions in a fixed random order, one a title."""
    rows = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    golds = [(row["question"], row["nq_annotated_gold"]) for row in rows]
    found = {gold["title"]: Passage(asked, gold["title"], gold["long_answer"]) for asked, gold in golds}
    order = np.random.default_rng(SEED).permutation(len(found))
    every = [each for each in found.values() if 120 < len(each.text) < 3_000]
    return [every[place] for place in order if place < len(every)]


# The web


class Searxng(ThreadingHTTPServer):
    """A search by words over passages, in SearXNG's form; `down`: it refuses, as one does whose engines are gone."""

    daemon_threads = True

    def __init__(self, passages: Sequence[Passage]) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.down = False
        self._passages = [(each, _words(f"{each.title} {each.text}")) for each in passages]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def found(self, query: str) -> list[dict[str, str]]:
        wanted = _words(query)
        best = sorted(self._passages, key=lambda each: -len(wanted & each[1]))[:5]
        return [
            {
                "url": f"https://example.org/{hashlib.sha256(each.title.encode()).hexdigest()[:10]}",
                "title": each.title,
                "content": each.text,
            }
            for each, its in best
            if len(wanted & its) > 1
        ]


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in re.findall(r"[a-z0-9]+", text.lower()) if len(word) > 3)


class _Answering(BaseHTTPRequestHandler):
    server: Searxng

    def do_GET(self) -> None:
        if self.server.down:
            self.send_error(503)
            return
        query = parse_qs(urlsplit(self.path).query).get("q", [""])[0]
        body = json.dumps({"results": self.server.found(query), "unresponsive_engines": []}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *about: Any) -> None:
        return


@contextmanager
def searxng(passages: Sequence[Passage]) -> Iterator[Searxng]:
    server = Searxng(passages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


# What is really asked


def filled(engine: Engine, passages: Sequence[Passage], data: Path) -> None:
    """Puts the passages, some to a document, and the reports into the library, each kind with its tag."""
    files = []
    for at in range(0, len(passages), A_FILE):
        text = "\n\n".join(f"{each.title}\n\n{each.text}" for each in passages[at : at + A_FILE])
        files.append((f"encyclopedia-{at // A_FILE + 1:02}.txt", lambda text=text: text.encode()))
    files += [(name, (data / "public_domain" / name).read_bytes) for name in REPORTS]
    for event in engine.add_files(files):
        print(f"  {event.kind}: {getattr(event, 'name', '')}", file=sys.stderr, end="\r")
    library = engine.library()
    for document in library.documents.all():
        tag = "encyclopedia" if document.name.startswith("encyclopedia") else "reports"
        library.documents.describe(document.id, {"tags": [tag]})


def asked(engine: Engine, web: Searxng, passages: Sequence[Passage], pool_at: Path) -> Pool:
    """Runs of every kind; those that were kept are read."""
    own = [each.question for each in passages[:OWN]]
    foreign = [each.question for each in passages[OWN : OWN + FOREIGN]]
    work = {
        Kind(about="own", strategy="balanced"): own,
        Kind(about="foreign", strategy="balanced"): foreign,
        Kind(about="own", strategy="paper"): own[:100],
        Kind(about="foreign", strategy="paper"): foreign[:30],
        Kind(about="own", strategy="binary-any"): own[100:160],
        Kind(about="own", strategy="plain-rag"): own[160:200],
        Kind(about="own", strategy="balanced", tried=True): own[:80],
        Kind(about="reports", strategy="balanced"): ON_REPORTS,
        Kind(about="own", strategy="balanced", down=True): own[200:240],
        Kind(about="foreign", strategy="balanced", down=True): foreign[:40],
    }
    pool = {}
    for kind, questions in work.items():
        place = pool_at / kind.name
        if not place.is_dir():
            web.down = kind.down
            draft = pool_at / f"{kind.name}.draft"
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(parents=True)
            for number, question in enumerate(questions):
                events = run(engine, question, kind)
                (draft / f"{number:03}.jsonl").write_text(events_to_jsonl(events), encoding="utf-8")
            draft.rename(place)
            print(f"  {kind.name}: {len(questions)} asked", file=sys.stderr)
        pool[kind.name] = [events_from_jsonl(each.read_text(encoding="utf-8")) for each in sorted(place.iterdir())]
    return pool


def run(engine: Engine, question: str, kind: Kind) -> list[Event]:
    settings = STRATEGIES[kind.strategy].settings.changed(verify=True)
    if kind.tried:
        settings = settings.changed(**TRIED)
    if kind.about == "reports":
        settings = settings.changed(where=narrow_filter(settings.where, Scope(tags=("reports",))))
    return list(engine.ask(RunRequest(question, kind.strategy, settings=settings, via="app")))


# What is stored


def spread(pool: Pool, source: Path, target: Path, runs: int, until: date) -> Counter[date]:
    """Stores that many runs over the days before and on `until`, into a copy of the library; how many each day."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    random = np.random.default_rng(SEED)
    days = [until - timedelta(days=DAYS - 1 - back) for back in range(DAYS)]
    weights = np.array([0.25 if day.weekday() >= 5 else 1.0 for day in days]) * random.uniform(0.8, 1.2, DAYS)
    weights[-1] *= 0.6  # the day is not over
    counts = random.multinomial(runs, weights / weights.sum())
    down, drifted = DAYS - 13, DAYS - 5
    made: Counter[date] = Counter()
    with Library(target, NoEmbedder()) as library:
        for id in library.runs.ids():
            library.runs.delete(id)
        for place, (day, count) in enumerate(zip(days, counts, strict=True)):
            moments = sorted(random.normal(13.5, 2.6, count).clip(6, 22) * 3600)
            for moment in moments:
                kind = _kind(random, last=place >= DAYS - 7, down=place == down, drifted=place >= drifted)
                events = pool[kind][int(random.integers(len(pool[kind])))]
                at = datetime.combine(day, time(), UTC) + timedelta(seconds=float(moment))
                store(library, events, at, random)
                made[day] += 1
    return made


def _kind(random: np.random.Generator, *, last: bool, down: bool, drifted: bool) -> str:
    """What kind of run comes next, on a day that is as said."""
    strategy = str(random.choice(list(OFTEN), p=list(OFTEN.values())))
    foreign = random.random() < (0.6 if drifted else 0.1)
    if down:
        return Kind(about="foreign" if foreign else "own", strategy="balanced", down=True).name
    if strategy == "balanced" and not foreign and random.random() < 0.1:
        return Kind(about="reports", strategy="balanced").name
    if foreign and strategy in ("balanced", "paper"):
        return Kind(about="foreign", strategy=strategy).name
    tried = last and strategy == "balanced" and random.random() < 0.4
    return Kind(about="own", strategy=strategy, tried=tried).name


def store(library: Library, events: Sequence[Event], at: datetime, random: np.random.Generator) -> None:
    """The run as if it had begun then, asked through one of the ways in."""
    first, *rest = events
    assert isinstance(first, RunStarted)
    moved = replace(
        first,
        run_id=random.bytes(16).hex(),
        workspace="default",
        started_at=at.isoformat(timespec="milliseconds"),
        via=str(random.choice(list(ASKERS), p=list(ASKERS.values()))),
    )
    library.runs.save(Trace.from_events([moved, *rest]), [moved, *rest])


class NoEmbedder:
    """Stands where nothing is searched."""

    id, dimension = "none", 384

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        raise AssertionError("nothing is embedded here")


if __name__ == "__main__":
    sys.exit(main())
