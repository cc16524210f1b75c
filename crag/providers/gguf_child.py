"""The child process that runs one model file: llama.cpp's server, on loopback, for clients with the key.

Its standard input is one line of JSON, a `Job`, and then stays open: when it ends, as it does however the parent does,
so does the process. One line comes back on standard output, {"address": …} once the model is loaded.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import threading
from pathlib import Path
from typing import Any, NamedTuple

_FILES = 512
"""Files and connections that the process may have open."""


class Job(NamedTuple):
    """What is run, and how. `threads` 0: all cores but one. `context`: tokens that one of the `slots` has.

    `idle`: seconds without a call after which the model leaves the memory. `repeating` is what repeating itself costs
    it, 0 for nothing. `watched`: it tells how busy it is.
    """

    file: str
    name: str
    key: str
    context: int
    slots: int
    idle: int
    threads: int = 0
    repeating: float = 0.0
    watched: bool = False


def main() -> None:
    job = Job(**json.loads(_line()))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _limit()
    # What the library prints goes where its log goes: the address alone is read from standard output.
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    server = _serve(job)
    channel.write(json.dumps({"address": f"{server.listening_address}/v1"}) + "\n")
    channel.flush()
    threading.Event().wait()


def _line() -> bytes:
    """The first line, and not a byte more: what reads ahead would hold a lock when the process ends."""
    line = b""
    while (byte := os.read(0, 1)) not in (b"\n", b""):
        line += byte
    return line


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(0)


def _limit() -> None:
    """No dump of memory where it crashes, and few files."""
    for what, limit in {resource.RLIMIT_CORE: 0, resource.RLIMIT_NOFILE: _FILES}.items():
        with contextlib.suppress(ValueError, OSError):  # a lower limit stands already, or the system has none
            resource.setrlimit(what, (limit, limit))
    # Where memory runs out, this process goes and not the program.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("800")


def _serve(job: Job) -> Any:
    import xllamacpp

    given = xllamacpp.CommonParams()
    given.model.path, given.model_alias = job.file, {job.name}
    given.hostnames, given.port, given.api_keys = ["127.0.0.1"], 0, [job.key]
    given.n_ctx, given.n_parallel, given.n_threads_http = job.context * job.slots, job.slots, 16
    # One core is left to everything else: threads that wait for a core are waited for by all others at every step.
    given.cpuparams.n_threads = given.cpuparams_batch.n_threads = job.threads or max(1, _cores() - 1)
    given.endpoint_slots = given.endpoint_metrics = job.watched
    given.sleep_idle_seconds = job.idle
    given.endpoint_props = given.ui = given.fit_params = False
    given.sampling.dry_multiplier = job.repeating
    given.cache_ram_mib = 0  # prompts that no slot holds any more would take gigabytes
    return xllamacpp.Server(given)


def _cores() -> int:
    """Those that this process may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


if __name__ == "__main__":
    main()
