"""Calls of a chat model: its contract, objects, streams, failures as ours, retries, budget, Stop, and no key told."""

import re
import threading
import time
from collections.abc import Iterator

import pytest
from pydantic import BaseModel, Field, SecretStr

from crag.core.errors import (
    BudgetError,
    BusyError,
    CancelledError,
    KeyRejectedError,
    ProviderError,
    ReplyError,
    UnreachableError,
)
from crag.core.protocols import Chat, Cut
from crag.core.types import Call
from crag.providers.chat import FIRST_WAIT, TOKEN_CHARS, ChatModel, MeteredChat
from crag.providers.endpoint import Endpoint
from crag.runtime import waiting
from crag.runtime.usage import Budget, UsageTracker
from crag.testing import contracts
from crag.testing.fakes import FakeClock
from tests.support.model_server import GRADE, KEY, WORDS, Server, serving

ASKED = [("system", "Reply with JSON."), ("human", "How good is it?")]


class Score(BaseModel):
    reason: str
    score: float = Field(ge=0, le=1)


def chat(
    server: Server, model: str, calls: list[Call] | None = None, clock: FakeClock | None = None, **budget: float
) -> MeteredChat:
    heard, limits = [] if calls is None else calls, {"seconds": 60.0, **budget}
    meter = UsageTracker(Budget(**limits), listener=heard.append, clock=clock or FakeClock())  # type: ignore[arg-type]
    return ChatModel(endpoint(server, model)).metered(meter)


def endpoint(server: Server, model: str) -> Endpoint:
    return Endpoint(provider="openai-compatible", model=model, base_url=server.address, key=SecretStr(KEY))


class TestMeteredChat(contracts.ChatContract):
    @pytest.fixture
    def chat(self, server: Server) -> Chat:
        server.words = re.findall(r"\S+\s*", contracts.GRADE)
        return chat(server, "ok")


def test_an_object_by_schema_and_its_tokens_are_counted(server: Server) -> None:
    calls: list[Call] = []
    assert chat(server, "ok", calls).parsed(Score, ASKED, max_tokens=50) == Score(reason="it says so", score=0.7)
    [(path, body)] = server.seen
    assert path == "/v1/chat/completions"
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["reason", "score"]
    assert [(call.input_tokens, call.output_tokens, call.error) for call in calls] == [(30, 10, None)]


def test_a_stream_comes_in_pieces_and_its_tokens_are_counted(server: Server) -> None:
    calls: list[Call] = []
    assert list(chat(server, "ok", calls).written(ASKED, max_tokens=50)) == WORDS
    assert [(call.input_tokens, call.output_tokens) for call in calls] == [(40, 12)]


def test_a_server_without_schemas_is_asked_without_from_then_on(server: Server) -> None:
    model = ChatModel(endpoint(server, "no-schema"))
    for _ in range(2):
        assert model.metered(UsageTracker()).parsed(Score, ASKED, max_tokens=50).score == 0.7
    assert ["response_format" in body for _, body in server.seen] == [True, False, False]


def test_a_reply_that_is_no_object_is_asked_for_once_more(server: Server) -> None:
    assert chat(server, "repaired").parsed(Score, ASKED, max_tokens=50).score == 0.7
    assert "not usable" in server.seen[1][1]["messages"][-1]["content"]


@pytest.mark.parametrize("reply", ['{"reason": "x", "score": 1.7}', '{"score": "high"}', "[1]", "", "{", '{"a": 1}'])
def test_what_is_out_of_range_or_malformed_twice_is_an_error(server: Server, reply: str) -> None:
    server.reply = reply
    with pytest.raises(ReplyError):
        chat(server, "ok").parsed(Score, ASKED, max_tokens=50)
    assert len(server.seen) == 2


FAILURES: list[tuple[str, type[ProviderError], int]] = [
    ("wrong-key", KeyRejectedError, 1),
    ("unknown", ProviderError, 1),
    ("over-long", ReplyError, 1),
    ("busy", BusyError, 3),
    ("broken", BusyError, 3),
    ("dropped", UnreachableError, 3),
    ("not-json", ReplyError, 1),
]


@pytest.mark.parametrize(("model", "kind", "asked"), FAILURES, ids=[each[0] for each in FAILURES])
@pytest.mark.parametrize("way", ["object", "stream"])
def test_every_failure_is_one_of_ours_retried_only_where_that_helps(
    server: Server, model: str, kind: type[ProviderError], asked: int, way: str
) -> None:
    calls: list[Call] = []
    one = chat(server, model, calls)
    with pytest.raises(kind) as caught:
        _ = one.parsed(Score, ASKED, max_tokens=50) if way == "object" else list(one.written(ASKED, max_tokens=50))
    assert len(server.seen) == len(calls) == asked
    assert all(call.error for call in calls)
    assert KEY not in str(caught.value) and KEY not in repr(calls) and KEY not in repr(endpoint(server, model))


def test_each_attempt_waits_twice_as_long_more_or_less_and_the_run_s_time_goes_on(server: Server) -> None:
    clock = FakeClock()
    with pytest.raises(BusyError):
        chat(server, "busy", clock=clock).text(ASKED, max_tokens=5)
    first, second = clock.pauses
    assert FIRST_WAIT / 2 <= first <= FIRST_WAIT * 1.5 and FIRST_WAIT <= second <= FIRST_WAIT * 3
    with pytest.raises((BudgetError, UnreachableError)):
        chat(server, "busy", seconds=0.55).text(ASKED, max_tokens=5)
    assert len(server.seen) < 6


def test_a_stream_that_breaks_off_is_an_error_and_never_begun_again(server: Server) -> None:
    pieces = []
    with pytest.raises(UnreachableError, match="broke off"):
        for piece in chat(server, "cut-off").written(ASKED, max_tokens=50):
            pieces.append(piece)
    assert pieces == WORDS[:3]
    assert len(server.seen) == 1


def test_a_stream_that_reached_its_limit_says_so(server: Server) -> None:
    assert list(chat(server, "too-long").written(ASKED, max_tokens=50)) == [*WORDS, " …"]


@pytest.mark.parametrize("way", ["object", "text", "stream"])
def test_a_model_that_thinks_until_its_limit_gets_room_once(server: Server, way: str) -> None:
    calls: list[Call] = []
    model = ChatModel(endpoint(server, "thinks"))
    chat = model.metered(UsageTracker(Budget(seconds=5.0), listener=calls.append))
    server.reply = GRADE if way == "object" else "It is."
    said = {
        "object": lambda: chat.parsed(Score, ASKED, max_tokens=50).score,
        "text": lambda: chat.text(ASKED, max_tokens=50),
        "stream": lambda: list(chat.written(ASKED, max_tokens=50)),
    }[way]
    expected = {"object": 0.7, "text": "It is.", "stream": WORDS}[way]
    assert said() == expected and said() == expected
    assert [body["max_completion_tokens"] for _, body in server.seen] == [50, 4050, 4050]
    assert (calls[0].input_tokens, calls[0].output_tokens) == (40, 50) and calls[0].error


@pytest.mark.parametrize("model", ["no-schema", "thinks"])
def test_what_one_of_many_calls_learns_serves_the_others(model: str) -> None:
    with serving(seconds=0.3) as server:
        found = list(chat(server, model).parsed_each(Score, [ASKED] * 8, max_tokens=50))
        assert server.most > 1
    assert [outcome for _, outcome, _ in found if isinstance(outcome, ProviderError)] == []


@pytest.mark.parametrize(
    "words", [["<think>Let me see", " it [3].</think>\n", "\nIt is."], ["<thi", "nk>a</think>It is."]]
)
def test_thoughts_between_tags_are_no_part_of_a_reply(server: Server, words: list[str]) -> None:
    server.words, server.reply = words, "".join(words)
    assert "".join(chat(server, "ok").written(ASKED, max_tokens=50)) == "It is."
    assert chat(server, "ok").text(ASKED, max_tokens=50) == "It is."
    server.reply = "<think>{not it}</think>" + GRADE
    assert chat(server, "ok").parsed(Score, ASKED, max_tokens=50).score == 0.7


def test_a_hanging_server_costs_no_more_than_the_runs_time(server: Server) -> None:
    calls: list[Call] = []
    clock = FakeClock()
    clock.hangs.set()
    one = chat(server, "hang", calls, clock)
    with pytest.raises(UnreachableError):
        one.text(ASKED, max_tokens=5)
    with pytest.raises(BudgetError):
        one.text(ASKED, max_tokens=5)


def test_a_call_without_time_is_refused_for_that_also_when_its_thread_is_busy(server: Server) -> None:
    one = chat(server, "hang", [], seconds=0.0)
    waiting._loop().call_soon_threadsafe(time.sleep, 4 * waiting.BEAT)
    with pytest.raises(BudgetError):
        one.text(ASKED, max_tokens=5)


def test_stop_ends_a_stream_in_the_middle_and_the_server_sees_it(server: Server) -> None:
    cancel = threading.Event()
    one = ChatModel(endpoint(server, "slow")).metered(UsageTracker(cancel=cancel))
    with pytest.raises(CancelledError):
        for _ in one.written(ASKED, max_tokens=50):
            cancel.set()
    until = time.monotonic() + 60
    while server.open and time.monotonic() < until:
        time.sleep(0.02)
    assert server.cut_off == 1


def test_many_at_once_each_as_it_is_ready_and_a_failure_stays_alone() -> None:
    with serving(seconds=0.1) as server:
        one = ChatModel(endpoint(server, "ok"), parallel=4).metered(UsageTracker())
        found = dict((place, each) for place, each, _ in one.parsed_each(Score, [ASKED] * 12, max_tokens=50))
        assert sorted(found) == list(range(12))
        assert all(isinstance(each, Score) for each in found.values())
        assert server.most == 4


class TestEnvironment:
    """What other programs are told by the environment is not for this one: a key goes where it was given for."""

    @pytest.fixture
    def elsewhere(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
        with serving() as server:
            for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_PROXY"):
                monkeypatch.setenv(name, server.address)
            for name in ("OPENAI_ORG_ID", "OPENAI_ORGANIZATION", "OPENAI_PROJECT_ID"):
                monkeypatch.setenv(name, "somebody-else")
            yield server

    def test_openais_own_models_are_asked_at_openai(self, elsewhere: Server) -> None:
        """Looked at, not asked: nothing is sent from here."""
        endpoint = Endpoint(provider="openai", model="ok", key=SecretStr(KEY))
        client = ChatModel(endpoint).bound(max_tokens=5).bound.root_async_client
        assert str(client.base_url) == "https://api.openai.com/v1/"
        assert "somebody-else" not in [str(value) for value in client.default_headers.values()]
        assert elsewhere.seen == []

    def test_another_server_is_asked_at_its_own_address(self, elsewhere: Server) -> None:
        with serving() as server:
            place = Endpoint(provider="openai-compatible", model="ok", base_url=server.address, key=SecretStr(KEY))
            assert ChatModel(place).metered(UsageTracker()).text([("human", "Hello")], max_tokens=5)
            assert len(server.seen) == 1
        assert elsewhere.seen == []


@pytest.mark.parametrize(
    ("words", "why"),
    [(["It is so. "] * 2000, "looped"), ([f"word{number} " for number in range(100_000)], "overlong")],
    ids=["loops", "100,000 tokens"],
)
def test_a_stream_without_end_is_cut_and_the_server_sees_it(server: Server, words: list[str], why: str) -> None:
    server.words, calls = words, list[Call]()
    *pieces, last = chat(server, "ok", calls).written(ASKED, max_tokens=200)
    assert isinstance(last, Cut) and last.why == why and last == " …"
    assert len("".join(pieces)) < 200 * TOKEN_CHARS + 20 and [call.error for call in calls] == [None]


def test_one_piece_of_any_size_is_cut_within(server: Server) -> None:
    server.words = ["".join(f"word{number} " for number in range(100_000))]
    *pieces, last = chat(server, "ok").written(ASKED, max_tokens=200)
    assert "".join(pieces) == server.words[0][: 200 * TOKEN_CHARS]
    assert isinstance(last, Cut) and last.why == "overlong"


def test_a_reply_that_is_no_stream_is_cut_too(server: Server) -> None:
    server.reply = "word " * 200_000
    assert chat(server, "ok").text(ASKED, max_tokens=20) == server.reply[: 20 * TOKEN_CHARS].strip()


def test_characters_that_a_server_cuts_in_two_are_joined_and_other_halves_replaced(server: Server) -> None:
    server.words = ["It is \ud83d", "\ude00 so", "\ud83d. Yes", " \ud83d"]
    assert "".join(chat(server, "ok").written(ASKED, max_tokens=50)) == "It is \U0001f600 so\ufffd. Yes \ufffd"
    server.reply = '{"reason": "\\ud83d\\ude00 \\ud83d", "score": 0.5}'
    assert chat(server, "ok").parsed(Score, ASKED, max_tokens=50).reason == "\U0001f600 \ufffd"
    server.reply = "Who was it \ud83d?"
    assert chat(server, "ok").text(ASKED, max_tokens=50) == "Who was it \ufffd?"
