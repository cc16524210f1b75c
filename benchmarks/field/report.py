"""The page: what each side finds, then what it costs, then what the tables teach."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.field.figures import BUDGET
from benchmarks.field.questions import PAGED, TIMED_PAGES

MODELS = {
    "small": "all-MiniLM-L6-v2 (int8), what the quick starts name",
    "multilingual": "multilingual-e5-small (int8), CRAG Explorer's default",
}
"""The first shipped when the page was made, and is measured no more."""

TITLES = {"financebench": "FinanceBench", "mmlongbench": "MMLongBench", "squad": "SQuAD", "clapnq": "ClapNQ"}
FOUND = {
    "characters@5": "characters @5",
    "document_hit@5": "document @5",
    "hit@5": "{} @5",
    "hit@10": "{} @10",
    "ndcg@10": "nDCG @10",
    "hit_in_budget": "in equal text",
}
ON_TEXTS = ("hit@5", "hit@10", "ndcg@10")
LESS = (*ON_TEXTS, "hit_in_budget")

HEAD = """# Beside the field: retrieval

Made by `python -m benchmarks.field.retrieval`, {date}, {machine}. Every side has the same
files, questions, embedding model and machine, and otherwise what its own quick start shows. None was tuned, and no
language model takes part.

- FinanceBench: {filing_questions} questions on the pages of {filings} filings in one library. Of 25 these have the
  fewest pages a question, since two shared cores had to embed them once a side.
- MMLongBench: the {long_questions} questions that text can answer, on all {long} long documents.
- SQuAD: {paragraph_questions} questions on {paragraphs} paragraphs of 16 articles, each a file of text.
- ClapNQ: {passage_questions} real questions on {passages} passages, each a file of text; half of these answer none.

ClapNQ is a test part, the others are dev or training parts. CRAG Explorer's search was developed on the dev questions
of FinanceBench and MMLongBench; the other sides were not developed on any of these.

*Page @5*: a gold page is among the first five passages. *In equal text*: it is among the first passages that have
{budget} characters together, since passages differ in length. nDCG counts each gold page once. In brackets 95 %
intervals: Wilson's for shares, bootstrap over questions for the rest. *Less ours*: the difference on the same
questions, in bold where the interval leaves out 0: only there is a side ahead or behind."""

NOT_RUN = """
## What is not compared

| part | why |
|---|---|
| LlamaIndex's corrective RAG pack: its judgement of what was found | needs a language model; not imitated |
| LangGraph's CRAG notebook: `grade_documents`, `transform_query`, the web search | need a language model and a key |
| Haystack's hybrid tutorial: the cross-encoder that ranks again | its weights cannot be loaded without the network |
| txtai's Textractor on PDFs | needs Java or Docling; pypdf reads the pages instead |
| RAGLite 1.1.1 | it cuts sentences by a model (SaT `sat-3l-sm`) that it downloads from a hub, without another way |"""

COSTS = """
## What it costs

With {model}, {date}. The machine was shared and busy (load {low:.0f} to {high:.0f} on {cores}), so these
are rough: compare sides, not with other pages.

- Pages/s, and start from the process's start to the first result: one filing of {pages} pages, no vector stored
  before, the best of {turns} turns (A, B, A, B).
- Texts/s: SQuAD's files of text, all vectors stored before, so that reading and storing show; search: over these, 100
  questions, each embedded. The best of {text_turns} turns.
- Peak memory, child processes with it: adding all filings and searching them.
- Installed: the packages and all that they require, the model's runtime with them, weights not.
- Lines: code of the side's module in `peers/`, adapter of the embedding model included.

| side | pages/s | texts/s | start, s | search p50, ms | p95 | peak MB | installed MB | lines |
|---|---|---|---|---|---|---|---|---|"""


def page(results: dict[str, Any], findings: str) -> str:
    """As Markdown. `findings` is what people wrote on reading the tables; it ends the page."""
    filings, long, squad, clapnq = (results["sets"][name] for name in TITLES)
    head = HEAD.format(
        date=results["date"],
        machine=results["machine"],
        budget=f"{BUDGET:,}",
        filings=filings["files"],
        filing_questions=filings["questions"],
        long=long["files"],
        long_questions=long["questions"],
        passages=clapnq["files"],
        passage_questions=clapnq["questions"],
        paragraphs=squad["files"],
        paragraph_questions=squad["questions"],
    )
    lines = [head]
    for model, found in results["models"].items():
        if any(found["sets"].values()):
            lines += ["", f"## With {MODELS[model]}", *_tables(found)]
        lines += [f"\n{side} failed: {message}" for side, message in found["failed"].items()]
    for model, found in results["models"].items():
        if found["costs"]:
            lines += _costs(found["costs"], MODELS[model].partition(" ")[0])
    return "\n".join([*lines, NOT_RUN]) + "\n\n" + findings


def _tables(found: Mapping[str, Any]) -> list[str]:
    """For each set what each side finds, then its difference to ours."""
    lines = []
    for name, rows in ((name, rows) for name, rows in found["sets"].items() if rows):
        what = "page" if name in PAGED else "text"
        own = {column: title.format(what) for column, title in FOUND.items() if what == "page" or column in ON_TEXTS}
        cells = {side: [f"{row['chunks']:,}", *(_cell(row[column]) for column in own)] for side, row in rows.items()}
        title = f"{TITLES[name]}, {found['dates'][name]}"
        lines += ["", *_table((title, "passages", *own.values()), cells)]
        less = {column: title for column, title in own.items() if column in LESS}
        cells = {
            side: [difference(row["against_ours"][column]) for column in less]
            for side, row in rows.items()
            if row["against_ours"]
        }
        lines += ["", *_table((f"{TITLES[name]}, less ours", *less.values()), cells)] if cells else []
    return lines


def _table(titles: Sequence[str], cells: Mapping[str, Sequence[str]]) -> list[str]:
    rows = [f"| {side} | {' | '.join(row)} |" for side, row in cells.items()]
    return [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|", *rows]


def _cell(figure: float | Mapping[str, Any]) -> str:
    return f"{figure:,.0f}" if isinstance(figure, float) else estimate(figure)


def _costs(table: dict[str, Any], model: str) -> list[str]:
    turns = max(row["turns"] for row in table.values())
    loads = [load for row in table.values() for load in row["load"]]
    head = COSTS.format(
        model=model,
        date=max(row["date"] for row in table.values()),
        turns=turns,
        low=min(loads),
        high=max(loads),
        cores=f"{os.cpu_count()} cores",
        pages=TIMED_PAGES,
        text_turns=max(row["text_turns"] for row in table.values()),
    )
    lines = [head]
    for side, row in table.items():
        cells = [
            f"{row['pages_per_second']:.1f}",
            f"{row['texts_per_second']:.0f}",
            *(f"{row[name]:,.0f}" for name in ("start_seconds", "search_p50_ms", "search_p95_ms", "peak_mb")),
            f"{row['installed_mb']:,.0f}",
            str(row["lines"]),
        ]
        lines.append(f"| {side} | {' | '.join(cells)} |")
    named = (
        f"{side} ({', '.join(f'{name} {version}' for name, version in list(row['versions'].items())[:3])})"
        for side, row in table.items()
        if side != "CRAG Explorer"
    )
    return [*lines, "", f"Versions: {'; '.join(named)}."]


def estimate(found: Mapping[str, Any]) -> str:
    """A value with its interval; a dash where there is none."""
    if found["value"] is None:
        return "–"
    if found["low"] is None:
        return f"{found['value']:.2f}"
    return f"{found['value']:.2f} ({found['low']:.2f}–{found['high']:.2f})"


def difference(found: Mapping[str, Any] | None) -> str:
    """In bold where the interval leaves out 0; a dash where there is none."""
    if found is None or found["low"] is None:
        return "–"
    words = f"{found['value']:+.2f} ({found['low']:+.2f} to {found['high']:+.2f})"
    return f"**{words}**" if found["low"] > 0 or found["high"] < 0 else words
