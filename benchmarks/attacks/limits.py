"""Many visitors at once: how much of what is dear happens at the same time, and what one of them may store."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.attacks.figure import Figure, main

VISITORS = 24


def questions_at_once() -> Figure:
    """Every visitor asks one question at the same moment; grading takes half a second."""
    from crag.core.config import AppConfig
    from crag.core.types import Grade, Passage
    from crag.engine import Engine

    lock, now, most = threading.Lock(), [0], [0]

    class Slow:
        id, calls_models = "slow", False

        def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            time.sleep(0.5)
            with lock:
                now[0] -= 1
            for passage in passages:
                yield Grade(passage_id=passage.id, score=0.5, evaluator=self.id)

        def grade_joint(self, question: str, passages: Sequence[Passage]) -> Grade:
            return Grade(passage_id="joint", score=0.5, evaluator=self.id)

    engine = Engine(AppConfig.of(data=Path(tempfile.mkdtemp())), evaluator=Slow())
    sample = engine.sample()
    for _ in engine.add(sample.pdf.name, sample.pdf.read_bytes()):
        pass
    with ThreadPoolExecutor(VISITORS) as pool:
        done = list(pool.map(lambda number: list(engine.ask(f"Who leads agency {number}?"))[-1], range(VISITORS)))
    value = f"{most[0]} ({len(done)} answered)"
    return Figure(finding=9, what=f"{VISITORS} questions at the same moment: worked on at once", value=value)


def readers_at_once() -> Figure:
    """Every visitor adds a file at the same moment; the reader's processes are counted."""
    from crag.core.config import AppConfig
    from crag.engine import Engine

    engine = Engine(AppConfig.of(data=Path(tempfile.mkdtemp())))
    sample = engine.sample()
    data, most, over = sample.pdf.read_bytes(), [0], threading.Event()
    engine.embedder.embed(["warm"])

    def watch() -> None:
        while not over.is_set():
            most[0] = max(most[0], _children())
            time.sleep(0.02)

    watcher = threading.Thread(target=watch)
    watcher.start()
    with ThreadPoolExecutor(VISITORS) as pool:
        ends: list[Any] = list(
            pool.map(lambda number: list(engine.add("a.pdf", data, f"visitor-{number}"))[-1], range(VISITORS))
        )
    over.set()
    watcher.join()
    added = sum(type(end).__name__ == "DocumentAdded" for end in ends)
    what = f"{VISITORS} files of 2 MB at the same moment: reader processes at once"
    return Figure(finding=9, what=what, value=f"{most[0]} ({added} added)")


def _children() -> int:
    """Processes that this one has started and that still run."""
    found = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            found += int(fields[1]) == os.getpid() and fields[0] != "Z"
    return found


def one_visitor_stores_without_end() -> Figure:
    """Files of 20 MB into one library, where the disk limit is set to 100 MB (earlier builds have none)."""
    os.environ["CRAG_ALL_MB"] = "100"
    from benchmarks.attacks.uploads import _pdf
    from crag.core.config import AppConfig
    from crag.engine import Engine

    folder = Path(tempfile.mkdtemp())
    engine = Engine(AppConfig.from_environment(data=folder))
    added, said = 0, ""
    for number in range(10):
        [*_, last] = engine.add(f"{number}.pdf", _pdf(number, mb=20))
        added += type(last).__name__ == "DocumentAdded"
        said = getattr(last, "message", said)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1024**2
    what = "10 files of 20 MB into one library, CRAG_ALL_MB=100: stored; on the disk"
    return Figure(finding=9, what=what, value=f"{added}; {size:,.0f} MB" + (f" («{said}»)" if said else ""))


if __name__ == "__main__":
    main([questions_at_once, readers_at_once, one_visitor_stores_without_end])
