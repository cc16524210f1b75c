"""Embeddings by a server: the Embedder contract over a real connection, batches, failures as ours, keys in no log."""

from collections.abc import Iterator

import numpy as np
import pytest
from pydantic import SecretStr

from crag.core.errors import BudgetError, BusyError, KeyRejectedError, ProviderError, ReplyError, UnreachableError
from crag.core.types import Call
from crag.providers.embedding import PARALLEL, TEXTS, ServerEmbedder
from crag.providers.endpoint import Endpoint
from crag.runtime.circuits import RUNS, Circuits
from crag.runtime.usage import Budget, UsageTracker
from crag.testing.contracts import EmbedderContract
from crag.testing.fakes import FakeClock
from tests.support.library_makers import HashEmbedder
from tests.support.model_server import KEY, Server, serving


@pytest.fixture(scope="class")
def shared() -> Iterator[Server]:
    with serving() as running:
        yield running


def embedder(server: Server, model: str = "words", circuits: Circuits | None = None) -> ServerEmbedder:
    endpoint = Endpoint(provider="openai-compatible", model=model, base_url=server.address, key=SecretStr(KEY))
    return ServerEmbedder(endpoint, lambda: UsageTracker(clock=FakeClock(), circuits=circuits))


class TestServerEmbedder(EmbedderContract):
    @pytest.fixture(autouse=True)
    def _served(self, shared: Server) -> None:
        self.server = shared

    def make(self) -> ServerEmbedder:
        return embedder(self.server, "meaning")


def test_vectors_come_in_the_order_of_the_texts_by_several_requests_at_once(server: Server) -> None:
    server.seconds = 0.1
    texts = [f"text number {number}" for number in range(5 * TEXTS + 3)]
    found = embedder(server).embed(texts)
    assert np.allclose(found, HashEmbedder("words").embed(texts), atol=1e-5)
    assert sorted(len(body["input"]) for _, body in server.seen) == [3, *[TEXTS] * 5]
    assert {path for path, _ in server.seen} == {"/v1/embeddings"}
    assert 1 < server.most <= PARALLEL


def test_its_id_names_model_and_server_and_its_length_is_asked_for_once(server: Server) -> None:
    made = embedder(server)
    assert made.id == f"openai-compatible:words@127.0.0.1:{server.server_port}"
    assert (made.dimension, made.dimension) == (64, 64) and len(server.seen) == 1
    assert made.embed([]).shape == (0, 64)


def test_a_run_s_calls_are_counted_with_their_tokens_and_end_with_its_budget(server: Server) -> None:
    calls: list[Call] = []
    meter = UsageTracker(Budget(calls=2), listener=calls.append, clock=FakeClock())
    own = embedder(server).metered(meter)
    own.embed(["a question"])
    own.embed(["another"])
    assert [(call.provider, call.model, call.input_tokens, call.error) for call in calls] == [
        ("openai-compatible", "words", 7, None)
    ] * 2
    with pytest.raises(BudgetError):
        own.embed(["one too many"])


@pytest.mark.parametrize(
    ("model", "kind", "requests"),
    [
        ("wrong-key", KeyRejectedError, 1),
        ("unknown", ProviderError, 1),
        ("busy", BusyError, 3),
        ("broken", BusyError, 3),
        ("dropped", UnreachableError, 3),
        ("not-json", ReplyError, 1),
        ("fewer", ReplyError, 1),
        ("zeros", ReplyError, 1),
    ],
)
def test_each_failure_is_one_of_ours_and_tells_no_key(
    server: Server, model: str, kind: type[ProviderError], requests: int, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(kind) as caught:
        embedder(server, model).embed(["a text"])
    assert len(server.seen) == requests
    assert KEY not in f"{caught.value!r} {caught.value} {caught.value.remedy} {caplog.text}"


def test_a_server_that_is_busy_once_is_asked_again(server: Server) -> None:
    assert embedder(server, "busy-once").embed(["a text"]).shape == (1, 64)


def test_a_server_that_keeps_failing_is_left_alone(server: Server) -> None:
    made = embedder(server, "broken", Circuits(FakeClock()))
    for _ in range(RUNS):
        with pytest.raises(ProviderError):
            made.embed(["a text"])
    asked = len(server.seen)
    with pytest.raises(ProviderError, match="left alone"):
        made.embed(["a text"])
    assert len(server.seen) == asked
