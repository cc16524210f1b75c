"""Whether two versions of the code answer alike: records what a version answers, and compares two records.

python -m benchmarks.same_answers --record FILE [--filings N] [--data FOLDER]
python -m benchmarks.same_answers --compare BEFORE AFTER

A record holds action, evidence and answer of every question: those of the sample library, the FinanceBench questions
whose filings are the N smallest, a question for each of the follow-ups below, by the default strategy and local models.
It uses the public API alone, so the same file runs beside an earlier commit: copy it there. The comparison lists what
differs, and its exit code is 1 where anything does.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from corpora.places import parser_of
from corpora.rows import read_rows
from crag import Engine

FOLLOW_UPS = (
    ("How long did hiring take in 2019?", "And in 2020?"),
    ("Who leads the agency?", "When was that person appointed?"),
    ("What does the report say about retirement cases?", "Why?"),
)


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--record", type=Path, metavar="FILE")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("BEFORE", "AFTER"))
    parser.add_argument("--filings", type=int, default=12, help="how many filings of FinanceBench are asked")
    options = parser.parse_args()
    if options.compare:
        return compare(*(json.loads(file.read_text(encoding="utf-8")) for file in options.compare))
    if options.record is None:
        parser.error("say what to do: --record or --compare")
    with tempfile.TemporaryDirectory() as folder:
        found = dict(record(Path(folder), options.data, options.filings))
    options.record.write_text(json.dumps(found, indent=1), encoding="utf-8")
    print(f"{len(found)} answers in {options.record}")
    return 0


def record(folder: Path, data: Path, filings: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each question with what the engine made of it."""
    os.environ["CRAG_DATA"] = str(folder / "data")
    engine = Engine()
    sample = engine.sample()
    list(engine.add(sample.pdf.name, sample.pdf.read_bytes()))
    asked = _sample_questions(sample)
    for question in asked:
        yield f"sample: {question}", run(engine, question)
    for first, second in FOLLOW_UPS:
        before = run(engine, first)
        yield f"follow-up: {second}", run(engine, second, after=before["run"])
    engine.close()
    yield from _filings(folder / "filings", data / "financebench", filings)


def _sample_questions(sample: Any) -> list[str]:
    return [row["question"] for row in read_rows(Path(sample.question_set))]


def _filings(folder: Path, data: Path, most: int) -> Iterator[tuple[str, dict[str, Any]]]:
    if not data.is_dir():
        print(f"no FinanceBench in {data}: its questions are left out", file=sys.stderr)
        return
    os.environ["CRAG_DATA"] = str(folder)
    files = sorted((data / "pdfs").glob("*.pdf"), key=lambda file: file.stat().st_size)[:most]
    rows = read_rows(data / "questions.jsonl")
    engine = Engine()
    for file in files:
        for event in engine.add(file.name, file.read_bytes()):
            if event.kind == "document_failed":
                raise SystemExit(f"{file.name}: {event}")
        print(f"  added {file.name}", file=sys.stderr)
    named = {file.stem for file in files}
    for row in rows:
        if row["doc_name"] in named:
            yield f"filing: {row['question']}", run(engine, row["question"])
    engine.close()


def run(engine: Engine, question: str, after: str = "") -> dict[str, Any]:
    """Action, evidence and answer of one question; `after` is the stored run that it follows on."""
    trace = engine.trace(_request(engine, question, after) if after else question)
    answer = trace.answer
    return {
        "run": trace.run_id,
        "asked": trace.meant,
        "action": str(trace.action),
        "evidence": [[_place(trace, strip), _digest(strip.text)] for strip in trace.kept()],
        "answer": answer.text if answer else None,
        "citations": [[cited.source, cited.page] for cited in answer.citations] if answer else [],
    }


def _request(engine: Engine, question: str, after: str) -> Any:
    """A follow-up on a stored run. An earlier version may need other words here."""
    from crag import RunRequest
    from crag.generation.conversation.history import leading_to

    return RunRequest(question, history=leading_to(after, engine.library().runs.trace))


def _place(trace: Any, strip: Any) -> list[Any]:
    source = trace.sources[strip.source_id]
    return [getattr(source, "source", None) or getattr(source, "url", ""), getattr(source, "page", None)]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def compare(before: dict[str, Any], after: dict[str, Any]) -> int:
    """Print what differs between two records; 1 where anything does."""
    both = [key for key in before if key in after]
    different = 0
    for key in both:
        fields = [name for name in before[key] if name != "run" and before[key][name] != after[key][name]]
        if fields:
            different += 1
            print(f"{key}\n  differs in {', '.join(fields)}")
            for name in fields:
                print(f"    {name}: {_short(before[key][name])}\n        → {_short(after[key][name])}")
    alone: Sequence[str] = sorted(set(before) ^ set(after))
    for key in alone:
        print(f"in one record alone: {key}")
    print(f"{len(both)} questions in both, {different} answered otherwise, {len(alone)} in one alone")
    return 1 if different or alone else 0


def _short(value: object) -> str:
    said = json.dumps(value, ensure_ascii=False)
    return said if len(said) <= 200 else f"{said[:200]}…"


if __name__ == "__main__":
    raise SystemExit(main())
