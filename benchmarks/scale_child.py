"""One step of benchmarks.scale in a process of its own, so that its memory is that of one side alone.

python -m benchmarks.scale_child build|search|add SIDE CHUNKS PLACE CACHE prints one JSON object.

`build` fills PLACE. `search` opens it, asks all questions (fewer where they take too long) and changes nothing. `add`
adds documents of 1,000 chunks one by one, and searches for each; it is given a copy of what was built.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.scale_chunks import MadeDocument, Maker
from benchmarks.scale_plan import Plan
from benchmarks.scale_sides import SIDES, Asked, Searched
from benchmarks.scale_sources import Sources
from crag.index.chunk_index import Contents, Numbers
from crag.retrieval.ranking import question_terms

SECONDS = 150.0
"""Timed searches of one side end after so long; at least LEAST are made."""
LEAST, WARM = 30, 5
PROBE_WORDS = 8
_GROUP = 32
"""Documents given at once when a library is built."""
_COMMIT = 100_000
"""Chunks after which a build commits."""
_MB = 1024.0
CONTENTS = Contents(library="0" * 32, model="multilingual-e5-small-int8-1/scale", dimension=384)


def build(side: Searched, documents: Iterator[MadeDocument]) -> dict[str, Any]:
    """Seconds, of which making the documents is none, and memory. Ends with a search, which may write a cache."""
    before = memory()
    seconds, waiting, generation, took = 0.0, 0, 0, time.perf_counter
    last: list[MadeDocument] = []
    while some := list(islice(documents, _GROUP)):
        last = some
        waiting += sum(len(document.batch.numbers) for document in some)
        began = took()
        side.add(some)
        if waiting >= _COMMIT:
            generation, waiting = generation + 1, 0
            side.commit(generation)
        seconds += took() - began
    began = took()
    side.commit(generation + 1)
    side.find(_probe(last[-1]))
    filled = memory()
    side.close()
    seconds += took() - began
    return {"seconds": round(seconds, 2), "memory": _higher(filled, memory()) | {"before": before["resident"]}}


def search(opened: Any, plan: Plan, chunks: int) -> dict[str, Any]:
    """`opened` opens the side. Times in seconds; memory in MB."""
    before = memory()
    began = time.perf_counter()
    side: Searched = opened()
    side.find(plan.asked[0])
    first = time.perf_counter() - began
    assert side.size == chunks, f"{side.size} chunks, not {chunks}: build it again"
    loaded = memory()
    for asked in plan.asked[-WARM:]:
        side.find(asked)
    clock, processor = _timed(side, plan.asked)
    after = memory()
    found = [side.nearest(asked) for asked in plan.asked[: len(clock)]]
    side.close()
    return {
        "open": round(first, 3),
        "searches": len(clock),
        "p50": _quantile(clock, 50),
        "p95": _quantile(clock, 95),
        "processor p50": _quantile(processor, 50),
        "recall": round(recall(found, plan.exact), 4),
        "memory": after | {"before": before["resident"], "loaded": loaded["resident"]},
    }


def add(side: Searched, plan: Plan) -> dict[str, Any]:
    """The medians of seconds to add and commit a document, and to find it then."""
    side.find(plan.asked[0])
    adding, finding = [], []
    for generation, document in enumerate(plan.added, start=1_000_000):
        probe = _probe(document)
        began = time.perf_counter()
        side.add([document])
        side.commit(generation)
        added = time.perf_counter()
        side.find(probe)
        finding.append(time.perf_counter() - added)
        adding.append(added - began)
        # A library's ranking may rightly put documents first that a question names; by its vector a chunk is found.
        assert document.batch.numbers[_middle(document)] in side.nearest(probe), "what was added was not found"
    filled = memory()
    side.close()
    both = np.add(adding, finding)
    return {
        "documents": len(both),
        "seconds": _quantile(both, 50),
        "adding": _quantile(adding, 50),
        "finding": _quantile(finding, 50),
        "memory": _higher(filled, memory()),
    }


def recall(found: Sequence[Numbers], exact: NDArray[np.int64]) -> float:
    """The share of the exact nearest chunks that were found, over the first len(found) questions."""
    return float(np.mean([np.isin(exact[place], numbers).mean() for place, numbers in enumerate(found)]))


def memory() -> dict[str, float]:
    """MB now: all resident, of them anonymous (the rest are files), and the peak of all; of child processes too."""
    found = dict.fromkeys(("resident", "anonymous", "peak"), 0.0)
    for process in _tree("self"):
        lines = Path("/proc", process, "status").read_text(encoding="utf-8").splitlines()
        said = dict(line.split(":", 1) for line in lines)
        for name, key in (("resident", "VmRSS"), ("anonymous", "RssAnon"), ("peak", "VmHWM")):
            found[name] += round(int(said.get(key, "0").split()[0]) / _MB, 1)  # none of a process that has ended
    return found


def _higher(filled: dict[str, float], closed: dict[str, float]) -> dict[str, float]:
    """As it was while open, with the peak of both: closing may still work, and ends child processes."""
    return filled | {"peak": max(filled["peak"], closed["peak"])}


def _tree(process: str) -> Iterator[str]:
    """The process and all below it. Linux only."""
    yield process
    for file in Path("/proc", process, "task").glob("*/children"):
        for child in file.read_text(encoding="utf-8").split():
            yield from _tree(child)


def _timed(side: Searched, questions: Sequence[Asked]) -> tuple[list[float], list[float]]:
    clock: list[float] = []
    processor: list[float] = []
    for asked in questions:
        began, worked = time.perf_counter(), time.process_time()
        side.find(asked)
        clock.append(time.perf_counter() - began)
        processor.append(time.process_time() - worked)
        if sum(clock) > SECONDS and len(clock) >= LEAST:
            break
    return clock, processor


def _probe(document: MadeDocument) -> Asked:
    """What asks for the chunk in a document's middle."""
    place = _middle(document)
    text = document.batch.texts[place]
    words = question_terms(text)[:PROBE_WORDS]
    return Asked(" ".join(words), words, document.batch.vectors[place])


def _middle(document: MadeDocument) -> int:
    return len(document.batch.numbers) // 2


def _quantile(values: Sequence[float] | NDArray[np.float64], percent: int) -> float:
    return round(float(np.percentile(values, percent)), 5)


def main() -> None:
    step, name, chunks, place, cache = sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]), Path(sys.argv[5])

    def opened() -> Searched:
        return SIDES[name].opened(place, CONTENTS)

    match step:
        case "build":
            sources = Sources.load(cache)
            assert sources is not None
            said = build(opened(), Maker(sources).documents(chunks))
        case "search":
            said = search(opened, Plan.load(cache / f"plan-{chunks}.pickle"), chunks)
        case "add":
            said = add(opened(), Plan.load(cache / f"plan-{chunks}.pickle"))
        case _:
            raise SystemExit(f"{step} is none of build, search, add")
    print(json.dumps(said))


if __name__ == "__main__":
    main()
