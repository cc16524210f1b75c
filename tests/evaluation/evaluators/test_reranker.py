"""The evaluator behind any server with the common rerank form: what it sends, what it reads, and how it fails."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pytest
from pydantic import SecretStr

from crag.core.errors import KeyRejectedError, ProviderError
from crag.core.types import Call, Grade, Passage
from crag.evaluation.reranker import RerankEvaluator
from crag.providers.endpoint import Endpoint
from crag.providers.rerank import Reranker
from crag.runtime.usage import Budget, UsageTracker
from crag.testing.contracts import EvaluatorContract
from tests.support.web_server import Reply, Request, Server, serving

QUESTION = "When was the Forth Bridge opened?"
KEY = "rerank-secret-5Hs8"

Answer = Callable[[dict[str, Any]], Any]


def shared_words(body: dict[str, Any]) -> dict[str, Any]:
    """A reply in the form of most servers, best first: how many of the query's words a document holds."""
    words = set(body["query"].lower().split())
    found = [len(words & set(text.lower().split())) / max(1, len(words)) for text in body["documents"]]
    ranked = sorted(range(len(found)), key=lambda place: -found[place])
    return {"results": [{"index": place, "relevance_score": found[place]} for place in ranked]}


def reranking(reply: Answer = shared_words, status: int = 200) -> AbstractContextManager[Server]:
    """A server. A reply that is bytes goes out as it is."""

    def answer(request: Request) -> Reply:
        made = reply(json.loads(request.body))
        return Reply(status=status, body=made if isinstance(made, bytes) else json.dumps(made).encode())

    return serving(answer)


def evaluator(server: Server, calls: list[Call] | None = None) -> RerankEvaluator:
    heard: list[Call] = [] if calls is None else calls
    place = Endpoint(provider="reranker", model="m", base_url=f"{server.address}/v1", key=SecretStr(KEY))
    return RerankEvaluator(Reranker(place, UsageTracker(Budget(seconds=5), listener=heard.append)))


def graded(server: Server, texts: Sequence[str], calls: list[Call] | None = None) -> list[Grade]:
    passages = [Passage(id=str(place), text=text) for place, text in enumerate(texts)]
    return list(evaluator(server, calls).grade(QUESTION, passages))


class TestRerankEvaluator(EvaluatorContract):
    @pytest.fixture(autouse=True)
    def _server(self) -> Iterator[None]:
        with reranking() as self.server:
            yield

    def make(self) -> RerankEvaluator:
        return evaluator(self.server)


def test_all_passages_go_in_one_call_with_the_key_and_come_back_in_order() -> None:
    calls: list[Call] = []
    with reranking() as server:
        grades = graded(server, ["Bread is baked.", "The Forth Bridge was opened in 1890.", "  "], calls)
    [sent] = server.seen
    assert (sent.path, sent.headers["Authorization"]) == ("/v1/rerank", f"Bearer {KEY}")
    assert json.loads(sent.body) == {
        "model": "m",
        "query": QUESTION,
        "documents": ["Bread is baked.", "The Forth Bridge was opened in 1890."],
    }
    assert [grade.passage_id for grade in grades] == ["0", "1", "2"]
    assert grades[1].score > grades[0].score and grades[2].score == 0.0  # type: ignore[operator]
    assert [(call.model, call.error) for call in calls] == [("m", None)]


@pytest.mark.parametrize(
    "reply",
    [
        {"results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.2}]},
        {"data": [{"index": 0, "relevance_score": 0.2}, {"index": 1, "relevance_score": 0.9}]},
        [{"index": 0, "score": 0.2}, {"index": 1, "score": 0.9}],
    ],
    ids=["results", "data", "bare list"],
)
def test_the_forms_of_a_reply_that_servers_share(reply: Any) -> None:
    with reranking(lambda body: reply) as server:
        assert [grade.score for grade in graded(server, ["a", "b"])] == [0.2, 0.9]


def test_scores_beyond_0_to_1_are_logits() -> None:
    with reranking(lambda body: [{"index": 0, "score": -8.0}, {"index": 1, "score": 900.0}]) as server:
        low, high = (grade.score for grade in graded(server, ["a", "b"]))
    assert low == pytest.approx(0.000335, rel=0.01) and high == pytest.approx(1.0)


@pytest.mark.parametrize(
    "reply",
    [
        b"<html>busy</html>",
        b'{"results": [{"index": 0, "relevance_score": NaN}, {"index": 1, "relevance_score": 1}]}',
        {"results": [{"index": 0, "relevance_score": 0.5}]},
        {"results": [{"index": 0, "relevance_score": 0.5}, {"index": 2, "relevance_score": 0.5}]},
        {"results": [{"index": 0, "relevance_score": "high"}, {"index": 1, "relevance_score": True}]},
        {"results": "none"},
    ],
)
def test_a_reply_that_does_not_score_every_text_fails_every_grade(reply: Any) -> None:
    calls: list[Call] = []
    with reranking(lambda body: reply) as server:
        grades = graded(server, ["a", "b"], calls)
    assert all(grade.failed and grade.who.startswith("reranker:m@127.0.0.1") for grade in grades)
    assert calls[0].error


@pytest.mark.parametrize(("status", "says"), [(401, "key"), (403, "key"), (429, "429"), (500, "500"), (404, "404")])
def test_a_status_is_told_and_the_server_s_words_are_not(status: int, says: str) -> None:
    with reranking(lambda body: {"error": f"no {KEY}"}, status) as server:
        [grade] = graded(server, ["a"])
    assert says in (grade.error or "") and KEY not in repr(grade)


def test_a_long_text_is_cut_and_an_address_is_needed() -> None:
    with reranking() as server:
        graded(server, ["word " * 5000])
    assert len(json.loads(server.seen[0].body)["documents"][0]) == 8000
    with pytest.raises(ProviderError, match="address"):
        Reranker(Endpoint(provider="reranker", model="m"), UsageTracker())


def test_a_refused_key_is_an_error_of_its_own() -> None:
    with reranking(status=401) as server:
        place = Endpoint(provider="reranker", model="m", base_url=f"{server.address}/v1")
        with pytest.raises(KeyRejectedError):
            Reranker(place, UsageTracker()).rerank("?", ["a"])
    assert server.seen[0].headers.get("Authorization") is None
