"""Ids of models and evaluators: what they are made of, and the words for them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from crag.core.makers import Maker

NAMES = st.text("abcxyz/:.-", min_size=1)


@given(model=NAMES, host=st.text("abc.:0123", min_size=1), provider=st.sampled_from(["openai-compatible", "reranker"]))
def test_an_id_holds_what_it_was_made_of(model: str, host: str, provider: str) -> None:
    made = Maker(model=model, provider=provider, host=host)
    assert Maker.of(made.id) == made
    assert Maker.of(f"llm:{made.id}:2") == Maker.of(f"llm:{made.id}:2:support")
    assert Maker.of(f"llm:{made.id}:2") == Maker(model=model, provider=provider, host=host, role="llm")
