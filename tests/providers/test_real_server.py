"""A real model behind a real server: schemas, streams, Stop, keys, too much text, a killed server, a whole run.

The model is far too small to be right. Tests look at the form of what it says, never at whether it is true.
"""

import re
import threading
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, Field, SecretStr

from crag.core import events as ev
from crag.core.config import AppConfig, Keys
from crag.core.errors import CancelledError, KeyRejectedError, ReplyError, UnreachableError
from crag.core.events import event_to_json
from crag.core.protocols import RunRequest
from crag.core.settings import Settings
from crag.core.types import Action, Call, Passage
from crag.evaluation.llm import LlmEvaluator
from crag.providers.chat import CONNECT, SILENCE, ChatModel, MeteredChat
from crag.providers.discovery import list_models, try_model
from crag.providers.endpoint import Endpoint
from crag.runtime.usage import Budget, UsageTracker
from tests.support.real_server import CONTEXT, KEY, MODEL, SLOTS, RealServer
from tests.support.small_library import TEXTS, engine_with_texts

pytestmark = pytest.mark.slow

HELLO = [("human", "Say hello.")]
COUNTING = [("human", "Write the numbers from 1 to 1000, one after another, with commas.")]
LONG = 1500
"""Tokens that the model takes half a minute to write."""
WRONG = "sk-wrong-key-of-the-tests"


class Colour(BaseModel):
    """Which no text is unless the server holds the model to the schema."""

    colour: Literal["red", "green", "blue"]
    bright: bool


class Numbers(BaseModel):
    """So many that the reply takes long."""

    numbers: list[int] = Field(min_length=LONG // 2)


@pytest.fixture
def calls() -> list[Call]:
    return []


def endpoint(server: RealServer, model: str = MODEL, key: str = KEY) -> Endpoint:
    return Endpoint(provider="openai-compatible", model=model, base_url=server.address, key=SecretStr(key))


def chat(
    server: RealServer, calls: list[Call], cancel: threading.Event | None = None, key: str = KEY, model: str = MODEL
) -> MeteredChat:
    return ChatModel(endpoint(server, model, key)).metered(UsageTracker(Budget(), cancel, calls.append))


def test_the_limits_on_waiting_are_those_of_the_client_that_waits() -> None:
    """LangChain hands its own limits, none, to every request, whatever the connection was made with."""
    bound = ChatModel(Endpoint(provider="openai-compatible", model=MODEL)).bound(max_tokens=5)
    waits = bound.bound.root_async_client.timeout
    assert (waits.connect, waits.read) == (CONNECT, SILENCE)


def test_objects_are_held_to_their_schema_many_at_once(real_server: RealServer, calls: list[Call]) -> None:
    """None of these questions speaks of JSON: only the grammar that the server makes of the schema can bring it."""
    asked = [[("human", f"What is the colour of {thing}?")] for thing in ("grass", "blood", "the sky")]
    found = list(chat(real_server, calls).parsed_each(Colour, asked, max_tokens=60))
    assert sorted(place for place, _, _ in found) == [0, 1, 2] and len(asked) > SLOTS
    assert all(isinstance(each, Colour) for _, each, _ in found)
    assert [(call.attempt, call.error) for call in calls] == [(1, None)] * 3


def test_tokens_are_counted_as_the_server_counts_them(real_server: RealServer, calls: list[Call]) -> None:
    counted = real_server.raw(messages=[{"role": "user", "content": COUNTING[0][1]}], max_tokens=1)["usage"]
    one = chat(real_server, calls)
    assert one.text(COUNTING, max_tokens=20)
    assert len(list(one.written(COUNTING, max_tokens=20))) > 1
    assert [(call.input_tokens, call.output_tokens) for call in calls] == [(counted["prompt_tokens"], 20)] * 2


@pytest.mark.heavy  # the whole run grades, too
def test_passages_are_graded_each_with_a_score_and_a_reason_or_failed(
    real_server: RealServer, calls: list[Call]
) -> None:
    """A grammar holds no range of numbers. Where so small a model leaves it, that is a failed grade, never a score."""
    evaluator = LlmEvaluator(chat(real_server, calls))
    passages = [Passage(id=str(place), text=text) for place, text in enumerate(TEXTS[:3])]
    grades = list(evaluator.grade("Is the sky blue?", passages))
    assert sorted(grade.passage_id for grade in grades) == ["0", "1", "2"]
    for grade in grades:
        assert grade.error if grade.score is None else 0 <= grade.score <= 1 and grade.reason
    assert len(calls) >= 3 and all(call.input_tokens and call.output_tokens for call in calls)


def test_stop_ends_a_stream_and_frees_the_server(real_server: RealServer, calls: list[Call]) -> None:
    cancel, pieces, before = threading.Event(), [], real_server.made()
    with pytest.raises(CancelledError):
        for piece in chat(real_server, calls, cancel).written(COUNTING, max_tokens=LONG):
            pieces.append(piece)
            if len(pieces) == 3:
                assert real_server.busy() == 1  # so pieces come while the reply is being made
                cancel.set()
    assert len(pieces) == 3
    assert real_server.becomes_idle()
    assert real_server.made() - before < LONG / 2
    assert chat(real_server, calls).text(HELLO, max_tokens=5)


def test_stop_ends_a_whole_reply_and_frees_the_server(real_server: RealServer, calls: list[Call]) -> None:
    """The server writes nothing until its end, so it must look whether the connection is still there."""
    cancel, before = threading.Event(), real_server.made()
    watching = threading.Thread(target=lambda: (real_server.becomes_busy(), cancel.set()))
    watching.start()
    with pytest.raises(CancelledError):
        chat(real_server, calls, cancel).parsed(Numbers, COUNTING, max_tokens=LONG)
    watching.join()
    assert real_server.becomes_idle()
    assert real_server.made() - before < LONG / 2


def test_a_wrong_key_is_rejected_once_and_never_told(real_server: RealServer, calls: list[Call]) -> None:
    one = chat(real_server, calls, key=WRONG)
    for attempt in (
        lambda: one.text(HELLO, max_tokens=5),
        lambda: list(one.written(HELLO, max_tokens=5)),
        lambda: one.parsed(Colour, HELLO, max_tokens=5),
        lambda: try_model(endpoint(real_server, key=WRONG)),
        lambda: list_models(endpoint(real_server, key=WRONG)),
    ):
        with pytest.raises(KeyRejectedError) as caught:
            attempt()
        assert "does not accept the key" in str(caught.value) and WRONG not in str(caught.value)
    assert len(calls) == 3 and WRONG not in repr(calls)


def test_a_model_of_another_name_is_the_one_that_is_loaded(real_server: RealServer, calls: list[Call]) -> None:
    """llama.cpp serves one model and does not look at the name asked for: a wrong one works, and is what we record.

    Servers of many models say 404 (tests/providers/test_chat.py). Here only the list tells the true name.
    """
    assert chat(real_server, calls, model="no-such-model").text(HELLO, max_tokens=5)
    assert [(call.model, call.error) for call in calls] == [("no-such-model", None)]
    assert list_models(endpoint(real_server, model="no-such-model")) == [MODEL]


@pytest.mark.parametrize("way", ["text", "stream", "object"])
def test_too_much_text_is_said_to_be_that_and_not_sent_again(
    real_server: RealServer, calls: list[Call], way: str
) -> None:
    one, asked = chat(real_server, calls), [("human", "word " * CONTEXT)]
    with pytest.raises(ReplyError, match="can't read so much text at once"):
        match way:
            case "text":
                one.text(asked, max_tokens=5)
            case "stream":
                list(one.written(asked, max_tokens=5))
            case "object":
                one.parsed(Colour, asked, max_tokens=5)
    assert len(calls) == 1 and calls[0].error


def test_a_server_that_dies_in_the_middle_of_a_reply(doomed_server: RealServer, calls: list[Call]) -> None:
    """What it has said is the caller's to keep; nothing is asked for again until the caller does, and then in vain."""
    one, pieces = chat(doomed_server, calls), []
    with pytest.raises(UnreachableError, match="can't be reached, or broke off") as caught:
        for piece in one.written(COUNTING, max_tokens=LONG):
            pieces.append(piece)
            if len(pieces) == 3:
                doomed_server.kill()
    assert "".join(pieces).strip()
    assert len(calls) == 1
    assert KEY not in str(caught.value) and KEY not in repr(calls)
    with pytest.raises(UnreachableError):
        one.text(HELLO, max_tokens=5)
    assert [call.attempt for call in calls] == [1, 1, 2, 3] and all(call.error for call in calls)


def test_a_whole_run_on_this_server(real_server: RealServer, tmp_path: Path) -> None:
    """Every grade and the answer by the model. Whatever it thinks of the texts, they are used: so the path is fixed."""
    config = AppConfig.of(
        data=tmp_path,
        llm="openai-compatible",
        llm_base_url=real_server.address,
        llm_model=MODEL,
        evaluator="llm",
        run_seconds=900,  # where the cores have other work
    )
    settings = Settings(k=2, internal_on=tuple(Action), loop_on=(), web_on=(), refine_on=(), min_answer_score=0.0)
    with engine_with_texts(config, keys=Keys(llm=SecretStr(KEY))) as engine:
        events = list(engine.ask(RunRequest("How long did hiring take in 2019?", settings=settings)))
    *_, answered = [event for event in events if isinstance(event, ev.Answered)]
    assert isinstance(events[-1], ev.RunFinished)
    assert not any(isinstance(event, ev.Failed) and event.fatal for event in events)
    assert answered.answer.by.endswith(real_server.address.removeprefix("http://").removesuffix("/v1"))
    pieces = [event.text for event in events if isinstance(event, ev.Token)]
    bare = [re.sub(r" *\[\d+\]", "", text).strip() for text in ("".join(pieces), answered.answer.text)]
    assert pieces and bare[0] == bare[1]  # but for marks, of which the check keeps those that hold
    called = [event.call for event in events if isinstance(event, ev.Called)]
    made = [call for call in called if not call.error]  # a call may be cut off where the cores have other work
    assert {"evaluate", "answer"} <= {call.step for call in made} and all(call.output_tokens for call in made)
    assert not any(KEY in event_to_json(event) for event in events)
    assert not any(KEY.encode() in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
