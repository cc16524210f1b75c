"""Replies without end: 1.2 GB of blanks, a megabyte as gzip, from each kind of server that is asked."""

from __future__ import annotations

import contextlib
import resource
import threading
import time
import zlib
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pydantic import SecretStr

from benchmarks.attacks.figure import Figure, main, peak_mb
from crag.core.errors import CragError
from crag.core.types import WebPage
from crag.providers.chat import ChatModel
from crag.providers.discovery import list_models
from crag.providers.endpoint import Endpoint
from crag.providers.registry import webs
from crag.providers.rerank import Reranker
from crag.runtime.provider import WebParts
from crag.runtime.usage import Budget, UsageTracker
from crag.web.fetching import PageFetcher

FINDING = 12
SIZE = 1_200_000_000
SECONDS = 20.0
MOST = 8 * 1024**3
"""Bytes of address space that an attack may take before it dies."""
KEY = SecretStr("a-key")


def bomb() -> bytes:
    packer, block = zlib.compressobj(9, wbits=31), b" " * 10_000_000
    return b"".join([*(packer.compress(block) for _ in range(SIZE // len(block))), packer.flush()])


class _Handler(BaseHTTPRequestHandler):
    body = b""
    kind = "application/json"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        for name, value in (("Content-Type", self.kind), ("Content-Encoding", "gzip")):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(self.body)

    do_POST = do_GET


def attacked(what: str, call: Callable[[str, UsageTracker], object], kind: str = "application/json") -> Figure:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST, hard))
    _Handler.body, _Handler.kind = bomb(), kind
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    before, began, said = peak_mb(), time.perf_counter(), "no error"
    try:
        call(f"http://127.0.0.1:{server.server_port}", UsageTracker(Budget(calls=1, seconds=SECONDS)))
    except CragError as error:
        said = error.message.replace(f"127.0.0.1:{server.server_port}", "server").replace("http://", "")
    except Exception as error:
        said = type(error).__name__
    seconds = time.perf_counter() - began
    time.sleep(2.0)  # for what goes on in the background though nobody waits for it
    value = f"+{peak_mb() - before:,.0f} MB, {seconds:.1f} s: {said}"
    return Figure(finding=FINDING, what=f"1.2 GB of blanks as gzip: {what}", value=value)


def _place(address: str) -> Endpoint:
    return Endpoint(provider="local", model="m", base_url=address, key=KEY)


def model_whole() -> Figure:
    return attacked(
        "model", lambda at, meter: ChatModel(_place(at)).metered(meter).text([("human", "?")], max_tokens=5)
    )


def model_streamed() -> Figure:
    return attacked(
        "model, streamed",
        lambda at, meter: list(ChatModel(_place(at)).metered(meter).written([("human", "?")], max_tokens=5)),
        "text/event-stream",
    )


def reranker() -> Figure:
    return attacked("reranker", lambda at, meter: Reranker(_place(at), meter).rerank("?", ["a"]))


def model_list() -> Figure:
    return attacked("list of models", lambda at, meter: list_models(_place(at)))


def tavily() -> Figure:
    return attacked("Tavily", lambda at, meter: _searched("tavily", at, meter))


def duckduckgo() -> Figure:
    return attacked("DuckDuckGo", lambda at, meter: _searched("duckduckgo", at, meter), "text/html")


def _searched(name: str, at: str, meter: UsageTracker) -> object:
    return webs()[name].make(WebParts(meter=meter, key=KEY, address=at)).search("a", 3)


def page() -> Figure:
    def fetched(at: str, meter: UsageTracker) -> None:
        found = WebPage(id="1", url=at, title="", text="", provider="p", query="q", rank=1)
        _, [problem] = PageFetcher(allow_private=True).fetched([found], seconds=SECONDS, cancel=meter.cancel)
        raise CragError(problem.why)

    return attacked("web page", fetched, "text/html")


if __name__ == "__main__":
    main([model_whole, model_streamed, reranker, model_list, tavily, duckduckgo, page])
