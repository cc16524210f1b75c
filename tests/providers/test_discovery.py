"""Model servers of this machine are found in a thread of their own, and nobody waits for them."""

import subprocess
import sys
from collections.abc import Callable

from crag.providers.discovery import LocalServer, LocalServers
from tests.support.model_server import serving

CLOSED = "http://127.0.0.1:9/v1"


LOADING = f"""
import sys, threading
class Loading:
    def find_spec(self, name, path=None, target=None):
        if name in ("openai", "langchain_openai"):
            print(name, threading.current_thread().name)
sys.meta_path.insert(0, Loading())
from crag.core.errors import CragError
from crag.providers.discovery import list_models, try_model
from crag.providers.endpoint import Endpoint
for ask in (list_models, try_model):
    try:
        ask(Endpoint(provider="local", model="any", base_url="{CLOSED}"))
    except CragError:
        pass
"""


class StillClock:
    """A clock that stands where it is set."""

    time = 100.0

    def now(self) -> float:
        return self.time


def test_servers_that_answer_are_told_with_their_models_of_both_kinds() -> None:
    with serving() as one, serving() as own, serving() as wrong:
        one.models = [{"id": "qwen3:8b"}, {"id": "bge-m3"}, {"id": "nomic-embed-text"}, {"id": "whisper-1"}]
        own.models = [{"id": "crag", "owned_by": "crag"}]
        wrong.models = ["not a row"]  # type: ignore[list-item]
        usual = {"Ollama": one.address, "vLLM": own.address, "LM Studio": wrong.address, "llama.cpp": CLOSED}
        found = LocalServers(usual, start=lambda look: look()).found()
    assert found == (LocalServer("Ollama", one.address, ("qwen3:8b",), ("bge-m3", "nomic-embed-text")),)


def test_nobody_waits_and_what_was_found_holds_for_a_while() -> None:
    begun: list[Callable[[], None]] = []
    clock = StillClock()
    servers = LocalServers({"Ollama": CLOSED}, clock, begun.append)  # type: ignore[arg-type]
    assert not begun, "not before anybody asks"
    assert servers.found() is None and servers.found() is None and len(begun) == 1
    begun[0]()
    assert servers.found() == () and len(begun) == 1
    clock.time += 60
    assert servers.found() == () and len(begun) == 2, "the last ones hold while it looks again"
    begun[1]()
    assert servers.found(again=True) == () and len(begun) == 3


def test_clients_load_where_they_hold_up_no_other_call() -> None:
    said = subprocess.run([sys.executable, "-c", LOADING], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["openai", "MainThread", "langchain_openai", "MainThread"]
