"""Meta's CRAG (KDD Cup 2024): real web pages as the web of `balanced`, and as documents under plain RAG.

    python -m benchmarks.field.web_pages --data FOLDER [--out FOLDER]

FOLDER is a checkout of github.com/facebookresearch/CRAG. What a checkout holds without its large files is the sample
of ten questions, each with five pages as they were found. `balanced` has a library about something else, and
searches these as its web; plain RAG has them as documents and grades nothing. Scored as the contest does: a right
answer 1, a wrong one -1, none 0. No language model: an answer is right where one of the phrases in `web_pages.jsonl`
is in it, which a reader of the data's own answers wrote. Writes field_web.json and field_web.md.
"""

from __future__ import annotations

import argparse
import bz2
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.evaluator_report import table
from benchmarks.evaluator_sets import lines
from benchmarks.field.kept import average, made
from benchmarks.field.report import difference, estimate
from benchmarks.field.texts import RESULTS, less
from crag.core.config import AppConfig, Keys
from crag.core.ingesting import DocumentFailed
from crag.core.protocols import RunRequest
from crag.core.strategies import strategy
from crag.core.trace import Trace
from crag.engine import Engine
from crag.pipeline.indexing import Load
from crag.web.folder import FolderWeb

SAMPLE = "example_data/dev_data.jsonl.bz2"
PHRASES = Path(__file__).with_suffix(".jsonl")
ELSEWHERE = b"The garden club plants its tulips in October, and its beans in May."
"""The only document of `balanced`: a library without one is not searched."""
SIDES = {"balanced": "`balanced`, the pages as its web", "plain-rag": "plain RAG, the pages as documents"}

HEAD = """# Beside the field: pages of the web

Made by `python -m benchmarks.field.web_pages`, {date}, {machine}, {versions}.

Meta's CRAG (arXiv 2406.04744) has 4,409 questions with web pages; its files are over 4 MB or in Git LFS and cannot be
had here, but for the sample of {questions} questions in its repository: {pages} pages, some twice, of those that were
found in February and March 2024. No language model. Score: right 1, wrong -1, no answer 0, the mean; in brackets 95 %
intervals; *low as none* counts an answer of low confidence as none. An answer is right where it has one of the phrases
that a reader wrote from the data's answer; of several names one is enough. Ten questions tell little."""

PUBLISHED = """Published over all questions, by the paper's abstract: advanced language models are right on at most
34 %, with plain RAG on 44 %, and industry systems answer 63 % without a hallucination. Another judge decided there."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a checkout of github.com/facebookresearch/CRAG")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    if not (options.data / SAMPLE).is_file():
        print(f"Skipped: no {SAMPLE} in {options.data}. Clone github.com/facebookresearch/CRAG.", file=sys.stderr)
        return 2
    rows = [json.loads(line) for line in bz2.decompress((options.data / SAMPLE).read_bytes()).splitlines()]
    phrases = {row["id"]: row["right"] for row in lines(PHRASES)}
    cases = [case(row, phrases[row["interaction_id"]]) for row in rows]
    scores = {side: [float(each[side]["score"]) for each in cases] for side in SIDES}
    results = {
        **made(),
        "questions": len(rows),
        "pages": sum(len(row["search_results"]) for row in rows),
        "scores": {side: average(values) for side, values in scores.items()},
        "less": less(scores["plain-rag"], scores["balanced"]),
        "cases": cases,
    }
    said = page(results)
    print(said)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "field_web.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (options.out / "field_web.md").write_text(said, encoding="utf-8")
    return 0


def case(row: dict[str, Any], right: list[str]) -> dict[str, Any]:
    """A question asked of both sides, each with its own data folder."""
    found: dict[str, Any] = {"question": row["query"], "gold": row["answer"], "kind": row["question_type"]}
    for side in SIDES:
        with tempfile.TemporaryDirectory() as place:
            pages = Path(place) / "pages"
            pages.mkdir()
            for number, each in enumerate(row["search_results"], start=1):
                (pages / f"page-{number}.html").write_text(each["page_result"], encoding="utf-8")
            engine = Engine(AppConfig.of(data=Path(place) / "data"), Keys(), web=FolderWeb(pages))
            try:
                found[side] = answered(engine, side, row["query"], sorted(pages.iterdir()), right)
            finally:
                engine.close()
    return found


def answered(engine: Engine, side: str, question: str, pages: list[Path], right: list[str]) -> dict[str, Any]:
    """What one side says, its action, and its score."""
    given: list[tuple[str, Load]] = [(path.name, path.read_bytes) for path in pages]
    for event in engine.add_files(given if side == "plain-rag" else [("garden.txt", lambda: ELSEWHERE)]):
        if isinstance(event, DocumentFailed):
            print(f"  {question}: {event.message}", file=sys.stderr)
    trace: Trace = engine.trace(RunRequest(question, settings=strategy(side).settings.changed(verify=False)))
    answer = trace.answer
    if answer is None:
        raise SystemExit(f"{question}: {trace.failure or 'no answer'}")
    if answer.abstained:
        return {"action": str(trace.action), "says": "", "score": 0, "low": False}
    said = answer.short.text if answer.short else answer.text
    score = 1 if any(phrase.casefold() in said.casefold() for phrase in right) else -1
    return {"action": str(trace.action), "says": said, "score": score, "low": answer.low_confidence}


def page(results: dict[str, Any]) -> str:
    """As Markdown."""
    rows = []
    for side, title in SIDES.items():
        said = [each[side] for each in results["cases"]]
        counts = [str(sum(each["score"] == score for each in said)) for score in (1, -1, 0)]
        sure = [each["score"] for each in said if not each["low"]]
        rows.append(
            (title, *counts, str(sure.count(-1)), estimate(results["scores"][side]), f"{sum(sure) / len(said):.2f}")
        )
    cases = [(each["question"], each["gold"], *(_said(each[side]) for side in SIDES)) for each in results["cases"]]
    return (
        "\n\n".join(
            [
                HEAD.format(**results),
                table(
                    ("side", "right", "wrong", "no answer", "wrong and confident", "score", "score, low as none"), rows
                ),
                f"Plain RAG less `balanced`: {difference(results['less'])}.",
                PUBLISHED,
                "## Each question",
                table(("question", "the data's answer", *SIDES.values()), cases),
            ]
        )
        + "\n"
    )


def _said(row: dict[str, Any]) -> str:
    if not row["says"]:
        return f"no answer ({row['action']})"
    words = " ".join(row["says"].replace("|", "/").split())
    mark = "right" if row["score"] > 0 else "wrong"
    return f"{mark}{', low confidence' if row['low'] else ''}: {words if len(words) <= 160 else words[:159] + '…'}"


if __name__ == "__main__":
    sys.exit(main())
