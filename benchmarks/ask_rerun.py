"""What one rerun of Ask costs, beside a page of one slider: the same client, the same machine, in turns.

python -m benchmarks.ask_rerun [--reruns 200]

The library holds the sample and 200 stored runs, so that the history is full; one finished run of the sample is open,
with its chunks, strips, sources and meter. A client without a browser asks over Streamlit's socket for one rerun after
another, as a click does, alternately of the two pages, and waits until each script has ended. Timed are the clock at
the client, and the server's processor, which holds script, serialization and what Streamlit clears up after it.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

from benchmarks.overhead import ms, p95
from benchmarks.whatif import stored_run
from crag.core.config import AppConfig
from crag.engine import Engine
from tests.support.app_server import ROOT, serving

RESULT = Path(__file__).resolve().parent / "results" / "ask_rerun.md"
RUNS, RERUNS, WARM = 200, 200, 10
ASK, BARE = "Ask, one run open", "a page of one slider"


@dataclass(frozen=True, slots=True)
class Rerun:
    """One rerun: seconds at the client, what was sent, in bytes, and in how many messages."""

    clock: float
    size: int
    messages: int


def prepare(folder: Path) -> str:
    """A library with the sample, a full history, and one finished run of the sample, whose id is returned."""
    engine = Engine(AppConfig.of(data=folder))
    sample = engine.sample()
    for _ in engine.add_files([(sample.pdf.name, sample.pdf.read_bytes)]):
        pass
    library = engine.library()
    for number in range(RUNS):
        library.runs.save(stored_run(number), [])
    run = [event.run_id for event in engine.ask(sample.questions[0].question) if event.kind == "run_started"]
    engine.close()
    return run[0]


@contextmanager
def visited(address: str, query: str) -> Iterator[Callable[[], Rerun]]:
    """Opens the page; what is yielded asks for one rerun."""
    at = address.replace("http://", "ws://") + "/_stcore/stream"
    with connect(at, origin=address, subprotocols=["streamlit"], max_size=None) as socket:  # type: ignore[list-item]
        _asked(socket, query)
        yield lambda: _asked(socket, query)


def _asked(socket: ClientConnection, query: str) -> Rerun:
    ask, size, messages = BackMsg(), 0, 0
    ask.rerun_script.query_string = query
    began = time.perf_counter()
    socket.send(ask.SerializeToString())
    while True:
        data = socket.recv(timeout=60)
        said = ForwardMsg.FromString(bytes(data) if not isinstance(data, str) else data.encode())
        size, messages = size + len(data), messages + 1
        if said.WhichOneof("type") == "delta" and said.delta.new_element.WhichOneof("type") == "exception":
            raise SystemExit(said.delta.new_element.exception.message)
        if said.WhichOneof("type") == "script_finished":
            return Rerun(time.perf_counter() - began, size, messages)


def processor(pid: int) -> float:
    """Seconds that a process has had of the processor."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(folder: Path, query: str, reruns: int) -> tuple[dict[str, list[Rerun]], dict[str, float]]:
    """The reruns of each page, and the seconds of its server's processor for one of them."""
    bare = folder / "bare.py"
    bare.write_text("import streamlit as st\nst.write(st.slider('Thresholds', 0.0, 1.0, (0.2, 0.4), step=0.01))\n")
    pages = {ASK: (ROOT / "app.py", query), BARE: (bare, "")}
    found: dict[str, list[Rerun]] = {name: [] for name in pages}
    asks, pids = {}, {}
    with ExitStack() as stack:
        for name, (script, asked) in pages.items():
            app = stack.enter_context(serving(folder, script))
            asks[name], pids[name] = stack.enter_context(visited(app.url, asked)), app.process.pid
        for ask in asks.values():
            for _ in range(WARM):
                ask()
        time.sleep(1)
        before = {name: processor(pid) for name, pid in pids.items()}
        for _ in range(reruns):
            for name, ask in asks.items():
                found[name].append(ask())
        time.sleep(1)  # what is cleared up after the last
        spent = {name: (processor(pid) - before[name]) / reruns for name, pid in pids.items()}
    return found, spent


def report(found: dict[str, list[Rerun]], spent: dict[str, float]) -> str:
    reruns = len(found[ASK])
    lines = [
        "# One rerun of Ask",
        "",
        f"`python -m benchmarks.ask_rerun`: {RUNS:,} stored runs, one finished run open, {reruns} reruns of each page "
        f"in turns; {os.cpu_count()} cores, shared by servers and client, Python {platform.python_version()}. "
        f"Load of the machine at the end {os.getloadavg()[0]:.1f}.",
        "",
        "| | client, median | client, p95 | server's processor | messages | kB |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, each in found.items():
        clocks = [rerun.clock for rerun in each]
        lines.append(
            f"| {name} | {ms(statistics.median(clocks))} | {ms(p95(clocks))} | {ms(spent[name])} | "
            f"{statistics.median(rerun.messages for rerun in each):.0f} | "
            f"{statistics.median(rerun.size for rerun in each) / 1000:.0f} |"
        )
    return "\n".join([*lines, "", NOTES])


NOTES = """\
Goal: half of what one rerun cost while each past question was a button, and the collector went through all modules
after each run of the script. That build, by the same command on the same machine: 166.3 ms at the client (p95 221.8),
158.6 ms of the server's processor, 89 messages; the page of one slider beside it 55.4 and 52.1 ms. That page calls no
`warmup.settle`, so it is no lower bound: most of what it takes is a round of the collector.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--reruns", type=int, default=RERUNS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "data"
        text = report(*measure(folder, f"run={prepare(folder / 'data')}", options.reruns))
    print(text)
    if options.reruns == RERUNS:
        RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
