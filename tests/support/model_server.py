"""A loopback server that speaks the OpenAI protocol, and fails as real ones do, by the name of the model asked for."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.library_makers import HashEmbedder
from tests.support.remembering import RememberingE5
from tests.support.web_server import running

GRADE = '{"reason": "it says so", "score": 0.7}'
WORDS = ["The bridge ", "was opened ", "in 1890 [", "1", "]. ", "It is long [2]."]
KEY = "sk-secret-of-the-tests"
DONE = b"data: [DONE]\n\n"


class Server(ThreadingHTTPServer):
    """`seen`: paths and bodies of what was posted. `heard`: the keys that came. `most`: the most requests that were
    open at once. `go`: what the last word of the model "held" waits for."""

    daemon_threads = True

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seconds = seconds
        self.seen: list[tuple[str, dict[str, Any]]] = []
        self.heard: list[str] = []
        self.open = self.most = self.cut_off = 0
        self.dimension = 64
        self.reply, self.words = GRADE, WORDS
        self.models = [{"id": "ok"}, {"id": "text-embedding-3-small"}]
        self.lock, self.go = threading.Lock(), threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


@contextmanager
def serving(seconds: float = 0.0) -> Iterator[Server]:
    """A running server, each of whose replies takes so many seconds."""
    with running(Server(seconds)) as server:
        yield server


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def parse_request(self) -> bool:
        parsed = super().parse_request()
        self.server.heard.append(self.headers.get("Authorization", "") if parsed else "")
        return parsed

    def do_GET(self) -> None:
        if self.headers.get("Authorization") == "Bearer wrong":
            self._status(401)
        else:
            self._json({"object": "list", "data": self.server.models})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.seen.append((self.path, body))
            self.server.open += 1
            self.server.most = max(self.server.most, self.server.open)
        try:
            self._answered(str(body.get("model")), body)
        except (BrokenPipeError, ConnectionResetError):
            with self.server.lock:
                self.server.cut_off += 1
        finally:
            with self.server.lock:
                self.server.open -= 1

    def _answered(self, model: str, body: dict[str, Any]) -> None:
        time.sleep(self.server.seconds)
        asked = len(self.server.seen)
        match model:
            case "hang":
                time.sleep(20)
            case "wrong-key":
                return self._status(401, f"Incorrect API key provided: {KEY}")
            case "unknown":
                return self._status(404, "The model does not exist")
            case "busy":
                return self._status(429, "Rate limit reached")
            case "busy-once" if asked == 1:
                return self._status(429, "Rate limit reached")
            case "broken":
                return self._status(500)
            case "over-long":
                return self._status(400, "maximum context length is 4096 tokens")
            case "no-schema" if "response_format" in body:
                return self._status(400, "response_format is not supported")
            case "dropped":
                self.close_connection = True
                return None
            case "not-json":
                return self._raw(b"<html>502 Bad Gateway</html>")
        if self.path.endswith("/rerank"):
            scores = [{"index": place, "relevance_score": 0.5} for place, _ in enumerate(body["documents"])]
            return self._json({"results": scores})
        if self.path.endswith("/embeddings"):
            return self._json(_embedded(model, body["input"], self.server.dimension))
        if model == "thinks" and body.get("max_completion_tokens", 0) < 1000:
            return self._thought(bool(body.get("stream")))
        if body.get("stream"):
            return self._streamed(model)
        text = {"garbage": "I would rather not.", "repaired": GRADE if asked > 1 else "score: high"}.get(
            model, self.server.reply
        )
        return self._json(completion(model, text))

    def _streamed(self, model: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for place, word in enumerate(self.server.words):
            if model == "cut-off" and place == 3:
                return
            if model == "slow":
                time.sleep(0.4)
            if model == "held" and place == len(self.server.words) - 1:
                self.server.go.wait(60)
            end = ("length" if model == "too-long" else "stop") if place == len(self.server.words) - 1 else None
            self.wfile.write(chunk(model, word, end))
        self.wfile.write(chunk(model, usage=(40, 12)) + DONE)

    def _thought(self, streamed: bool) -> None:
        """All tokens went into thoughts, which this server keeps to itself."""
        if not streamed:
            return self._json(completion("thinks", "", "length", (40, 50)))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(chunk("thinks", "", "length") + chunk("thinks", usage=(40, 50)) + DONE)

    def _status(self, status: int, message: str = "") -> None:
        self._raw(json.dumps({"error": {"message": message}}).encode(), status)

    def _json(self, values: dict[str, Any]) -> None:
        self._raw(json.dumps(values).encode())

    def _raw(self, data: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@cache
def _meaning() -> RememberingE5:
    return RememberingE5(threads=1)


def _embedded(model: str, texts: list[str], dimension: int) -> dict[str, Any]:
    """Vectors of hashed words, three long, the last first; those of "meaning" are of texts alike in meaning.

    The models "fewer" and "zeros" give no good ones.
    """
    made = _meaning() if model == "meaning" else HashEmbedder(model, dimension)
    rows = [[3 * float(value) for value in row] for row in made.embed(texts)]
    if model == "zeros":
        rows = [[0.0] * dimension for _ in rows]
    data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
    shown = data[:-1] if model == "fewer" else data[::-1]
    return {"object": "list", "data": shown, "model": model, "usage": {"prompt_tokens": 7, "total_tokens": 7}}


def completion(model: str, text: str, end: str = "stop", usage: tuple[int, int] = (30, 10)) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "finish_reason": end, "message": message}
    return {"id": "1", "object": "chat.completion", "model": model, "choices": [choice], "usage": _counted(*usage)}


def chunk(model: str, text: str | None = None, end: str | None = None, usage: tuple[int, int] | None = None) -> bytes:
    """A part of a streamed reply, as an event: its next words, or how many tokens it read and wrote."""
    choices = [] if text is None else [{"index": 0, "delta": {"content": text}, "finish_reason": end}]
    values = {"id": "1", "object": "chat.completion.chunk", "model": model, "choices": choices}
    counted = {"usage": _counted(*usage)} if usage else {}
    return f"data: {json.dumps({**values, **counted})}\n\n".encode()


def _counted(read: int, written: int) -> dict[str, int]:
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
