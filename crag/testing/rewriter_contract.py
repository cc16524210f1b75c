"""What every Rewriter keeps to. Inherit `RewriterContract` and give a `rewriter` fixture."""

from __future__ import annotations

import pytest

from crag.core.protocols import Rewriter
from crag.testing.fakes import chunk_of

QUESTIONS = [
    "Who designed the Forth Bridge, and in which year was it opened?",
    "How many claims did the Office of Personnel Management process in FY 2019?",
    'What does "adverse event" mean in the 2018 trial protocol?',
    "to be or not to be?",
    "日本の首都はどこですか？",
    "Где находится штаб-квартира агентства?",
    "ما هي عاصمة مصر؟",
    "why " * 2_000 + "Reykjavik?",
    "x" * 10_000,
    "budget",
]


class RewriterContract:
    """A query is one line, has a word in it, keeps to the keyword limit and is none that was tried."""

    @pytest.mark.parametrize("question", QUESTIONS, ids=lambda text: text[:20])
    @pytest.mark.parametrize("limit", [1, 3, 10])
    def test_a_query_is_one_line_within_the_limit(self, rewriter: Rewriter, question: str, limit: int) -> None:
        query = rewriter.rewrite(question, max_keywords=limit)
        assert query == query.strip() and "\n" not in query
        assert any(character.isalnum() for character in query)
        assert 1 <= len(query.split(", ")) <= limit
        assert len(query) <= 300

    @pytest.mark.parametrize("question", QUESTIONS, ids=lambda text: text[:20])
    def test_a_query_is_none_that_was_tried(self, rewriter: Rewriter, question: str) -> None:
        failed = [chunk_of("The bridge over the Forth was opened by the Prince of Wales."), chunk_of("")]
        tried = [question]
        for _ in range(3):
            query = rewriter.rewrite(question, max_keywords=3, failed=failed, tried=tried)
            assert query.strip()
            assert query.casefold() not in {each.casefold() for each in tried}
            tried.append(query)

    def test_it_is_named(self, rewriter: Rewriter) -> None:
        assert rewriter.by
