"""Model servers of this machine are found in a thread of their own, and nobody waits for them."""

from collections.abc import Callable

from crag.providers.discovery import LocalServer, LocalServers
from tests.support.model_server import serving

CLOSED = "http://127.0.0.1:9/v1"


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
