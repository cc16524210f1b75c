"""The HTTP server in a process of its own, over fast parts, with an evaluator that can be held."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.shell import line_of, started

TOKEN, OTHER = "alpha-token-0123456789", "beta-token-0123456789"
HELD = "hold this text"
FREE = {("GET", path) for path in ("/healthz", "/readyz", "/metrics", "/openapi.json")}
"""The addresses that ask for no token."""
GUARDED = {
    ("GET", "/v1/models"),
    ("GET", "/v1/models/{id}"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/ask"),
    ("GET", "/v1/runs/{id}"),
    ("POST", "/v1/rerank"),
    ("POST", "/v2/rerank"),
    ("POST", "/rerank"),
    ("POST", "/v1/search"),
    ("GET", "/v1/documents"),
    ("POST", "/v1/documents"),
    ("GET", "/v1/documents/{id}"),
    ("DELETE", "/v1/documents/{id}"),
}
"""All the others."""


@dataclass(frozen=True)
class HttpServer:
    """A server that answers. Its log is read through `said`."""

    url: str
    process: subprocess.Popen[str]

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def said(self, words: str) -> str:
        """The next line of its output that holds these words; waits for it."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if words in line:
                return line
        raise AssertionError(f"the server ended without saying {words!r}")

    def release(self) -> None:
        """The text that is held is graded."""
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()


@contextmanager
def http_server(data: Path, *options: str, tokens: bool = True, **given: str) -> Iterator[HttpServer]:
    """`crag serve` until the block ends, with these variables besides."""
    variables = {"CRAG_DATA": str(data), **given}
    if tokens:
        variables["CRAG_TOKENS"] = f"{TOKEN}=alpha,{OTHER}=beta"
    command = ["-m", "tests.support.http_server", "serve", "--port", "0", "--json", *options]
    with started(*command, stderr=subprocess.STDOUT, **variables) as process:
        try:
            first = line_of(process)
            if not first.startswith("{"):
                raise RuntimeError(f"the server did not start: {first}{process.communicate()[0]}")
            yield HttpServer(json.loads(first)["url"], process)
        finally:
            process.kill()


def _main() -> int:
    from crag.cli.main import main
    from crag.core.config import AppConfig
    from crag.engine import Engine
    from crag.testing.fakes import ScriptedEvaluator
    from tests.support.small_library import WordEmbedder, spread

    def score(text: str) -> float:
        if text == HELD:
            sys.stdout.write("held\n")
            sys.stdout.flush()
            sys.stdin.readline()
        return spread(text)

    def make(config: AppConfig) -> Engine:
        return Engine(config, embedder=WordEmbedder(), evaluator=ScriptedEvaluator(score=score))

    return main(sys.argv[1:], make)


if __name__ == "__main__":
    sys.exit(_main())
