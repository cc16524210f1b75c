"""Short and extractive answers: SQuAD 1.1 on each question's own paragraph, FinanceBench from question to answer.

python -m benchmarks.answers [--data FOLDER] [--part held-out|test] [--limit N] [--no-financebench] [--cache FOLDER]

`held-out` is the part of the train articles that no weight was fitted on; `test` are other articles, to be run once on
what ships. Exact match and F1 are SQuAD's own, of the words that the local evaluator finds, sure or not; `shown` is the
share of them that an answer would begin with. FinanceBench is asked under `balanced` in one library, which
benchmarks.financebench keeps in --cache. Prints a page; `--out FOLDER` writes answers.md and answers.json there.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import string
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.evaluator_graders import evaluator_version
from benchmarks.evaluator_library import spread
from benchmarks.financebench import asked, indexed
from crag.analysis.metrics.metrics import ResultRow
from crag.analysis.questions.matching import answer_match, asked_scale
from crag.analysis.questions.sets import Question, read_set
from crag.core.config import AppConfig, Keys
from crag.core.protocols import AnswerReader
from crag.core.settings import Settings
from crag.engine import Engine
from training.pairs import held_out

ROOT = Path(__file__).resolve().parent.parent
GOAL = {"exact": 0.60, "f1": 0.70, "holds": 0.20, "right": 0.80}
SQUAD = {"held-out": "v1_train", "test": "v1_test"}
SEED = 5


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its own paragraph with the article's title before it, and the accepted answers."""

    question: str
    text: str
    answers: tuple[str, ...]


def main() -> int:
    options = arguments()
    if not (options.data / "squad").is_dir():
        print(f"Skipped: no data in {options.data}. Give --data or set CRAG_SHARED.", file=sys.stderr)
        return 2
    engine = Engine(AppConfig(), Keys())
    floor = Settings().short_answer
    results: dict[str, Any] = {"version": evaluator_version(), "part": options.part, "floor": floor}
    try:
        reader = engine.evaluator
        assert isinstance(reader, AnswerReader)
        questions = list(squad(options.data / f"squad/{SQUAD[options.part]}.json", options.part))
        if options.limit:
            questions = random.Random(SEED).sample(questions, min(options.limit, len(questions)))
        results["squad"] = squad_figures(reader, questions, floor)
        if options.financebench:
            results["financebench"] = financebench_figures(engine, options)
    finally:
        engine.close()
    page = report(results)
    print(page)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "answers.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        (options.out / "answers.md").write_text(page, encoding="utf-8")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    shared = Path(os.environ.get("CRAG_SHARED", ROOT.parent / "shared"))
    parser.add_argument("--data", type=Path, default=shared / "data", help="the shared data folder")
    parser.add_argument("--part", choices=list(SQUAD), default="held-out", help="which articles of SQuAD 1.1")
    parser.add_argument("--limit", type=int, default=0, help="so many questions of each set; 0: all")
    parser.add_argument("--financebench", action=argparse.BooleanOptionalAction, default=True)
    cache = Path(os.environ.get("CRAG_BENCH_CACHE", "crag-financebench-cache"))
    parser.add_argument("--cache", type=Path, default=cache, help="where FinanceBench's library is kept")
    parser.add_argument("--out", type=Path, help="where to write answers.md and answers.json")
    return parser.parse_args()


def squad(path: Path, part: str) -> Iterator[Asked]:
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        if part == "held-out" and not held_out(article["title"]):
            continue
        title = article["title"].replace("_", " ")
        for paragraph in article["paragraphs"]:
            for qa in paragraph["qas"]:
                answers = tuple(dict.fromkeys(answer["text"] for answer in qa["answers"]))
                yield Asked(qa["question"].strip(), f"{title}\n{paragraph['context']}", answers)


def squad_figures(reader: AnswerReader, questions: Sequence[Asked], floor: float) -> dict[str, float]:
    """Means over all questions; `right` is the share of those shown that share half their words with an answer."""
    exact, f1, shown = [], [], []
    for number, each in enumerate(questions, start=1):
        found = reader.read(each.question, each.text)
        said = each.text[found.start : found.end] if found else ""
        exact.append(float(any(normal(said) == normal(answer) for answer in each.answers)))
        f1.append(max(word_f1(said, answer) for answer in each.answers))
        if found is not None and found.confidence >= floor:
            shown.append(f1[-1] >= 0.5)
        if number % 500 == 0:
            print(f"  read {number}/{len(questions)}", file=sys.stderr)
    count = len(questions)
    return {
        "questions": count,
        "exact": sum(exact) / count,
        "f1": sum(f1) / count,
        "shown": len(shown) / count,
        "right": sum(shown) / len(shown) if shown else 0.0,
    }


def normal(text: str) -> list[str]:
    """An answer's words as SQuAD's evaluation compares them (Rajpurkar et al. 2016)."""
    bare = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return re.sub(r"\b(?:a|an|the)\b", " ", bare).split()


def word_f1(said: str, answer: str) -> float:
    one, other = normal(said), normal(answer)
    common = sum((Counter(one) & Counter(other)).values())
    return 2 * common / (len(one) + len(other)) if common else 0.0


def financebench_figures(engine: Engine, options: argparse.Namespace) -> dict[str, Any]:
    folder = options.data / "financebench"
    library = indexed(engine, sorted((folder / "pdfs").glob("*.pdf")), options.cache)
    found = read_set("questions.jsonl", (folder / "questions.jsonl").read_bytes()).questions
    questions = spread(found, options.limit)
    rows = asked(engine, library, questions, ["balanced"], apart=False)["balanced"]
    short = [(row, question) for row, question in zip(rows, questions, strict=True) if row.short_answer]
    right = [_said(row, question) for row, question in short]
    return {
        "questions": len(rows),
        "holds": sum(bool(row.answer_holds) for row in rows) / len(rows),
        "abstained": sum(bool(row.abstained) for row in rows) / len(rows),
        "shown": len(short) / len(rows),
        "right": sum(right) / len(right) if right else None,
        "told": [
            {"question": question.question, "short": row.short_answer, "accepted": question.answers, "right": fine}
            for (row, question), fine in zip(short, right, strict=True)
        ],
    }


def _said(row: ResultRow, question: Question) -> bool:
    match = answer_match(row.short_answer, question.answers, scale=asked_scale(question.question))
    return match is not None and (match.holds or match.f1 >= 0.5)


def report(results: Mapping[str, Any]) -> str:
    squad = results["squad"]
    lines = [
        "# Answers",
        "",
        f"By `python -m benchmarks.answers`, evaluator {results['version']}; short answers from {results['floor']} on.",
        "",
        "| | found | goal |",
        "|---|---|---|",
        f"| SQuAD 1.1 ({results['part']}, {squad['questions']} questions, own paragraph), exact match "
        f"| {squad['exact']:.3f} | {GOAL['exact']} |",
        f"| F1 | {squad['f1']:.3f} | {GOAL['f1']} |",
        f"| shown | {squad['shown']:.3f} | |",
        f"| right of those shown | {squad['right']:.3f} | {GOAL['right']} |",
    ]
    if bench := results.get("financebench"):
        right = "–" if bench["right"] is None else f"{bench['right']:.3f}"
        lines += [
            f"| FinanceBench ({bench['questions']} questions), extractive answer says the accepted one "
            f"| {bench['holds']:.3f} | {GOAL['holds']} |",
            f"| abstained | {bench['abstained']:.3f} | |",
            f"| short answer shown | {bench['shown']:.3f} | |",
            f"| right of those shown | {right} | {GOAL['right']} |",
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
