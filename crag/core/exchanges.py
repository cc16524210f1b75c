"""A conversation as the next question sees it: what was asked and answered before, and what is carried over from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Carried", "Exchange", "Standalone"]

Sort = Literal["name", "period", "measure", "subject", "question"]
"""What is carried over: a name; a year or quarter; the figure asked for; what the question was about; all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """An earlier question as it stood alone, with its answer: the words that answer, or else the whole text."""

    question: str
    answer: str = ""
    run_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """Words taken over from an earlier exchange, `run_id` its run: from its question or its answer."""

    text: str
    sort: Sort
    found_in: Literal["question", "answer"] = "question"
    run_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standalone:
    """A question that needs no conversation to be understood, and what of the conversation is in it now."""

    question: str
    carried: tuple[Carried, ...] = ()
