"""Costs: sums by step that hide nothing, and an estimate of plain RAG that is held against its real prompt."""

from dataclasses import replace

import pytest

from crag.core.runfacts import DaySpending
from crag.core.settings import Settings
from crag.core.trace import Round, StepRecord, Trace
from crag.core.types import Answer, Call, RetrievedChunk, Step, Strip
from crag.generation.llm import LlmGenerator
from crag.messages.providers import cost_sentence, cost_text
from crag.providers.prices import Price, by_step, of_day, plain_rag, sum_calls, sum_spent
from crag.testing.fakes import FakeChat, chunk_of

PRICES = {"small": Price(1.0, 2.0), "tavily": Price(call=0.01), "home": Price()}
SENTENCE = "The bridge over the firth was opened on the fourth of March 1890 by the Prince of Wales. "
CHUNKS = [chunk_of(SENTENCE * (4 + number), page=number + 1) for number in range(6)]


def call(
    step: Step, given: int | None = None, written: int | None = None, model: str = "small", **more: object
) -> Call:
    values = {"provider": "openai", "seconds": 0.5, **more}
    return Call(step=step, model=model, input_tokens=given, output_tokens=written, **values)  # type: ignore[arg-type]


def kept(chunk: int, sentences: int, score: float = 0.8) -> Strip:
    text = SENTENCE * sentences
    source = CHUNKS[chunk].id
    return Strip(
        id=f"{source}:0", source_id=source, origin="internal", start=0, end=len(text), text=text, score=score, kept=True
    )


def run(*calls: Call, by: str = "openai:small", text: str = "It was opened in 1890 [1].", **settings: object) -> Trace:
    """A finished run over CHUNKS that kept two strips: 0.2 s to retrieve, 1.5 s to answer."""
    strips = {CHUNKS[0].id: (kept(0, 3),), CHUNKS[2].id: (kept(2, 1),)}
    found = tuple(RetrievedChunk(chunk=chunk, rank=rank, similarity=1.0) for rank, chunk in enumerate(CHUNKS, 1))
    return Trace(
        question="When was the bridge opened?",
        settings=Settings().changed(**settings).model_dump(mode="json"),
        steps=(
            StepRecord(step="retrieve", round=0, started=0, seconds=0.2),
            StepRecord(step="evaluate", round=0, started=0.2, seconds=4.0),
            StepRecord(step="retrieve", round=1, started=4.2, seconds=9.0),
            StepRecord(step="answer", round=1, started=5.0, seconds=1.5),
        ),
        rounds=(Round(query="q", chunks=found), Round(query="q2", chunks=found[:1])),
        strips=strips,
        answer=Answer(text=text, by=by),
        calls=calls,
        finished=True,
    )


# Sums


def test_tokens_and_calls_cost_what_their_prices_say() -> None:
    calls = [call("evaluate", 1000, 100), call("search", model="", provider="tavily"), call("answer", 500, 50)]
    whole = sum_calls(calls, PRICES)
    assert whole.dollars == pytest.approx((1500 * 1.0 + 150 * 2.0) / 1_000_000 + 0.01)
    assert (whole.calls, whole.searches, whole.input_tokens, whole.output_tokens) == (3, 1, 1500, 150)
    assert (whole.seconds, whole.failed, whole.unknown, cost_text(whole)) == (1.5, 0, 0, "$0.012")


def test_an_unknown_price_is_not_free() -> None:
    only = sum_calls([call("answer", 1000, 10, model="mystery")], PRICES)
    assert (only.unpriced, only.dollars, cost_text(only)) == (1, 0, "no price known")
    mixed = sum_spent([only, sum_calls([call("answer", 1_000_000, 0)], PRICES)])
    assert cost_text(mixed) == "at least $1.00"


def test_tokens_that_nobody_counted_are_not_free_either() -> None:
    for given, written in ((None, None), (100, None), (None, 5)):
        assert cost_text(sum_calls([call("answer", given, written)], PRICES)) == "tokens not counted"


def test_each_step_has_its_own_sums_in_the_order_of_steps() -> None:
    trace = run(call("answer", 10, 1), call("evaluate", 20, 2), call("evaluate", 30, 3), call("verify", error="no"))
    steps = by_step(trace, PRICES)
    assert list(steps) == ["evaluate", "answer", "verify"]
    assert (steps["evaluate"].calls, steps["evaluate"].input_tokens) == (2, 50)
    assert steps["verify"].failed == 1
    assert sum_spent(steps.values()) == sum_calls(trace.calls, PRICES)


@pytest.mark.parametrize("model", ["small", "mystery", "home"])
def test_a_day_s_sums_cost_what_its_calls_did(model: str) -> None:
    calls = [call("answer", 1000, 10, model), call("answer", None, None, model), call("answer", model=model, error="x")]
    day = DaySpending(
        day="2026-01-01",
        provider="openai",
        model=model,
        calls=3,
        failed=1,
        uncounted=1,
        seconds=1.5,
        input_tokens=1000,
        output_tokens=10,
    )
    assert of_day(day, PRICES) == sum_calls(calls, PRICES)


# Plain RAG


def prompt(strips: list[Strip]) -> int:
    """Characters that an answer's prompt really has."""
    chat = FakeChat(lambda messages: "It was opened in 1890 [1].")
    sources = {chunk.id: chunk for chunk in CHUNKS}
    list(LlmGenerator(chat).answer("When was the bridge opened?", strips, sources, Settings()))
    return sum(len(text) for _, text in chat.asked[0])


def whole(number: int) -> Strip:
    chunk = CHUNKS[number]
    return replace(kept(number, 1), id=f"{chunk.id}:whole", end=len(chunk.text), text=chunk.text, score=None)


@pytest.mark.parametrize("tokens_a_character", [0.2, 0.31])
def test_its_tokens_are_those_of_its_real_prompt(tokens_a_character: float) -> None:
    """Estimated from the run's own count; the real prompts are those that the generator makes."""
    asked = prompt([kept(0, 3), kept(2, 1)])
    counted = call("answer", round(asked * tokens_a_character), 17, seconds=1.1)
    plain = plain_rag(run(call("evaluate", 5000, 100), counted), PRICES)
    assert plain is not None
    real = prompt([whole(number) for number in range(len(CHUNKS))]) * tokens_a_character
    assert plain.input_tokens == pytest.approx(real, rel=0.03)
    assert (plain.calls, plain.output_tokens) == (1, 17)
    assert plain.seconds == pytest.approx(0.2 + 1.1)
    assert plain.dollars == pytest.approx((plain.input_tokens + 2 * 17) / 1_000_000)


def test_four_characters_a_token_where_nobody_counted() -> None:
    plain = plain_rag(run(call("answer"), text="x" * 400), PRICES)
    assert plain is not None
    assert plain.input_tokens == pytest.approx(prompt([whole(number) for number in range(len(CHUNKS))]) / 4, rel=0.03)
    assert plain.output_tokens == 100


def test_it_shows_no_more_than_the_answer_s_context_holds() -> None:
    small, large = (plain_rag(run(call("answer"), answer_context=size), PRICES) for size in (300, 3000))
    assert small is not None and large is not None
    assert small.input_tokens < 0.6 * large.input_tokens


# In one line


def test_a_run_s_cost_in_one_line() -> None:
    trace = run(call("evaluate", 5000, 100), call("search", model="", provider="tavily", error="x"))
    line = cost_sentence(trace, PRICES)
    assert line.startswith("1 model call, 1 web search, 1 failed, 5,000 tokens in, 100 out: $0.0052. Plain RAG: 1 call")
    assert line.endswith("(estimated).")
    assert cost_sentence(run(by="extractive"), PRICES) == "No outside calls: local models cost nothing."
