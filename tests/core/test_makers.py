"""Ids of models and evaluators: what they are made of, and the words for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.core.makers import Maker, maker, name_in_sentence

QWEN = "openai-compatible:qwen@127.0.0.1:8080"


@pytest.mark.parametrize(
    ("id", "said"),
    [
        (f"llm:{QWEN}:1", "qwen, at 127.0.0.1:8080"),
        (f"llm:{QWEN}:1:support", "qwen, at 127.0.0.1:8080"),
        ("openai-compatible:meta/llama3:8b@[::1]:11434", "meta/llama3:8b, at [::1]:11434"),
        ("openai-compatible:@cf/meta/llama@host", "@cf/meta/llama, at host"),
        ("llm:openai:gpt-4o-mini:1", "gpt-4o-mini, at OpenAI"),
        ("reranker:reranker:bge@rerank.example", "bge, at rerank.example"),
        ("reranker:reranker:@rerank.example", "the model, at rerank.example"),
        ("local-3", "the local evaluator"),
        ("", "the evaluator"),
    ],
)
def test_ids_are_shown_in_words(id: str, said: str) -> None:
    assert maker(id) == said
    assert name_in_sentence(id) == said.replace(", at ", " at ")


NAMES = st.text("abcxyz/:.-", min_size=1)


@given(model=NAMES, host=st.text("abc.:0123", min_size=1), provider=st.sampled_from(["openai-compatible", "reranker"]))
def test_an_id_holds_what_it_was_made_of(model: str, host: str, provider: str) -> None:
    made = Maker(model=model, provider=provider, host=host)
    assert Maker.of(made.id) == made
    assert Maker.of(f"llm:{made.id}:2") == Maker.of(f"llm:{made.id}:2:support")
    assert Maker.of(f"llm:{made.id}:2") == Maker(model=model, provider=provider, host=host, role="llm")
