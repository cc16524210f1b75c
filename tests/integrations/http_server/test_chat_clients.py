"""Chat completions asked by clients that nobody here wrote: OpenAI's own, and LangChain's."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import openai
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from openai.types.chat import ChatCompletionMessageParam
from pydantic import BaseModel, SecretStr

from crag.core.strategies import STRATEGIES
from crag.integrations.http.serving import Limits
from tests.support.chat_server import TOKEN, ChatServer, chat_server

ASKED = "How long did the agency take for hiring?"
MESSAGES: list[ChatCompletionMessageParam] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": ASKED},
]


@pytest.fixture(scope="module")
def client(served: ChatServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key=TOKEN, base_url=f"{served.url}/v1", max_retries=0) as made:
        yield made


def chat(served: ChatServer, token: str = TOKEN) -> ChatOpenAI:
    return ChatOpenAI(model="crag", api_key=SecretStr(token), base_url=f"{served.url}/v1", max_retries=0)


def test_openais_client_is_answered_whole_and_piece_by_piece(client: openai.OpenAI) -> None:
    found = client.chat.completions.create(model="crag", messages=MESSAGES, extra_body={"crag": {"footnotes": False}})
    said = found.choices[0].message.content
    assert said and "eighty days" in said and "---" not in said
    assert found.model_extra and found.model_extra["crag"]["action"] == "CORRECT"
    pieces = list(
        client.chat.completions.create(
            model="crag-paper", messages=MESSAGES, stream=True, stream_options={"include_usage": True}
        )
    )
    text = "".join(choice.delta.content or "" for each in pieces for choice in each.choices)
    assert "eighty days" in text and "[1] report" in text
    assert pieces[-1].usage and pieces[-1].usage.total_tokens == 0
    assert pieces[-1].model_extra and pieces[-1].model_extra["crag"]["strategy"] == "paper"
    assert {each.id for each in client.models.list()} > {"crag", *(f"crag-{name}" for name in STRATEGIES)}


def test_langchain_s_chat_model_is_answered_and_told_what_is_not_done(served: ChatServer) -> None:
    class Days(BaseModel):
        days: int

    model = chat(served)
    history = [SystemMessage("Be brief."), HumanMessage("Who asked?"), AIMessage("The agency."), HumanMessage(ASKED)]
    whole = model.invoke(history)
    assert "eighty days" in whole.text
    assert "".join(each.text for each in model.stream(history)) == whole.text
    for method in ("json_schema", "function_calling", "json_mode"):
        with pytest.raises(openai.BadRequestError, match=r"not followed|No tools"):
            model.with_structured_output(Days, method=method).invoke(ASKED)


def test_one_request_too_many_and_a_server_that_ends_are_told_to_the_client(tmp_path: Path) -> None:
    def read(stream: openai.Stream[openai.types.chat.ChatCompletionChunk]) -> str:
        with pytest.raises(openai.APIError) as ended:
            list(stream)
        return str(ended.value.code)

    with ThreadPoolExecutor(1) as pool:
        with chat_server(tmp_path, Limits(rate=1, grace_seconds=0)) as served:
            client = openai.OpenAI(api_key=TOKEN, base_url=f"{served.url}/v1", max_retries=0)
            stream = client.chat.completions.create(
                model="crag", messages=[{"role": "user", "content": "endless agency"}], stream=True
            )
            assert served.writer.writing.wait(60)
            with pytest.raises(openai.RateLimitError, match="requests a minute"):
                client.chat.completions.create(model="crag", messages=MESSAGES)
            reading = pool.submit(read, stream)
        assert reading.result() == "stopped"
        client.close()
