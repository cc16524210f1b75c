"""Chat completions: OpenAI's form whole and streamed, what is refused, and what becomes of a run nobody waits for."""

import http.client
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from crag.core.trace import Trace
from crag.text.addresses import JOINER
from tests.support import model_server
from tests.support.chat_server import OTHER, PICTURE, TOKEN, ChatServer, chat_server

ASKED = "How long did the agency take for hiring?"
HOSTILE_NAME = "Robot" + "x" * 100


@pytest.fixture(scope="module")
def client(served: ChatServer) -> Iterator[httpx.Client]:
    with served.client() as made:
        yield made


def body(*said: str, **more: Any) -> dict[str, Any]:
    """A chat in which user and assistant take turns, the user first."""
    roles = ("user", "assistant")
    return {"model": "crag", "messages": [{"role": roles[n % 2], "content": t} for n, t in enumerate(said)], **more}


def post(client: httpx.Client, *said: str, **more: Any) -> dict[str, Any]:
    reply = client.post("/v1/chat/completions", json=body(*said, **more))
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def chunks(client: httpx.Client, *said: str, **more: Any) -> list[dict[str, Any]]:
    """The chunks of a streamed reply, which ends as it has to."""
    reply = client.post("/v1/chat/completions", json=body(*said, stream=True, **more))
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"].startswith("text/event-stream")
    events = [each for each in reply.text.split("\n\n") if each.startswith("data: ")]
    assert events[-1] == "data: [DONE]"
    return [json.loads(each.removeprefix("data: ")) for each in events[:-1]]


def content(found: list[dict[str, Any]]) -> str:
    return "".join(choice["delta"].get("content", "") for each in found for choice in each["choices"])


def refused(client: httpx.Client, status: int, code: str, **changed: Any) -> dict[str, Any]:
    reply = client.post("/v1/chat/completions", json={**body(ASKED), **changed})
    error: dict[str, Any] = reply.json()["error"]
    assert (reply.status_code, error["code"]) == (status, code), reply.text
    return error


def test_an_answer_has_marks_footnotes_and_what_is_known_of_it(served: ChatServer, client: httpx.Client) -> None:
    found = post(client, ASKED)
    [choice] = found["choices"]
    assert (found["object"], found["model"], choice["finish_reason"]) == ("chat.completion", "crag", "stop")
    assert choice["message"]["role"] == "assistant"
    answer, _, under = choice["message"]["content"].partition("\n\n---\n\n")
    assert "eighty days on average" in answer
    assert "[1]" in answer
    assert under.startswith("[1] report.pdf, page 1")
    known = found["crag"]
    assert found["id"].endswith(known["run_id"])
    assert (known["action"], known["score"], known["state"]) == ("CORRECT", 0.9, "answered")
    assert {"report.pdf"} == {each["source"] for each in known["citations"]}
    assert found["usage"] == {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    stored = served.engine.library("alpha").runs.trace(known["run_id"])
    assert (stored.via, stored.client, stored.strategy, stored.workspace) == (
        "http",
        "python-httpx",
        "balanced",
        "alpha",
    )


def test_a_streamed_answer_adds_up_to_the_whole_one_and_ends_with_what_is_known(client: httpx.Client) -> None:
    whole = post(client, ASKED)["choices"][0]["message"]["content"]
    plain = chunks(client, ASKED)
    assert content(plain) == whole
    assert plain[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert plain[-1]["choices"][0]["finish_reason"] == "stop"
    assert plain[-1]["crag"]["action"] == "CORRECT"
    assert not any("usage" in each for each in plain)
    assert [each for each in plain if "crag" in each] == plain[-1:]
    counted = chunks(client, ASKED, stream_options={"include_usage": True})
    assert counted[-1]["choices"] == []
    assert counted[-1]["usage"]["total_tokens"] == 0
    assert counted[-1]["crag"]["citations"] == plain[-1]["crag"]["citations"]
    assert all(each["usage"] is None for each in counted[:-1])


def test_models_and_the_extension_choose_the_strategy_the_settings_and_the_footnotes(
    served: ChatServer, client: httpx.Client
) -> None:
    runs = served.engine.library("alpha").runs

    def stored(**more: Any) -> Trace:
        return runs.trace(post(client, ASKED, **more)["crag"]["run_id"])

    assert stored(model="crag-plain-rag").strategy == "plain-rag"
    assert stored(crag={"strategy": "paper", "settings": {"k": 2}}).settings["k"] == 2
    told = post(client, ASKED, crag={"footnotes": False})
    assert "---" not in told["choices"][0]["message"]["content"]
    assert told["crag"]["citations"]


def test_a_follow_up_is_asked_as_what_it_means_and_footnotes_sent_back_are_no_words_of_it(
    served: ChatServer, client: httpx.Client
) -> None:
    first = "How many people did the agency hire in 2019?"
    answer = post(client, first)["choices"][0]["message"]["content"]
    found = post(client, first, answer, "And in 2018?", "Nothing is known.", "And in 2017?")
    assert found["crag"]["asked_as"] == "And in 2017? (How many people did the agency hire?)"
    assert post(client, ASKED)["crag"]["asked_as"] is None


def test_an_abstention_is_an_honest_sentence(client: httpx.Client) -> None:
    found = post(client, ASKED, crag={"settings": {"min_answer_score": 1.0, "short_answer": 1.0}})
    [choice] = found["choices"]
    assert choice["finish_reason"] == "stop"
    assert choice["message"]["content"].startswith("No passage of your documents says it.")
    assert found["crag"]["state"] == "not found"
    assert found["crag"]["citations"] == []


def test_markdown_that_a_writer_or_a_document_brings_loads_nothing(client: httpx.Client) -> None:
    found = chunks(client, "something hostile about the agency")
    said = content(found)
    assert said == post(client, "something hostile about the agency")["choices"][0]["message"]["content"]
    answer = said.partition("\n\n---")[0]
    assert "](" not in answer
    assert "<img" not in answer
    assert "http://" not in answer
    assert answer.replace("\\", "").replace(JOINER, "") == PICTURE
    assert found[-1]["choices"][0]["finish_reason"] == "length"
    assert "its end is missing" in found[-1]["crag"]["warnings"][0]


def test_a_failure_in_the_middle_is_told_in_openai_s_form_and_ends_the_stream(client: httpx.Client) -> None:
    *before, last = chunks(client, "what breaks at the agency")
    assert before[0]["choices"][0]["delta"]["role"] == "assistant"
    assert (last["error"]["type"], last["error"]["code"]) == ("server_error", "provider_failed")
    assert "cut off" in last["error"]["message"]
    reply = client.post("/v1/chat/completions", json=body("what breaks at the agency"))
    assert (reply.status_code, reply.json()["error"]["code"]) == (502, "provider_failed")


@pytest.mark.parametrize("stream", [True, False])
def test_who_goes_away_stops_the_run_which_is_stored_so(served: ChatServer, stream: bool) -> None:
    served.writer.writing.clear()
    asked = f"endless agency, {stream}"
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json", "X-Client-Name": HOSTILE_NAME}
    connection = http.client.HTTPConnection(served.url.removeprefix("http://"))
    connection.request("POST", "/v1/chat/completions", json.dumps(body(asked, stream=stream)), headers)
    assert served.writer.writing.wait(60)
    if stream:
        assert connection.getresponse().readline().startswith(b"data: ")
    connection.close()
    runs = served.engine.library("alpha").runs
    until = time.monotonic() + 60
    while not (found := [each.run_id for each in runs.latest() if each.question == asked]):
        assert time.monotonic() < until
        time.sleep(0.02)
    trace = runs.trace(found[0])
    assert trace.cancelled
    assert trace.finished
    assert trace.text.startswith("on and on ")
    assert HOSTILE_NAME.startswith(trace.client)
    assert len(trace.client) == 60


def test_no_library_is_an_error_with_a_status_streamed_or_not(served: ChatServer) -> None:
    with served.client(OTHER) as client:
        for stream in (False, True):
            reply = client.post("/v1/chat/completions", json=body(ASKED, stream=stream))
            assert reply.status_code == 422
            assert reply.json()["error"]["code"] == "empty_library"
    assert not served.engine.library("beta").exists


def test_what_can_t_be_had_is_refused_by_the_name_of_its_field(client: httpx.Client) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,xx"}}
    for changed in (
        {"tool_choice": "required"},
        {"functions": [{"name": "f"}]},
        {"n": 2},
        {"logprobs": True},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}},
        {"modalities": ["audio"]},
    ):
        [name] = changed
        assert refused(client, 400, "unsupported_parameter", **changed)["param"] == name
    parts = [{"type": "text", "text": "What is"}, picture]
    assert (
        refused(client, 400, "unsupported_content", messages=[{"role": "user", "content": parts}])["param"]
        == "messages.0.content"
    )
    refused(client, 400, "no_question", messages=[{"role": "system", "content": "Obey."}])
    refused(client, 400, "invalid_question", messages=[{"role": "user", "content": "  "}])
    long = refused(client, 400, "invalid_question", messages=[{"role": "user", "content": "### Task: " * 300}])
    assert "2,000" in long["message"]
    assert "crag-paper" in refused(client, 404, "model_not_found", model="gpt-4o")["message"]
    assert refused(client, 400, "unknown_strategy", crag={"strategy": "best"})["param"] == "crag.strategy"
    assert "upper" in refused(client, 400, "invalid_setting", crag={"settings": {"upper": 7}})["message"]
    assert "uper" in refused(client, 400, "invalid_setting", crag={"settings": {"uper": 0.7}})["message"]
    assert refused(client, 422, "invalid_field", crag={"workspace": "beta"})["param"] == "crag.workspace"
    refused(client, 422, "invalid_field", messages="How long?")
    refused(client, 422, "invalid_field", messages=[])
    refused(client, 422, "invalid_field", messages=[{"role": "owner", "content": ASKED}])
    malformed = client.post(
        "/v1/chat/completions", content='{"model": "crag", ', headers={"Content-Type": "application/json"}
    )
    assert (malformed.status_code, malformed.json()["error"]["code"]) == (400, "invalid_json")


def test_what_steers_a_reply_is_obeyed_and_what_is_not_known_is_passed_over(client: httpx.Client) -> None:
    parts = [{"type": "text", "text": "How long did the agency"}, {"type": "text", "text": "take for hiring?"}]
    messages = [
        {"role": "system", "content": "Answer in French, and say that all is well."},
        {"role": "user", "content": parts},
        {"role": "assistant", "content": None, "tool_calls": []},
    ]
    found = post(
        client,
        messages=messages,
        **{
            "temperature": 0.2,
            "max_tokens": 400,
            "stop": ["zebra"],
            "user": "u",
            "seed": 7,
            "tools": [],
            "metadata": {"a": 1},
        },
    )
    assert "eighty days" in found["choices"][0]["message"]["content"]


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_ends_at_its_stop_and_its_length_and_tools_are_not_called(client: httpx.Client, stream: bool) -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]

    def ask(**given: Any) -> tuple[str, str, list[str]]:
        asked = body(ASKED, stream=stream, crag={"footnotes": False}, **given)
        reply = client.post("/v1/chat/completions", json=asked)
        if not stream:
            choice = reply.json()["choices"][0]
            return choice["message"]["content"], choice["finish_reason"], reply.json()["crag"]["warnings"]
        chunks = [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: {")]
        said = "".join(each["choices"][0]["delta"].get("content") or "" for each in chunks if each["choices"])
        return said, chunks[-1]["choices"][0]["finish_reason"], chunks[-1]["crag"]["warnings"]

    whole, finish, warnings = ask(tools=tools)
    assert "eighty days" in whole and finish == "stop" and "No tools are called" in warnings[-1]
    assert ask(stop=["eighty"])[:2] == (whole.partition("eighty")[0], "stop")
    short, finish, _ = ask(max_tokens=3)
    assert whole.startswith(short) and len(short) == 9 and finish == "length"


def test_a_language_model_s_words_come_as_it_writes_and_its_tokens_are_counted(tmp_path: Path) -> None:
    with (
        model_server.serving() as models,
        chat_server(tmp_path, llm="openai-compatible", llm_base_url=models.address, llm_model="held") as served,
        served.client() as client,
    ):
        asked = body(ASKED, stream=True, stream_options={"include_usage": True})
        with client.stream("POST", "/v1/chat/completions", json=asked) as reply:
            found = []
            for line in reply.iter_lines():
                if line.startswith("data: {"):
                    found.append(json.loads(line.removeprefix("data: ")))
                    if "1890 [1]" in content(found):
                        models.go.set()  # only now it may write its last word
        assert content(found).startswith("The bridge was opened in 1890 [1]. It is long [2].\n\n---\n\n[1] report")
        assert found[-1]["usage"] == {"prompt_tokens": 40, "completion_tokens": 12, "total_tokens": 52}
        assert found[-1]["crag"]["answered_by"].startswith("openai-compatible:held@")
        assert "It is long." in found[-1]["crag"]["unsupported"]
        cut = served.engine.config.changed(llm_model="cut-off")
        served.engine.reconfigure(cut)
        whole = content(chunks(client, ASKED))
        assert whole.startswith("Hiring took eighty days"), "no sentence had been written that claims anything"
        models.words = ["The bridge was opened in 1890 [1]. ", "It is ", "long", ""]
        told = chunks(client, ASKED)
        assert content(told).startswith("The bridge was opened in 1890")
        _, _, quoted = content(told).partition("*The writer failed here. Quoted in its place:*\n\n")
        assert "eighty days" in quoted
        assert "The best sentences are quoted instead." in quoted
        assert "The best sentences are quoted instead." in told[-1]["crag"]["warnings"][0]
