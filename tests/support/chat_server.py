"""The HTTP server in a thread of the test, over fast parts and a writer that does what the question says."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from crag.admin.access import Access
from crag.core.config import AppConfig
from crag.core.errors import ReplyError
from crag.core.settings import Settings
from crag.core.types import Answer, Chunk, Strip, WebPage
from crag.engine import Engine
from crag.generation.extractive import ExtractiveGenerator
from crag.integrations.http.app import app, server
from crag.integrations.http.serving import Limits
from crag.runtime.processes import listening
from crag.testing.fakes import ScriptedEvaluator
from tests.support.small_library import WordEmbedder, fill

TOKEN, OTHER = "alpha-token-0123456789", "beta-token-0123456789"
PICTURE = "![seen](http://127.0.0.1:9/pixel.png) <img src=x> [here](http://127.0.0.1:9/)"


@dataclass
class Writer:
    """Quotes. A question with the word endless is answered until the run is stopped, with breaks the writer fails in
    the middle, with hostile it writes Markdown.
    """

    by: str = "scripted"
    writing: threading.Event = field(default_factory=threading.Event)

    def answer(
        self, question: str, knowledge: Sequence[Strip], sources: dict[str, Chunk | WebPage], settings: Settings
    ) -> Iterator[str | Answer]:
        if "endless" in question:
            while True:
                yield "on and on "
                self.writing.set()
                threading.Event().wait(0.002)  # a model has a pace, too
        if "breaks" in question:
            yield "Half "
            raise ReplyError("The model's reply was cut off.")
        if "hostile" in question:
            yield from (*PICTURE, Answer(text=PICTURE, by=self.by, remarks=("cut",)))
        else:
            yield from ExtractiveGenerator().answer(question, knowledge, sources, settings)


@dataclass(frozen=True)
class ChatServer:
    url: str
    engine: Engine
    writer: Writer

    def client(self, token: str = TOKEN, **headers: str) -> httpx.Client:
        return httpx.Client(
            base_url=self.url, headers={"Authorization": f"Bearer {token}", **headers}, timeout=60, trust_env=False
        )


@contextmanager
def chat_server(folder: Path, limits: Limits | None = None, **chosen: Any) -> Iterator[ChatServer]:
    """A server until the block ends; its workspace alpha has documents, beta none. `chosen`: of its configuration."""
    writer = Writer()
    evaluator = ScriptedEvaluator(score=lambda text: 0.9 if "eighty" in text else 0.3)
    engine = Engine(AppConfig.of(data=folder, **chosen), embedder=WordEmbedder(), evaluator=evaluator, generator=writer)
    fill(engine, workspace="alpha")
    made = server(app(engine, Access([(TOKEN, "alpha"), (OTHER, "beta")]), limits))
    with listening("127.0.0.1", 0) as held:
        serving = threading.Thread(target=made.run, kwargs={"sockets": [held]})
        serving.start()
        try:
            yield ChatServer(f"http://127.0.0.1:{held.getsockname()[1]}", engine, writer)
        finally:
            made.should_exit = True
            serving.join()
            engine.close()
