"""How many calls of ours lead from a question to the index: readers follow each of them."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from crag.engine import Engine
from crag.index.embedded import EmbeddedIndex
from tests.support.small_library import fill

MOST = 14
FIRST = ("Engine.ask", "RunExecutor.run", "RunExecutor._execute", "run_graph")
"""The calls before a node, which LangGraph runs in a thread of its own."""


def calls_of_ours() -> list[str]:
    """The functions of `crag` on the stack of the caller, outermost first."""
    found: list[str] = []
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("crag."):
            found.append(frame.f_code.co_qualname)
        frame = frame.f_back  # type: ignore[assignment]
    return found[::-1]


def test_a_question_reaches_the_index_in_at_most_fourteen_calls(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(engine)
    stacks: list[list[str]] = []
    top = EmbeddedIndex.top

    def watched(self: EmbeddedIndex, *given: Any, **named: Any) -> Any:
        stacks.append([*FIRST, *calls_of_ours(), "EmbeddedIndex.top"])
        return top(self, *given, **named)

    monkeypatch.setattr(EmbeddedIndex, "top", watched)
    engine.trace("How long did hiring take in 2019?")
    assert stacks and len(stacks[0]) <= MOST, stacks[0]
