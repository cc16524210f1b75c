"""Our chunking against the usual splitter on `chunking_eval`: token recall, precision, IoU of one dense retrieval.

    python -m benchmarks.chunking [--sizes 400 800]

Same model (the shipped one), same exact search, only the chunks differ. A token is a run of characters without
white space. At a fixed k longer chunks bring more text, so figures at equal retrieved tokens stand beside them:
chunks are taken best first until the budget is spent, the last one whole if half of it still fits.
Writes results/chunking.json and results/chunking.md.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from langchain_text_splitters import RecursiveCharacterTextSplitter

from crag.core.ingesting import Page, ParsedDocument
from crag.ingest.chunking import CHUNKING_ID, Sizes, chunk_document
from crag.models.runtime import E5

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("CRAG_SHARED", HERE.parent.parent / "shared")) / "data" / "chunking_eval"
TOKEN = re.compile(r"\S+")
KS = (1, 3, 5, 10)
BUDGETS = (200, 400, 800)
Span = tuple[int, int]
Cut = Callable[[str], list[Span]]


def ours(sizes: Sizes) -> Cut:
    def cut(text: str) -> list[Span]:
        page = Page(number=1, text=text, width=612.0, height=792.0)
        parsed = ParsedDocument(title="", pages=(page,))
        return [(chunk.start, chunk.end) for chunk in chunk_document(parsed, "0" * 64, "corpus", sizes=sizes)]

    return cut


def recipe(text: str) -> list[Span]:
    splitter = RecursiveCharacterTextSplitter(chunk_size=500, chunk_overlap=50, add_start_index=True)
    found = []
    for document in splitter.create_documents([text]):
        start = document.metadata["start_index"]
        found.append((start, start + len(document.page_content)))
    return found


class Corpus:
    """A text, its tokens' places, and its questions with the spans that answer them."""

    def __init__(self, name: str, questions: list[tuple[str, list[Span]]]) -> None:
        self.name = name
        self.text = (DATA / f"{name}.md").read_text(encoding="utf-8")
        places = [match.span() for match in TOKEN.finditer(self.text)]
        self.starts = np.array([place[0] for place in places])
        self.ends = np.array([place[1] for place in places])
        self.questions = questions

    def tokens(self, span: Span) -> slice:
        """The tokens that a span of characters touches."""
        return slice(
            int(np.searchsorted(self.ends, span[0], "right")), int(np.searchsorted(self.starts, span[1], "left"))
        )


def corpora() -> list[Corpus]:
    questions: dict[str, list[tuple[str, list[Span]]]] = {}
    with (DATA / "questions_df.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            spans = [(each["start_index"], each["end_index"]) for each in json.loads(row["references"])]
            questions.setdefault(row["corpus_id"], []).append((row["question"], spans))
    return [Corpus(name, asked) for name, asked in questions.items()]


def measure(cut: Cut, found: list[Corpus], model: E5) -> dict[str, object]:
    """Means over all questions of all corpora."""
    scores: dict[str, list[tuple[float, float, float, float]]] = {}
    sizes: list[int] = []
    for corpus in found:
        spans = cut(corpus.text)
        sizes += [end - start for start, end in spans]
        passages = model.embed([corpus.text[start:end] for start, end in spans])
        asked = model.embed([question for question, _ in corpus.questions])
        order = np.argsort(-(asked @ passages.T), axis=1, kind="stable")
        for (_, wanted), ranked in zip(corpus.questions, order, strict=True):
            gold = np.zeros(len(corpus.starts), bool)
            for span in wanted:
                gold[corpus.tokens(span)] = True
            slices = [corpus.tokens(spans[index]) for index in ranked[:60]]
            for k in KS:
                scores.setdefault(f"k={k}", []).append(_score(gold, slices[:k]))
            for budget in BUDGETS:
                scores.setdefault(f"tokens={budget}", []).append(_score(gold, _within(slices, budget)))
    names = ("recall", "precision", "iou", "retrieved_tokens")
    figures = {
        key: dict(zip(names, (round(float(x), 4) for x in np.mean(rows, axis=0)), strict=True))
        for key, rows in scores.items()
    }
    return {"chunks": len(sizes), "mean_characters": round(float(np.mean(sizes))), "at": figures}


def _within(slices: list[slice], budget: int) -> list[slice]:
    taken, spent = [], 0
    for each in slices:
        size = each.stop - each.start
        if taken and spent + size / 2 > budget:
            break
        taken.append(each)
        spent += size
    return taken


def _score(gold: np.ndarray, slices: list[slice]) -> tuple[float, float, float, float]:
    """Recall, precision, IoU; retrieved tokens counted with repeats, as overlaps cost a reader twice."""
    got = np.zeros(len(gold), bool)
    for each in slices:
        got[each] = True
    spent = sum(each.stop - each.start for each in slices)
    both = int((gold & got).sum())
    wanted = int(gold.sum())
    return both / max(wanted, 1), both / max(spent, 1), both / max(wanted + spent - both, 1), float(spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[], help="also these sizes, which were not chosen")
    options = parser.parse_args()
    if not DATA.is_dir():
        raise SystemExit("chunking_eval is not there: set CRAG_SHARED to the folder that holds data/.")
    began, found, model = time.perf_counter(), corpora(), E5()
    chosen = Sizes()
    cuts: dict[str, Cut] = {"recipe: recursive 500/50": recipe, f"ours: sentences to {chosen.text}": ours(chosen)}
    for size in options.sizes:
        cuts[f"ours: sentences to {size}"] = ours(
            replace(chosen, text=size, table=size, least=min(chosen.least, size // 2))
        )
    results = {name: measure(cut, found, model) for name, cut in cuts.items()}
    report = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "model": model.id,
        "chunking": CHUNKING_ID,
        "questions": sum(len(corpus.questions) for corpus in found),
        "seconds": round(time.perf_counter() - began, 1),
        "results": results,
    }
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "chunking.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    page = _page(report)
    (HERE / "results" / "chunking.md").write_text(page, encoding="utf-8")
    print(page)


def _page(report: dict[str, object]) -> str:
    results: dict[str, dict] = report["results"]  # type: ignore[assignment,type-arg]
    lines = [
        "# Chunking on chunking_eval",
        "",
        f"`python -m benchmarks.chunking`, {report['date']}, {report['machine']}, {report['questions']} questions, "
        f"model {report['model']}, dense search. recall / precision / IoU in percent.",
        "",
        "| chunks | number | mean characters | " + " | ".join(next(iter(results.values()))["at"]) + " |",
        "|---|---|---|" + "---|" * len(next(iter(results.values()))["at"]),
    ]
    for name, figures in results.items():
        cells = [
            f"{100 * at['recall']:.1f} / {100 * at['precision']:.1f} / {100 * at['iou']:.1f}"
            for at in figures["at"].values()
        ]
        lines.append(f"| {name} | {figures['chunks']} | {figures['mean_characters']} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
