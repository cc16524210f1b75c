"""What every embedding model must do. A test class inherits this and gives `make`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from crag.core.protocols import Embedder, QuestionEmbedder

TEXTS = [
    "How is the weather?",
    "It is raining and cold outside.",
    "The balance sheet shows net revenues of 6,489 million dollars.",
    "The committee met. " * 30,
    "",
]


class EmbedderContract:
    """Inherit and implement `make`."""

    def make(self) -> Embedder:
        raise NotImplementedError

    @pytest.fixture
    def embedder(self) -> Embedder:
        return self.make()

    def test_it_names_itself_and_its_dimension(self, embedder: Embedder) -> None:
        assert isinstance(embedder, Embedder)
        assert embedder.id and embedder.dimension > 0

    def test_rows_are_unit_float32_in_the_order_given(self, embedder: Embedder) -> None:
        vectors = embedder.embed(TEXTS)
        assert vectors.shape == (len(TEXTS), embedder.dimension)
        assert vectors.dtype == np.float32
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2
        assert embedder.embed([]).shape == (0, embedder.dimension)

    def test_a_vector_does_not_depend_on_its_neighbours(self, embedder: Embedder) -> None:
        many = TEXTS + [f"{text} Number {number}." for number in range(15) for text in TEXTS[:3]]
        alone = np.concatenate([embedder.embed([text]) for text in many])
        assert np.abs(embedder.embed(many) - alone).max() < 1e-3
        assert np.abs(embedder.embed(many[::-1])[::-1] - alone).max() < 1e-3

    @pytest.mark.parametrize(
        "text",
        ["", " " * 50_000, "x" * 100_000, "word " * 20_000, "\ud800\udfff", "\x00\x01\x02" * 500, "漢字" * 3000, "🙂"],
    )
    def test_any_text_gives_the_same_unit_vector_every_time(self, embedder: Embedder, text: str) -> None:
        first, second = embedder.embed([text]), embedder.embed([text])
        assert np.isclose(np.linalg.norm(first), 1, atol=1e-5)
        assert np.array_equal(first, second)

    def test_a_question_is_a_unit_vector_near_the_text_that_answers_it(self, embedder: Embedder) -> None:
        if not isinstance(embedder, QuestionEmbedder):
            pytest.skip("it reads a question like any text")
        asked = embedder.embed_question("What were the net revenues?")
        assert asked.shape == (embedder.dimension,) and asked.dtype == np.float32
        assert np.isclose(np.linalg.norm(asked), 1, atol=1e-5)
        assert int(np.argmax(embedder.embed(TEXTS[1:4]) @ asked)) == 1
        assert np.isclose(np.linalg.norm(embedder.embed_question("")), 1, atol=1e-5)

    def test_two_threads_at_once_get_what_one_gets(self, embedder: Embedder) -> None:
        expected, fresh = embedder.embed(TEXTS), self.make()
        with ThreadPoolExecutor(4) as pool:
            for vectors in pool.map(lambda _: fresh.embed(TEXTS), range(4)):
                assert np.abs(vectors - expected).max() < 1e-3
