"""Ten chunks graded by a language model whose server takes half a second a call, and what one would write instead.

python -m benchmarks.providers [--repeats 5] [--cold 5] [--seconds 0.5]

The server speaks chat completions on loopback, in a process of its own. Ours: `LlmEvaluator` over `ChatModel`, as the
engine uses them. Instead: `ChatOpenAI(...).with_structured_output(...)` of langchain-openai with `batch`, and with
`batch_as_completed`, against the same server. Warm: one process, each way in turn, clients kept from turn to turn.
Cold: each in a fresh process, from its first import.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Nothing of the product is imported up here: a cold call is timed with its imports.

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "providers.md"
SECONDS, GOAL, GOAL_PARALLEL = 0.5, 1.2, 8
"""Of one call; for all grades, with so many calls at once."""
PARALLEL = (1, 4, 8, 16)
CHUNKS = 10
QUESTION = "How long did it take to hire somebody in 2019?"
TEXT = " ".join(f"Part {part} of this chapter begins with the year before. It took eighty days." for part in range(8))
INSTRUCTIONS = "Judge whether the text answers the question: a reason, and a score from 0 to 1."
GRADE = '{"reason": "It states the number of days outright.", "score": 0.7}'
ENVIRONMENT = {"LANGSMITH_TRACING": "false", "NO_PROXY": "127.0.0.1"}

Grading = Callable[[], Iterator[float]]
"""Begins ten grades and yields their scores as they arrive."""
Figures = dict[str, float]
"""Seconds from the call to the first grade and to all, processor time of this process, and what came before."""


# ---- the server ----------------------------------------------------------------------------------------------------


async def serve(seconds: float) -> None:
    """Answers until the process is ended. The first line on standard output is the port."""
    load = {"open": 0, "most": 0, "calls": 0}

    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                await reader.readexactly(_length(head))
                if head.startswith(b"GET"):
                    reply = json.dumps(load)
                    load["most"] = load["calls"] = 0
                else:
                    load["open"] += 1
                    load["calls"] += 1
                    load["most"] = max(load["most"], load["open"])
                    await asyncio.sleep(seconds)
                    load["open"] -= 1
                    reply = COMPLETION
                data = reply.encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
                writer.write(f"Content-Length: {len(data)}\r\n\r\n".encode() + data)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answered, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def _length(head: bytes) -> int:
    """The body's length by the header of a request; 0 where it has none."""
    found = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return int(found[0].partition(b":")[2]) if found else 0


COMPLETION = json.dumps(
    {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "half-a-second",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": GRADE}}],
        "usage": {"prompt_tokens": 300, "completion_tokens": 20, "total_tokens": 320},
    }
)


@contextmanager
def serving(seconds: float) -> Iterator[str]:
    """The address of a running server."""
    command = [sys.executable, "-m", "benchmarks.providers", "--serve", "--seconds", str(seconds)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.terminate()
        process.wait()


def most_at_once(address: str) -> int:
    """The most calls that were open together, and begins to count anew. Ends the program if there were not ten."""
    with urllib.request.urlopen(f"{address}/load") as reply:
        load: dict[str, int] = json.load(reply)
    if load["calls"] != CHUNKS:
        raise SystemExit(f"{load['calls']} calls reached the server instead of {CHUNKS}")
    return load["most"]


# ---- the ways ------------------------------------------------------------------------------------------------------


def ours(address: str, parallel: int) -> Grading:
    from crag.core.types import Passage
    from crag.evaluation.llm import LlmEvaluator
    from crag.providers.chat import ChatModel
    from crag.providers.endpoint import Endpoint
    from crag.runtime.usage import UsageTracker

    endpoint = Endpoint(provider="openai-compatible", model="half-a-second", base_url=address)
    model = ChatModel(endpoint, parallel=parallel)
    passages = [Passage(id=str(place), text=f"{place}. {TEXT}") for place in range(CHUNKS)]

    def grading() -> Iterator[float]:
        for grade in LlmEvaluator(model.metered(UsageTracker())).grade(QUESTION, passages):
            yield -1.0 if grade.score is None else grade.score

    return grading


def batch(address: str, parallel: int) -> Grading:
    chain, inputs = _structured(address)

    def grading() -> Iterator[float]:
        for found in chain.batch(inputs, config={"max_concurrency": parallel}):
            yield found.score

    return grading


def as_completed(address: str, parallel: int) -> Grading:
    chain, inputs = _structured(address)

    def grading() -> Iterator[float]:
        for _, found in chain.batch_as_completed(inputs, config={"max_concurrency": parallel}):
            yield found.score

    return grading


def _structured(address: str) -> tuple[Any, list[Any]]:
    from langchain_openai import ChatOpenAI
    from pydantic import BaseModel

    class Relevance(BaseModel):
        reason: str
        score: float

    model = ChatOpenAI(model="half-a-second", base_url=address, api_key="none", temperature=0)  # type: ignore[arg-type]
    texts = [f"Question: {QUESTION}\n\nText: {place}. {TEXT}" for place in range(CHUNKS)]
    return model.with_structured_output(Relevance), [[("system", INSTRUCTIONS), ("human", text)] for text in texts]


WAYS: dict[str, Callable[[str, int], Grading]] = {"ours": ours, "batch": batch, "as completed": as_completed}
SHOWN = {
    "ours": "`LlmEvaluator`",
    "batch": "langchain-openai, `batch`",
    "as completed": "langchain-openai, `batch_as_completed`",
}


# ---- the measurement -----------------------------------------------------------------------------------------------


def timed(grading: Grading) -> Figures:
    """When grades arrived, and the processor time it took. Ends the program where one of ten failed."""
    began, worked = time.perf_counter(), time.process_time()
    arrived = []
    for score in grading():
        arrived.append(time.perf_counter() - began)
        if score != 0.7:
            raise SystemExit(f"a grade of {score} is not what the server sent")
    if len(arrived) != CHUNKS:
        raise SystemExit(f"{len(arrived)} grades arrived instead of {CHUNKS}")
    return {"first": arrived[0], "all": arrived[-1], "worked": time.process_time() - worked}


def warm(address: str, repeats: int) -> dict[tuple[int, str], Figures]:
    """Every way at every number of calls at once: in turns, after one turn that is not counted."""
    made = {(parallel, way): WAYS[way](address, parallel) for parallel in PARALLEL for way in WAYS}
    found: defaultdict[tuple[int, str], list[Figures]] = defaultdict(list)
    names = list(WAYS)
    for repeat in range(repeats + 1):
        shift = repeat % len(names)
        for parallel in PARALLEL:
            for way in names[shift:] + names[:shift]:
                figures = timed(made[parallel, way])
                figures["most"] = most_at_once(address)
                if repeat:
                    found[parallel, way].append(figures)
        print(f"warm: {repeat} of {repeats}", file=sys.stderr)
    return {key: {**medians(found[key]), "slowest": max(each["all"] for each in found[key])} for key in made}


def cold(address: str, repeats: int) -> dict[str, Figures]:
    """Each way in fresh processes, in turns."""
    found: defaultdict[str, list[Figures]] = defaultdict(list)
    for repeat in range(repeats):
        for way in WAYS:
            command = [sys.executable, "-m", "benchmarks.providers", "--one", way, "--address", address]
            ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            if ran.returncode:
                raise SystemExit(ran.stderr.strip())
            most_at_once(address)
            found[way].append(json.loads(ran.stdout))
        print(f"cold: {repeat + 1} of {repeats}", file=sys.stderr)
    return {way: medians(runs) for way, runs in found.items()}


def one(way: str, address: str) -> Figures:
    """The first grades of this process. `made`: imports and client; `together`: with all grades."""
    began = time.perf_counter()
    grading = WAYS[way](address, GOAL_PARALLEL)
    made = time.perf_counter() - began
    figures = timed(grading)
    return {**figures, "made": made, "together": made + figures["all"]}


def medians(runs: Sequence[Figures]) -> Figures:
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


# ---- the page ------------------------------------------------------------------------------------------------------


def report(
    warm: Mapping[tuple[int, str], Figures],
    cold: Mapping[str, Figures],
    options: argparse.Namespace,
    load: tuple[float, float],
) -> str:
    """The page of results. `load`: of the machine, before and after."""
    reached = warm[GOAL_PARALLEL, "ours"]["all"]
    verdict = "met" if reached < GOAL else "missed"
    return f"""\
# Ten chunks graded by a language model

`python -m benchmarks.providers`: a loopback server that takes {options.seconds * 1000:.0f} ms a call, in a process of
its own; {os.cpu_count()} cores, Python {platform.python_version()}. Load of the machine when it began {load[0]:.1f},
when it ended {load[1]:.1f}.

Goal: all ten in under {GOAL:g} s with {GOAL_PARALLEL} calls at once, at the median of warm calls: **{reached:.2f} s,
{verdict}**. `LlmEvaluator` over `ChatModel` is this project's; the other two ways are what one would write with
langchain-openai, for the same schema. The instructions differ in length; the server does not read them.

## Warm

Medians of {options.repeats} in one process, all ways in turn, clients kept. *At least* is the server's own time;
*at once*, the most calls that it had open. Processor time is the client's, for all ten.

| calls at once | way | first grade | all grades | slowest | at least | processor time | at once |
|---:|---|---:|---:|---:|---:|---:|---:|
{"".join(_warm_row(key, figures, options.seconds) for key, figures in warm.items())}
## Cold

Medians of {options.cold} fresh processes each, {GOAL_PARALLEL} calls at once. Connections are made, and some modules
loaded, only with the first call: *together* is from the first import to the last grade.

| way | imports and client | first grade after it | all grades after it | together |
|---|---:|---:|---:|---:|
{"".join(_cold_row(way, figures) for way, figures in cold.items())}"""


def _warm_row(key: tuple[int, str], figures: Figures, seconds: float) -> str:
    parallel, way = key
    times = " | ".join(f"{figures[each]:.2f} s" for each in ("first", "all", "slowest"))
    least = math.ceil(CHUNKS / parallel) * seconds
    worked = f"{figures['worked'] * 1000:.0f} ms"
    return f"| {parallel} | {SHOWN[way]} | {times} | {least:.2f} s | {worked} | {figures['most']:.0f} |\n"


def _cold_row(way: str, figures: Figures) -> str:
    times = " | ".join(f"{figures[each]:.2f} s" for each in ("made", "first", "all", "together"))
    return f"| {SHOWN[way]} | {times} |\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cold", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="a call; other times are only printed")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--one", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--address", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.update(ENVIRONMENT)
    if options.serve:
        asyncio.run(serve(options.seconds))
    elif options.one:
        print(json.dumps(one(options.one, options.address)))
    else:
        compare(options)


def compare(options: argparse.Namespace) -> None:
    before = os.getloadavg()[0]
    with serving(options.seconds) as address:
        first = cold(address, options.cold)
        later = warm(address, options.repeats)
    text = report(later, first, options, (before, os.getloadavg()[0]))
    print(text)
    if options.seconds == SECONDS:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
