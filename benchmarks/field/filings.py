"""FinanceBench question by question: our evidence and answers beside those published with the data.

    python -m benchmarks.field.filings --published FOLDER [--data FOLDER] [--cache FOLDER] [--limit N] [--out FOLDER]

--published is a checkout of github.com/patronus-ai/financebench, whose results/ holds answers of GPT-4, GPT-4 Turbo,
Llama 2 and Claude 2 that people judged (arXiv 2311.11944). Ours are of `balanced` without a language model, over the
PDFs in --data in one library, which benchmarks.financebench builds and this uses again. Only the dev questions are
asked. What was asked stays below --cache, named after what made it: delete it when the code of a run changes. Writes
field_filings.json and field_filings.md; with --limit only where --out says.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.evaluator_library import spread
from benchmarks.evaluator_report import table
from benchmarks.evaluator_sets import lines
from benchmarks.field.kept import Figures, Kept, average, fraction, made
from benchmarks.field.report import difference, estimate
from benchmarks.financebench import parser_of
from corpora.judging import evaluator_version
from corpora.libraries import indexed
from corpora.published_sets import read_published
from crag.analysis.metrics.metrics import measure_run
from crag.analysis.questions.sets import Question
from crag.core.config import AppConfig, Keys
from crag.core.protocols import RunRequest
from crag.core.strategies import strategy
from crag.engine import Engine
from crag.evaluation.local import LocalEvaluator

RESULTS = Path(__file__).resolve().parent.parent / "results"
WHERE = "github.com/patronus-ai/financebench"
SYSTEMS = {
    "gpt-4-1106-preview_sharedStore": "GPT-4 Turbo, all filings in one store",
    "gpt-4_sharedStore": "GPT-4, all filings in one store",
    "llama2_sharedStore": "Llama 2, all filings in one store",
    "gpt-4-1106-preview_singleStore": "GPT-4 Turbo, a store a filing",
    "gpt-4-1106-preview_inContext_reverse": "GPT-4 Turbo, the whole filing",
    "gpt-4-1106-preview_oracle": "GPT-4 Turbo, given the gold page",
}
"""Names of files in results/, and what they are. Ours is asked as the first three were."""
MARKS = {"Correct Answer": "right", "Incorrect Answer": "wrong", "Refusal": "refused"}
OURS = "CRAG Explorer, `balanced`, no language model"

HEAD = """# Beside the field: FinanceBench, question by question

Made by `python -m benchmarks.field.filings`, {date}, {machine}, {versions}.

{questions} dev questions, asked of {documents} filings in one library. The published answers are those of
github.com/patronus-ai/financebench, `results/`, each judged by people (arXiv 2311.11944); their stores held more
filings than ours. Ours are judged by a program: *right* says the accepted answer, an amount by its value; *other* is
any other answer, among them quoted sentences from the right page. Most accepted answers must be reasoned out, which
nothing does here without a language model. So two things are compared: whether our evidence has the page, and what our
answer says. CRAG Explorer was developed on these questions; the published systems were not."""

READING = """*Holds a gold page*: a sentence or row that is kept is from a page that people named as evidence. That is
less than a right answer: a language model that is given the gold page can be wrong too (last row of the first
table)."""


def main() -> int:
    parser = parser_of(__doc__, "crag-financebench-cache")
    parser.add_argument("--published", type=Path, required=True, help=f"a checkout of {WHERE}")
    parser.add_argument("--limit", type=int, default=0, help="the most questions; 0: all")
    parser.add_argument("--out", type=Path, help="where to write field_filings.json and field_filings.md")
    options = parser.parse_args()
    file = options.data / "financebench" / "questions.jsonl"
    if not file.is_file() or not (options.published / "results").is_dir():
        print(f"Skipped: give --data with FinanceBench, and a clone of {WHERE} as --published.", file=sys.stderr)
        return 2
    questions = spread(read_published(file).questions, options.limit)
    engine = Engine(AppConfig(), Keys(), evaluator=LocalEvaluator())
    try:
        library = indexed(engine, sorted((options.data / "financebench" / "pdfs").glob("*.pdf")), options.cache)
        kept = Kept(options.cache / f"field-{library.name}-{evaluator_version()}.jsonl")
        kinds = {row["financebench_id"]: row["question_type"] for row in lines(file)}
        rows = [
            {**kept.get(question.id, lambda asked=question: ask(engine, library, asked)), "kind": kinds[question.id]}
            for question in questions
        ]
        documents = engine.library(library).size[0]
    finally:
        engine.close()
    labels = {name: read_labels(options.published / "results" / f"{name}.jsonl") for name in SYSTEMS}
    results = {**made(), "questions": len(rows), "documents": documents, **compare(rows, labels)}
    said = page(results)
    print(said)
    if out := options.out or (None if options.limit else RESULTS):
        out.mkdir(parents=True, exist_ok=True)
        (out / "field_filings.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        (out / "field_filings.md").write_text(said, encoding="utf-8")
    return 0


def ask(engine: Engine, library: Path, question: Question) -> Figures:
    """What one run found and said. Ends the program where it fails."""
    settings = strategy("balanced").settings.changed(verify=False)
    trace = engine.trace(RunRequest(question.question, workspace=library, settings=settings))
    row = measure_run(trace, question)
    if trace.answer is None or row.problem:
        raise SystemExit(f"{question.id}: {row.problem or 'no answer'}")
    return {
        "id": question.id,
        "document": question.sources[0].removesuffix(".pdf"),
        "rank": row.first_by_page.rank if row.first_by_page else None,
        "action": str(row.action),
        "page": bool(row.evidence_page),
        "said": "refused" if row.abstained else "right" if row.answer_holds else "other",
        "low": trace.answer.low_confidence,
    }


def read_labels(path: Path) -> dict[str, str]:
    """What people said of each answer of a file: right, wrong or refused."""
    return {row["financebench_id"]: MARKS[row["label"]] for row in lines(path)}


def compare(rows: Sequence[Figures], labels: Mapping[str, Mapping[str, str]]) -> Figures:
    """Counts of each system, and of ours where each was right and where it missed."""
    found: Figures = {
        "ours": {"said": Counter(row["said"] for row in rows), "page": fraction([row["page"] for row in rows])},
        "confident": Counter(row["said"] for row in rows if not row["low"]),
        "right": fraction([row["said"] == "right" for row in rows]),
        "systems": {},
        "kinds": {
            kind: {
                OURS: fraction([row["said"] == "right" for row in rows if row["kind"] == kind]),
                **{
                    SYSTEMS[name]: fraction([judged[row["id"]] == "right" for row in rows if row["kind"] == kind])
                    for name, judged in labels.items()
                },
            }
            for kind in dict.fromkeys(row["kind"] for row in rows)
        },
        "rows": [{**row, "published": [labels[name][row["id"]] for name in SYSTEMS]} for row in rows],
    }
    for name, judged in labels.items():
        theirs = [judged[row["id"]] for row in rows]
        missed = [row for row, label in zip(rows, theirs, strict=True) if label != "right"]
        right = [row for row, label in zip(rows, theirs, strict=True) if label == "right"]
        found["systems"][name] = {
            "said": Counter(theirs),
            "right": fraction([label == "right" for label in theirs]),
            "right_of_all": fraction([label == "right" for label in judged.values()]),
            "page_where_missed": fraction([row["page"] for row in missed]),
            "no_page_where_right": fraction([not row["page"] for row in right]),
            "only_ours": sum(row["said"] == "right" for row in missed),
            "only_theirs": sum(row["said"] != "right" for row in right),
            "ours_less_theirs": average(
                [(row["said"] == "right") - (label == "right") for row, label in zip(rows, theirs, strict=True)]
            ),
        }
    return found


def page(results: Mapping[str, Any]) -> str:
    """As Markdown."""
    ours, systems, kinds = results["ours"], results["systems"], results["kinds"]
    by_kind = [(name, *(estimate(each[name]) for each in kinds.values())) for name in (OURS, *SYSTEMS.values())]
    said = [(OURS, *_counts(ours["said"]), estimate(results["right"]), "")]
    said += [
        (SYSTEMS[name], *_counts(each["said"]), estimate(each["right"]), estimate(each["right_of_all"]))
        for name, each in systems.items()
    ]
    beside = [
        (
            SYSTEMS[name],
            *(f"{_hits(each[key])} of {each[key]['of']}" for key in ("page_where_missed", "no_page_where_right")),
            estimate(each["page_where_missed"]),
            str(each["only_ours"]),
            str(each["only_theirs"]),
            difference(each["ours_less_theirs"]),
        )
        for name, each in systems.items()
    ]
    rows = [
        (
            row["id"].removeprefix("financebench_id_"),
            row["document"],
            str(row["rank"] or "–"),
            row["action"],
            "yes" if row["page"] else "no",
            f"{row['said']}, low" if row["low"] and row["said"] != "refused" else row["said"],
            *row["published"],
        )
        for row in results["rows"]
    ]
    answers = ("answers", "right", "wrong or other", "refused", "right, of these", "right, of all 150")
    missed = ("", "they missed, our evidence holds a gold page", "they are right, ours holds none")
    missed += ("share of the missed", "right: only ours", "only theirs", "right: ours less theirs")
    head = ("id", "filing", "gold page found at", "action", "in evidence", "ours", "GPT-4 Turbo", "GPT-4", "Llama 2")
    head += ("Turbo, own store", "Turbo, filing", "Turbo, gold page")
    parts = [
        HEAD.format(**results),
        "## What each says",
        table(answers, said),
        "Right by kind of question, as the data names it:",
        table(("right", *(f"{kind} ({_of(each)})" for kind, each in kinds.items())), by_kind),
        f"Of our answers {results['confident'].get('right', 0)} right ones and {results['confident'].get('other', 0)} "
        "others are not marked as of low confidence.",
        f"Our evidence holds a gold page for {estimate(ours['page'])} of the questions.",
        "## Where one has what the other missed",
        table(missed, beside),
        READING,
        "## Each question",
        table(head, rows),
    ]
    return "\n\n".join(parts) + "\n"


def _counts(said: Mapping[str, int]) -> tuple[str, str, str]:
    right, refused = said.get("right", 0), said.get("refused", 0)
    return str(right), str(sum(said.values()) - right - refused), str(refused)


def _of(found: Mapping[str, Mapping[str, Any]]) -> int:
    return int(found[OURS]["of"])


def _hits(found: Mapping[str, Any]) -> int:
    return round((found["value"] or 0) * found["of"])


if __name__ == "__main__":
    sys.exit(main())
