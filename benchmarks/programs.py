"""What the ways in for other programs cost: the middleware over the engine, the HTTP server over the evaluator.

python -m benchmarks.programs [--calls 100] [--requests 2000] [--out FOLDER]

Middleware: an agent of LangChain with it, beside the same agent without it and `Engine.trace` called directly, in turns
within one process. Model, evaluator and services are fakes that answer at once (those of benchmarks/overhead.py), so
that what is left is the way itself. Server: `crag serve` as a process of its own with the local evaluator;
`/v1/rerank` over ten chunks of the sample report, beside `Engine.grade` over the same in this process, in turns; then
twenty requests at once, again and again; then many one after another, with the server's memory. Time is told by the
clock and by the processor: on a machine with other work the first says little. Prints a page and writes it to
results/programs.md and programs.json, or to FOLDER.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage

from benchmarks.overhead import PATHS, engine_of
from crag.core.config import AppConfig
from crag.engine import Engine
from crag.langchain import CragMiddleware

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
QUESTION = "How long did retirement callers wait on average for an answer in FY 2019?"
GOALS = {"middleware": 0.010, "rerank": 0.15}
"""Seconds that an agent's call may take longer than the engine; share of its time that `/v1/rerank` may add."""
AT_ONCE, ROUNDS, LOOKS = 20, 10, 8


def main() -> int:
    options = arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {"machine": f"{platform.machine()}, {os.cpu_count()} cores", "load": [os.getloadavg()[0]]}
    with tempfile.TemporaryDirectory() as folder:
        results["middleware"] = middleware(Path(folder) / "agent", options.calls)
        results |= server(Path(folder) / "server", options.calls, options.requests)
    results["load"].append(os.getloadavg()[0])
    print(page := report(results))
    (options.out / "programs.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (options.out / "programs.md").write_text(page, encoding="utf-8")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--calls", type=int, default=100, help="turns of each comparison (default: 100)")
    parser.add_argument("--requests", type=int, default=2_000, help="requests one after another (default: 2000)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where to write (default: benchmarks/results)")
    return parser.parse_args()


def middleware(data: Path, calls: int) -> dict[str, Any]:
    """By way through the graph, the seconds that a call of the agent takes longer than the engine asked directly."""
    found: dict[str, Any] = {}
    for name, course in PATHS.items():
        engine = engine_of(course, data / name.partition(",")[0].split()[0].lower())
        model = GenericFakeChatModel(messages=iter(lambda: AIMessage("Said."), None))
        plain, correcting = create_agent(model), create_agent(model, middleware=[CragMiddleware(engine)])

        def directly(question: str, engine: Engine = engine, plain: Any = plain) -> None:
            engine.trace(question, wanted="evidence", via="agent")
            plain.invoke({"messages": [HumanMessage(question)]})

        def within(question: str, correcting: Any = correcting) -> None:
            correcting.invoke({"messages": [HumanMessage(question)]})

        found[name] = in_turns(directly, within, calls, (time.process_time, time.process_time))
        engine.close()
    return found


def in_turns(
    one: Callable[[str], None], other: Callable[[str], None], calls: int, spent: Sequence[Callable[[], float]]
) -> dict[str, Any]:
    """Both, in turns; which goes first changes. Every question is another: no grade is remembered.

    `spent` tells the seconds of the processor that each of the two has spent so far.
    """
    took: list[list[float]] = [[], []]
    worked: list[list[float]] = [[], []]
    for turn in range(-10, calls):
        for place in (0, 1) if turn % 2 else (1, 0):
            question = f"How long did it take on average in {2019 + 2 * turn + place}?"
            began, before = time.perf_counter(), spent[place]()
            (one, other)[place](question)
            if turn >= 0:
                took[place].append(time.perf_counter() - began)
                worked[place].append(spent[place]() - before)
    return {"clock": compared(*took), "processor": compared(*worked)}


def compared(direct: Sequence[float], through: Sequence[float]) -> dict[str, float]:
    """Medians of both ways, and of how much longer each turn took the second one."""
    more = [late - early for early, late in zip(direct, through, strict=True)]
    return {"direct": median(direct), "through": median(through), "more": median(more)}


def server(data: Path, calls: int, requests: int) -> dict[str, Any]:
    engine = Engine(AppConfig(data=data))
    sample = engine.sample()
    list(engine.add(sample.pdf.name, sample.pdf.read_bytes()))
    texts = [found.chunk.graded_text() for found in engine.library().search(QUESTION, 10)]
    with serving(data) as (url, process), httpx.Client(base_url=url, timeout=120) as client:

        def reranked(question: str, texts: Sequence[str] = texts) -> None:
            body = {"model": "crag-rerank", "query": question, "documents": list(texts)}
            client.post("/v1/rerank", json=body).raise_for_status()

        def graded(question: str) -> None:
            list(engine.grade(question, texts))

        spent = (time.process_time, lambda: processor(process.pid))
        found: dict[str, Any] = {"rerank": in_turns(graded, reranked, calls, spent)}
        engine.close()
        found["at once"] = at_once(reranked)
        found["memory"] = memory(lambda number: reranked(f"{QUESTION} {number}", texts[:1]), process.pid, requests)
    return found


@contextmanager
def serving(data: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "crag", "serve", "--port", "0", "--json", "--quiet", "--rate", "0"]
    environment = {**os.environ, "CRAG_DATA": str(data)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield json.loads(process.stdout.readline())["url"], process
        finally:
            process.terminate()


def at_once(reranked: Callable[[str], None]) -> dict[str, Any]:
    """Twenty requests at once, so many times: what failed, and how long each took, in seconds."""
    errors: list[str] = []

    def timed(number: int) -> float:
        began = time.perf_counter()
        try:
            reranked(f"{QUESTION} {number}")
        except httpx.HTTPError as error:
            errors.append(str(error))
        return time.perf_counter() - began

    with ThreadPoolExecutor(AT_ONCE) as pool:
        took = [each for turn in range(ROUNDS) for each in pool.map(timed, range(turn * AT_ONCE, (turn + 1) * AT_ONCE))]
    return {
        "requests": len(took),
        "errors": errors,
        "median": median(took),
        "p95": statistics.quantiles(took, n=20)[-1],
    }


def memory(asked: Callable[[int], None], process: int, requests: int) -> list[tuple[int, float]]:
    """After so many requests, the megabytes that the server's process holds."""
    looks = [(0, resident(process))]
    for number in range(1, requests + 1):
        asked(number)
        if number % max(1, requests // LOOKS) == 0:
            looks.append((number, resident(process)))
    return looks


def processor(process: int) -> float:
    """The seconds of the processor that a process has spent; counted in hundredths."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(process: int) -> float:
    (line,) = (each for each in Path(f"/proc/{process}/status").read_text().splitlines() if each.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def report(results: dict[str, Any]) -> str:
    before, after = results["load"]
    lines = [
        "# The ways in for other programs",
        "",
        f"`python -m benchmarks.programs`, on {results['machine']}; load of the machine {before:.1f} before and "
        f"{after:.1f} after, its own included. Medians; more: the median of what each turn took longer.",
        "",
        f"**Middleware**, over `Engine.trace` and the same agent without it (goal: {ms(GOALS['middleware'])} more a "
        "call). Everything that is called answers at once.",
        "",
        "| way | told by | engine and agent | agent with the middleware | more |",
        "|---|---|---|---|---|",
    ]
    for name, both in results["middleware"].items():
        for by, each in both.items():
            lines.append(f"| {name} | {by} | {ms(each['direct'])} | {ms(each['through'])} | {ms(each['more'])} |")
    at_once = results["at once"]
    lines += ["", f"**`/v1/rerank`** over ten chunks, beside the evaluator alone (goal: {GOALS['rerank']:.0%} more)."]
    lines += ["", "| told by | evaluator | `/v1/rerank` | more |", "|---|---|---|---|"]
    for by, each in results["rerank"].items():
        share = f"{each['more'] / each['direct']:+.0%}"
        lines.append(f"| {by} | {ms(each['direct'])} | {ms(each['through'])} | {share} |")
    lines += [
        "",
        f"**{AT_ONCE} requests at once**, of ten chunks each, {at_once['requests']} in all: {len(at_once['errors'])} "
        f"errors; median {ms(at_once['median'])}, p95 {ms(at_once['p95'])}.",
        "",
        "**Memory of the server** (resident, MB) after so many requests of one chunk, one after another:",
        "",
        f"| {' | '.join(f'{number:,}' for number, _ in results['memory'])} |",
        f"|{'---|' * len(results['memory'])}",
        f"| {' | '.join(f'{size:.0f}' for _, size in results['memory'])} |",
    ]
    return "\n".join(lines) + "\n"


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


if __name__ == "__main__":
    sys.exit(main())
