"""The page: what each side finds, then what it costs, then what the tables teach."""

from __future__ import annotations

import os
from typing import Any

from benchmarks.field.figures import BUDGET
from benchmarks.field.questions import TIMED_PAGES

MODELS = {
    "small": "all-MiniLM-L6-v2 (int8), what the quick starts name",
    "multilingual": "multilingual-e5-small (int8), CRAG Explorer's default",
}

HEAD = """# Beside the field: retrieval

Made by `python -m benchmarks.field.retrieval`, {date}, {machine}. Every side has the same
files, questions, embedding model and machine, and otherwise what its own quick start shows. None was tuned, and no
language model takes part.

- FinanceBench: {filing_questions} questions on the pages of {filings} filings in one library (the filings with the
  most questions, of 25).
- SQuAD: {paragraph_questions} questions on {paragraphs} paragraphs, each a file of text.

Both are dev or training parts. CRAG Explorer's search was developed on FinanceBench's dev questions; the other sides
were not developed on either set.

*Page @5*: a gold page is among the first five passages. *In equal text*: it is among the first passages that have
{budget} characters together, since passages differ in length. nDCG counts each gold page once. In brackets 95 %
intervals: Wilson's for shares, bootstrap over questions for the rest. *Less ours*: the difference on the same
questions. A side is ahead or behind where that interval leaves out 0."""

COSTS = """
## What it costs

With all-MiniLM-L6-v2, the best of {turns} turns (A, B, A, B). The machine was shared and busy (load {low:.0f} to
{high:.0f} on {cores}), so these are rough: compare sides, not with other pages.

- Pages/s and peak memory, child processes with it: two filings of {pages} pages added, no vector known.
- Search: over all filings, the question embedded each time.
- Start: from the process's start to the first result from a filing of 4 pages.
- Installed: the packages and all that they require, the model's runtime with them, weights not.
- Lines: code of the side's module in `peers/`, adapter of the embedding model included.

| side | pages/s | search p50, ms | p95 | peak MB | start, s | installed MB | lines |
|---|---|---|---|---|---|---|---|"""


def page(results: dict[str, Any], findings: str) -> str:
    """As Markdown. `findings` is what people wrote on reading the tables; it ends the page."""
    filings, squad = results["sets"]["financebench"], results["sets"]["squad"]
    head = HEAD.format(
        date=results["date"],
        machine=results["machine"],
        budget=f"{BUDGET:,}",
        filings=filings["files"],
        filing_questions=filings["questions"],
        paragraphs=squad["files"],
        paragraph_questions=squad["questions"],
    )
    lines = [head]
    for model, found in results["models"].items():
        if found["sets"]["financebench"] or found["sets"]["squad"]:
            lines += ["", f"## With {MODELS[model]}", *_filings(found["sets"]["financebench"])]
            lines += _squad(found["sets"]["squad"])
        lines += [f"\n{side} failed: {message}" for side, message in found["failed"].items()]
    for found in results["models"].values():
        if found["costs"]:
            lines += _costs(found["costs"])
    return "\n".join(lines) + "\n\n" + findings


def _filings(table: dict[str, Any]) -> list[str]:
    if not table:
        return []
    lines = [
        "",
        "FinanceBench:",
        "",
        "| side | passages | document @5 | page @5 | less ours | page @10 | nDCG @10 | page in equal text | less ours "
        "| characters of five |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for side, row in table.items():
        against = row["against_ours"] or {}
        cells = [
            f"{row['chunks']:,}",
            *(_estimate(row[name]) for name in ("document_hit@5", "hit@5")),
            _difference(against.get("hit@5")),
            *(_estimate(row[name]) for name in ("hit@10", "ndcg@10")),
            _estimate(row["hit_in_budget"]),
            _difference(against.get("hit_in_budget")),
            f"{row['characters@5']:,.0f}",
        ]
        lines.append(f"| {side} | {' | '.join(cells)} |")
    return lines


def _squad(table: dict[str, Any]) -> list[str]:
    if not table:
        return []
    lines = [
        "",
        "SQuAD:",
        "",
        "| side | passages | paragraph @5 | paragraph @10 | nDCG @10 | @5, less ours | nDCG, less ours |",
        "|---|---|---|---|---|---|---|",
    ]
    for side, row in table.items():
        against = row["against_ours"] or {}
        cells = [
            f"{row['chunks']:,}",
            *(_estimate(row[name]) for name in ("hit@5", "hit@10", "ndcg@10")),
            _difference(against.get("hit@5")),
            _difference(against.get("ndcg@10")),
        ]
        lines.append(f"| {side} | {' | '.join(cells)} |")
    return lines


def _costs(table: dict[str, Any]) -> list[str]:
    turns = max(row["turns"] for row in table.values())
    loads = [load for row in table.values() for load in row["load"]]
    head = COSTS.format(
        turns=turns, low=min(loads), high=max(loads), cores=f"{os.cpu_count()} cores", pages=TIMED_PAGES
    )
    lines = [head]
    for side, row in table.items():
        lines.append(
            f"| {side} | {row['pages_per_second']:.1f} | {row['search_p50_ms']:.0f} | {row['search_p95_ms']:.0f} "
            f"| {row['peak_mb']:.0f} | {row['start_seconds']:.1f} | {row['installed_mb']:,.0f} | {row['lines']} |"
        )
    named = (
        f"{side} ({', '.join(f'{name} {version}' for name, version in list(row['versions'].items())[:3])})"
        for side, row in table.items()
        if side != "CRAG Explorer"
    )
    return [*lines, "", f"Versions: {'; '.join(named)}."]


def _estimate(found: dict[str, Any]) -> str:
    return f"{found['value']:.2f} ({found['low']:.2f}–{found['high']:.2f})"


def _difference(found: dict[str, Any] | None) -> str:
    return "–" if found is None else f"{found['value']:+.2f} ({found['low']:+.2f} to {found['high']:+.2f})"
