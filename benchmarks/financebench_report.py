"""The FinanceBench runs' figures, and the page that shows them. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks.pages import figure, share, table
from crag.analysis.intervals import intervals
from crag.analysis.metrics.metrics import ResultRow
from crag.analysis.metrics.results import summed_up

Figures = dict[str, Any]

COMPARED = (
    *("evidence_page", "evidence_answer", "evidence_words", "answer_holds", "answer_f1", "faithfulness"),
    *("abstained", "abstention_right"),
)
"""What `balanced` and plain RAG are held against each other by."""
SHOWN = (*COMPARED, "first_right", "acted_right", "library_rewrites")

HEAD = """# FinanceBench

Made by `python -m benchmarks.financebench`: {questions} questions asked of {documents} PDFs in one library
({chunks} chunks, chunking {chunking}), evaluator files {version}, {machine}.
No language model: answers are quoted sentences and table rows, so a figure that must be calculated can't be answered,
and what is quoted is supported by what it cites: faithfulness says little here. No web: where a strategy wants one
after AMBIGUOUS it answers from the documents alone, after INCORRECT it abstains. The data is marked dev.

Measures are those of the Evaluate page (`crag.analysis.metrics`), with 95 % intervals by bootstrap over questions in
brackets.
Citations are checked under every strategy, also under plain RAG, which does not do so by itself; the seconds leave the
check out."""

ABOUT = """*Page hit*: a chunk is from a page that people named as evidence, of the first retrieval, or of the one acted
on, after the corrective loop; *of the evidence*: text from such a page is kept. *Answer held by the evidence*: an
accepted answer stands in it, an amount by its value. *Faithfulness*: the share of an answer's checked sentences that
what they cite supports. *Abstained or answered rightly*: abstained exactly where the evidence held neither answer nor
page."""


def page_hit(rank: float | None, within: float = math.inf) -> bool | None:
    """Whether an expected page is among the first `within` chunks, by its reciprocal rank; None without a label."""
    return None if rank is None else rank > 0 and rank >= 1 / within


def strategy_figures(rows: Sequence[ResultRow]) -> Figures:
    """Means with intervals of what the page shows, the page hits, the action mix and the seconds of one strategy."""
    result = summed_up(rows)
    seconds = sorted(each for row in rows if (each := row.seconds) is not None)
    return {
        "first_page_hit_5": _mean([page_hit(row.first_reciprocal_rank, 5) for row in rows]),
        "first_page_hit": _mean([page_hit(row.first_reciprocal_rank) for row in rows]),
        "acted_page_hit": _mean([page_hit(row.acted_reciprocal_rank) for row in rows]),
        **{name: asdict(result.means[name]) for name in SHOWN},
        "actions": {name: sum(counts.values()) for name, counts in result.actions.items()},
        "confusion": result.actions,
        "seconds_median": statistics.median(seconds) if seconds else None,
        "seconds_p90": seconds[int(len(seconds) * 0.9)] if seconds else None,
    }


def _mean(values: Sequence[bool | None]) -> Figures:
    column = np.array([[np.nan if value is None else float(value)] for value in values], dtype=np.float64)
    known = column[~np.isnan(column)]
    ((low, high),) = intervals(column)
    return {"value": float(known.mean()) if len(known) else None, "known": len(known), "low": low, "high": high}


def report(results: Mapping[str, Any]) -> str:
    """Markdown."""
    strategies = results["strategies"]
    parts = [HEAD.format(**results), _measures(strategies), ABOUT, "## Actions", _actions(strategies)]
    if results["differences"]:
        parts += ["## `balanced` against plain RAG", _differences(results["differences"])]
    return "\n\n".join(parts) + "\n"


def _measures(strategies: Mapping[str, Figures]) -> str:
    names = {
        "first_page_hit_5": "Page hit, first retrieval, 5 chunks",
        "first_page_hit": "Page hit, first retrieval, 10 chunks",
        "acted_page_hit": "Page hit, retrieval acted on",
        "evidence_page": "Page hit of the evidence",
        "evidence_answer": "Answer held by the evidence",
        "evidence_words": "Words of evidence",
        "answer_holds": "Answer match: it says the accepted answer",
        "answer_f1": "Answer match: token F1",
        "faithfulness": "Faithfulness",
        "abstained": "Abstained",
        "abstention_right": "Abstained or answered rightly",
    }
    rows = [
        (title, *(_cell(each[name], 0 if name == "evidence_words" else 3) for each in strategies.values()))
        for name, title in names.items()
    ]
    for title, name in (("Seconds to the answer, median", "seconds_median"), ("Seconds, 90 %", "seconds_p90")):
        rows.append((title, *(figure(each[name], 2) for each in strategies.values())))
    return table(("", *(f"`{name}`" for name in strategies)), rows)


def _cell(mean: Figures, places: int) -> str:
    if mean["low"] is None:
        return figure(mean["value"], places)
    return f"{figure(mean['value'], places)} ({figure(mean['low'], places)}–{figure(mean['high'], places)})"


def _actions(strategies: Mapping[str, Figures]) -> str:
    """Each action's share, and of how many of them the retrieval acted on held what was sought."""
    rows = []
    for name, each in strategies.items():
        total = sum(each["actions"].values())
        cells = [
            f"{share(count / total)} ({each['confusion'][action]['holds']} of {count})" if count else "–"
            for action, count in each["actions"].items()
        ]
        rows.append((f"`{name}`", *cells, figure(each["acted_right"]["value"])))
    head = ("share (and how many held the page or the answer)", "CORRECT", "AMBIGUOUS", "INCORRECT", "no action")
    return table((*head, "right, AMBIGUOUS half"), rows)


def _differences(sentences: Mapping[str, str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences.values())
