"""What a ranking is worth, each question by itself, and the intervals over questions."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Sequence
from dataclasses import asdict
from math import log2
from typing import Any

import numpy as np

from benchmarks.retrieval import Question
from crag.analysis.intervals import intervals, share

Row = dict[str, float]
SHARES = ("document_hit@5", "hit@5", "hit@10", "hit_in_budget")
BUDGET = 4_000
"""Characters: what five passages of most sides have together. A longer first passage counts all the same."""


def judge(question: Question, passages: Sequence[Sequence[Any]]) -> Row:
    """Passages are (file, pages, text), best first. A gold page gains once, at the first passage that reaches it."""
    pending, gain, first, characters, early = set(question.pages), 0.0, 0, 0, False
    for rank, (source, pages, text) in enumerate(passages[:10], start=1):
        reached = pending & set(pages) if source == question.source else set()
        characters += len(text)
        if reached:
            early = early or characters <= BUDGET or rank == 1
            gain += len(reached) / log2(rank + 1)
            first = first or rank
            pending -= reached
    ideal = sum(1 / log2(rank + 1) for rank in range(1, min(len(question.pages), 10) + 1))
    return {
        "document_hit@5": float(any(source == question.source for source, _, _ in passages[:5])),
        "hit@5": float(0 < first <= 5),
        "hit@10": float(first > 0),
        "hit_in_budget": float(early),
        "ndcg@10": min(1.0, gain / ideal),
        "characters@5": float(sum(len(text) for _, _, text in passages[:5])),
    }


def summarize(rows: Sequence[Row]) -> dict[str, Any]:
    """Shares with Wilson's interval, nDCG with a bootstrap over questions, and the median text of five passages."""
    found: dict[str, Any] = {name: asdict(share(int(sum(row[name] for row in rows)), len(rows))) for name in SHARES}
    values = np.array([[row["ndcg@10"]] for row in rows])
    ((low, high),) = intervals(values)
    found["ndcg@10"] = {"value": float(values.mean()), "low": low, "high": high, "of": len(rows)}
    found["characters@5"] = float(np.median([row["characters@5"] for row in rows]))
    return found


def compare(rows: Sequence[Row], reference: Sequence[Row]) -> dict[str, Any]:
    """The mean difference to the reference on the same questions, with a bootstrap interval over them."""
    names = ("hit@5", "hit@10", "hit_in_budget", "ndcg@10")
    table = np.array([[row[name] - other[name] for name in names] for row, other in zip(rows, reference, strict=True)])
    return {
        name: {"value": float(table[:, column].mean()), "low": low, "high": high}
        for column, (name, (low, high)) in enumerate(zip(names, intervals(table), strict=True))
    }


def milliseconds(seconds: Sequence[float]) -> tuple[float, float]:
    """The median and the 95th percentile."""
    p50, p95 = np.percentile(np.array(seconds) * 1000, [50, 95])
    return float(p50), float(p95)


def code_lines(source: str) -> int:
    """Lines that hold code: no blank ones, no comments, no docstrings."""
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in skipped:
            held |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            held -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(held)
