"""A model file in a child process: a whole run, a crash, the end of the program, and what does not load."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from crag.core.errors import ModelFileError, UnreachableError
from crag.core.types import Call
from crag.providers.chat import ChatModel, MeteredChat
from crag.providers.discovery import try_model
from crag.providers.endpoint import Endpoint
from crag.providers.gguf_server import GgufServer, Load, server_of
from crag.runtime.usage import Budget, UsageTracker
from tests.support.real_server import model_file
from tests.support.shell import line_of, started

pytestmark = pytest.mark.slow

HELLO = [("human", "Say hello.")]
COUNTING = [("human", "Write the numbers from 1 to 1000, one after another, with commas.")]
SECONDS = 60.0
TALKS = "import sys; sys.stdin.readline(); print('{}', flush=True); "


@pytest.fixture(scope="module")
def endpoint(installed: None) -> Iterator[Endpoint]:
    """The test model as the product runs it; one process for all tests here."""
    file = model_file()
    yield Endpoint(provider="gguf", model=file.stem, file=file, mark="m", threads=1)
    server_of(file, "m", 1).end()


@pytest.fixture
def server(endpoint: Endpoint) -> GgufServer:
    assert endpoint.file is not None
    return server_of(endpoint.file, endpoint.mark, 1)


def chat(endpoint: Endpoint, calls: list[Call] | None = None) -> MeteredChat:
    meter = UsageTracker(Budget(seconds=600), listener=([] if calls is None else calls).append)
    return ChatModel(endpoint).metered(meter)


def test_its_process_has_an_address_of_this_machine_a_key_and_nothing_of_the_environment(server: GgufServer) -> None:
    running = server.place().result(SECONDS)
    assert running.address.startswith("http://127.0.0.1:") and len(running.key) > 40
    assert httpx.get(f"{running.address}/models", trust_env=False).status_code in (200, 401)
    body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1}
    assert httpx.post(f"{running.address}/chat/completions", json=body, trust_env=False).status_code == 401
    if (environment := Path(f"/proc/{running.process.pid}/environ")).exists():
        names = {entry.partition(b"=")[0].decode() for entry in environment.read_bytes().split(b"\0") if entry}
        assert names == {"PATH", "PYTHONPATH", "PYTHONNOUSERSITE", "PYTHONUTF8"}
        assert running.key.encode() not in Path(f"/proc/{running.process.pid}/cmdline").read_bytes()


def test_one_process_for_all_and_a_trial(endpoint: Endpoint, server: GgufServer) -> None:
    process = server.place().result(SECONDS).process
    assert (try_model(endpoint).tokens or 0) > 0
    assert chat(endpoint).text(HELLO, max_tokens=3)
    assert server.place().result(SECONDS).process is process


def test_a_crash_is_told_and_the_next_call_starts_it_anew(endpoint: Endpoint, server: GgufServer) -> None:
    calls: list[Call] = []
    pieces, first = [], server.place().result(SECONDS).process
    with pytest.raises(UnreachableError, match="ended in the middle") as caught:
        for piece in chat(endpoint, calls).written(COUNTING, max_tokens=400):
            pieces.append(piece)
            if len(pieces) == 2:
                first.kill()
    assert pieces and "started again" in caught.value.remedy and len(calls) == 1
    assert chat(endpoint).text(HELLO, max_tokens=3), "at another address, with another key"
    assert server.place().result(SECONDS).process.pid != first.pid


def test_a_crash_before_the_first_word_is_not_noticed(endpoint: Endpoint, server: GgufServer) -> None:
    server.place().result(SECONDS).process.kill()
    assert chat(endpoint).text(HELLO, max_tokens=3)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="Linux tells how much memory a process takes")
def test_without_a_call_for_a_while_the_memory_is_given_back(installed: None) -> None:
    server = GgufServer(model_file(), Load(threads=1, idle=1), key="k")
    running = server.place().result(SECONDS)
    pages = Path(f"/proc/{running.process.pid}/statm")
    loaded, until = int(pages.read_text().split()[1]), time.monotonic() + SECONDS
    while int(pages.read_text().split()[1]) > loaded * 0.8 and time.monotonic() < until:
        time.sleep(0.1)
    assert int(pages.read_text().split()[1]) <= loaded * 0.8
    place = Endpoint(provider="openai-compatible", model="m", base_url=running.address, key=SecretStr("k"))
    assert chat(place).text(HELLO, max_tokens=3), "and the next call loads it again"
    server.end()


PARENT = """
import os, signal, sys
from pathlib import Path
from crag.providers.gguf_server import GgufServer, Load
server = GgufServer(Path(sys.argv[1]), Load(threads=1))
print(server.place().result(60).process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="Linux can wait for another's child")
def test_it_ends_with_a_program_that_is_killed(installed: None) -> None:
    with started("-c", PARENT, model_file()) as ran:
        pid = int(line_of(ran))
        try:
            left = os.pidfd_open(pid)
        except ProcessLookupError:  # gone already
            left = -1
        ran.wait(SECONDS)
    if left >= 0:
        import select

        assert select.select([left], [], [], SECONDS)[0], "the model outlived its program"
        os.close(left)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (lambda whole: b"", "failed to read magic"),
        (lambda whole: b"text" * 100, "invalid magic characters: 'text', expected 'GGUF'"),
        (lambda whole: whole[:4_000_000], "model is corrupted or incomplete"),
        (lambda whole: whole.replace(b"llama", b"zorg!", 1), "unknown model architecture: 'zorg!'"),
    ],
)
def test_what_llama_cpp_says_of_a_file_is_passed_on(
    installed: None, tmp_path: Path, content: Callable[[bytes], bytes], said: str
) -> None:
    file = tmp_path / "made.gguf"
    file.write_bytes(content(model_file().read_bytes()))
    server = GgufServer(file, Load(threads=1))
    with pytest.raises(ModelFileError, match=r"made\.gguf could not be loaded") as raised:
        server.place().result(SECONDS)
    assert said in raised.value.message and str(tmp_path) not in str(raised.value) and raised.value.remedy
    assert not server.loaded
    file.write_bytes(b"GGUF")
    with pytest.raises(ModelFileError, match="could not be loaded"):
        server.place().result(SECONDS)


@pytest.mark.parametrize("program", ["", "raise SystemExit(3)", TALKS, "print('no JSON', flush=True)"])
def test_a_process_that_is_something_else_is_one_clear_error(tmp_path: Path, program: str) -> None:
    server = GgufServer(tmp_path / "made.gguf", command=(sys.executable, "-c", program))
    with pytest.raises(ModelFileError, match=r"made\.gguf could not be loaded: its process ended\."):
        server.place().result(SECONDS)
    server.end()
