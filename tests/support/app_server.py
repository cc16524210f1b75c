"""A real server of the app on a free loopback port, in a process of its own."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.other_programs import at_work, await_reply, free_port

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Served:
    """A running app: its address, its data folder, the gate that holds its evaluator, its log and its process."""

    url: str
    data: Path
    gate: Path
    log: Path
    process: subprocess.Popen[bytes]

    def gate_of(self, work: str) -> Path:
        """The gate that holds the "reading" of files, or the "embedding" of their texts."""
        return self.gate.with_suffix(f".{work}")

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])


@contextmanager
def serving(
    folder: Path,
    script: Path | None = None,
    *,
    tree: Path = ROOT,
    address: str = "127.0.0.1",
    files: int = 0,
    base: str = "",
    options: Sequence[str] = (),
    **chosen: str,
) -> Iterator[Served]:
    """The app of a tree, or another script there, until the block ends.

    `files`: the most it may have open; `base`: the path it lies under; `chosen`: of its environment.
    """
    data, gate, log = folder / "data", folder / "gate", folder / "log"
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CRAG_")}
    environment |= {"CRAG_DATA": str(data), "CRAG_TEST_GATE": str(gate), "PYTHONPATH": str(tree), **chosen}
    environment["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"  # never the machine's own
    environment["PYTHONPATH"] += os.pathsep + os.environ.get("PYTHONPATH", "")
    command = [sys.executable, "-m", "streamlit", "run", str(script or tree / "app.py")]
    command += ["--server.port", str(port), "--server.address", address, "--server.baseUrlPath", base]
    command += ["--server.headless", "true"]
    command += options
    if files:
        command = ["bash", "-c", f'ulimit -n {files}; exec "$@"', "bash", *command]
    with at_work(command, log, cwd=tree, env=environment) as server:
        await_reply(f"http://127.0.0.1:{port}/{base}/_stcore/host-config".replace("//_", "/_"), server, log)
        yield Served(url=f"http://127.0.0.1:{port}", data=data, gate=gate, log=log, process=server)


def gated(folder: Path, **chosen: str) -> AbstractContextManager[Served]:
    """The app with a gate, behind the edge that users meet."""
    return serving(folder, Path(__file__).with_name("gated_app.py"), **chosen)


def over_the_sample(folder: Path, sample_data: Path, **chosen: str) -> AbstractContextManager[Served]:
    """The same over a copy of the sample library."""
    shutil.copytree(sample_data, folder / "data")
    return gated(folder, **chosen)
