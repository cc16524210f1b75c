"""One loopback server that is a run's whole outside world (model, Tavily, web pages) and fails in the parts it is told.

Which part a request belongs to is told by its path, and for the model by the instructions it is given.
"""

import gzip
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from typing import Literal

from crag.runtime.connection import MAX_REPLY
from tests.support.model_server import DONE, chunk, completion
from tests.support.web_server import Reply, Request, Server, running

Part = Literal["grade", "support", "select", "rewrite", "search", "fetch", "answer"]
Failure = Literal["429", "500", "hang", "garbage", "words", "refused", "killed", "bomb", "loop", "endless"]
"""refused: the connection is reset before any byte. words: the form is right and what it says is of no use. bomb: four
times as many blanks as are read of any reply, as gzip. loop, endless: an answer that says one sentence for ever, or
100,000 words."""

LLM_KEY, TAVILY_KEY = "sk-secret-of-these-tests", "tvly-secret-of-these-tests"
SERVER_WORDS = "words-that-only-the-failing-server-says"
PIECES = ["Hiring took eighty ", "days in 2019 [", "1]. ", "It took longer ", "in 2018 [2]."]
SHOWN_BEFORE_THE_KILL = 4
SNIPPET = "Hiring took ninety days in 2018, says the snippet of page {}."
PAGE = "Hiring took ninety days in 2018, says the whole text of page {}."

_PROMPTS: dict[str, Part] = {
    "You judge whether a text from a search": "grade",
    "You judge whether a text supports": "support",
    "You sort the sentences": "select",
    "You turn a question": "rewrite",
    "Answer the question from the sources": "answer",
}
_REPLIES: dict[Part, str] = {
    "grade": '{"reason": "in part", "score": 0.3}',
    "support": '{"reason": "it says so", "score": 0.9}',
    "select": '{"keep": [1]}',
    "rewrite": "agency hiring, days, 2019",
    "answer": "".join(PIECES),
}
_USELESS = "I would rather talk about something else, since that is all that comes to my mind today. " + SERVER_WORDS


class World(Server):
    """`asked`: the part of every request in order. `pages`: where the pages are that its search finds."""

    def __init__(self, fails: Mapping[Part, Failure]) -> None:
        super().__init__(self._reply)
        self.fails = dict(fails)
        self.asked: list[Part] = []
        self.pages = self.address

    def _reply(self, request: Request) -> Reply:
        """The good reply, or this part's failure."""
        part, good = self._good(request)
        self.asked.append(part)
        failure = self.fails.get(part)
        told = f"{SERVER_WORDS} {request.headers.get('Authorization')}"
        reply = good if failure is None else _failed(failure, part, good, told)
        return replace(reply, headers={**reply.headers, "Connection": "close"})

    def _good(self, request: Request) -> tuple[Part, Reply]:
        if request.method == "GET":
            text = f"<html><title>Page</title><p>{PAGE.format(request.path[-1])}</p></html>"
            return "fetch", Reply(body=text.encode())
        if request.path == "/search":
            rows = [
                {"url": f"{self.pages}/page-{place}", "title": f"Page {place}", "content": SNIPPET.format(place)}
                for place in (1, 2)
            ]
            return "search", _as_json({"query": "", "results": rows})
        body = json.loads(request.body)
        told = body["messages"][0]["content"]
        part = next(part for begins, part in _PROMPTS.items() if told.startswith(begins))
        return part, _streamed(PIECES) if body.get("stream") else _as_json(completion("m", _REPLIES[part]))


def _failed(failure: Failure, part: Part, good: Reply, told: str) -> Reply:
    """`told`: what a careless server repeats in its errors, the key that it was sent."""
    match failure:
        case "429" | "500":
            return replace(_as_json({"error": {"message": told}}), status=int(failure))
        case "hang":
            return Reply(ends="hang")
        case "refused":
            return Reply(ends="reset")
        case "killed":
            half, before = good.body[: len(good.body) // 2], good.pieces[:SHOWN_BEFORE_THE_KILL]
            return replace(good, body=half, pieces=before, ends="cut")
        case "bomb":
            return replace(good, body=_bomb(), pieces=(), headers={"Content-Encoding": "gzip"})
        case "garbage" if good.pieces:
            return replace(good, pieces=[f"data: <html>{told}</html>\n\n".encode()])
        case "garbage" if part == "fetch":
            return replace(good, body=b"\x00\x01\x02" + told.encode())
        case "garbage":
            return Reply(body=f"<html><body>{told}</body></html>".encode())
        case "words" if part == "search":
            return _as_json({"results": told})
        case "words":
            return _streamed([]) if good.pieces else _as_json(completion("m", _USELESS))
        case "loop":
            return _streamed(["Hiring took eighty days [1]. "] * 2000)
        case "endless":
            return _streamed([f"word{number} " for number in range(100_000)])


def _as_json(values: object) -> Reply:
    return Reply(kind="application/json", body=json.dumps(values).encode())


def _streamed(words: list[str]) -> Reply:
    return Reply(kind="text/event-stream", pieces=[*(chunk("m", each) for each in words), chunk("m", "", "stop"), DONE])


@cache
def _bomb() -> bytes:
    return gzip.compress(b" " * (4 * MAX_REPLY))


def world(fails: Mapping[Part, Failure] | None = None) -> AbstractContextManager[World]:
    """A running world in which these parts fail and all others work."""
    return running(World(fails or {}))


@contextmanager
def nobody() -> Iterator[str]:
    """An address at which nobody listens, and nobody else can begin to."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


@contextmanager
def swallowed() -> Iterator[str]:
    """An address at which a connection is neither accepted nor refused: its queue is full."""
    with socket.socket() as held, ExitStack() as waiting:
        held.bind(("127.0.0.1", 0))
        held.listen(0)
        for _ in range(4):
            caller = waiting.enter_context(socket.socket())
            caller.setblocking(False)
            caller.connect_ex(held.getsockname())
        yield f"http://127.0.0.1:{held.getsockname()[1]}"
