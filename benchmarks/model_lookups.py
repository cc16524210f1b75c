"""Does a language model give the cell of a table that a question asks for? Look-ups of filings, with the cell or not.

python -m benchmarks.model_lookups [--data FOLDER] [--each N] [--minutes M] [--gguf FILE] [--cache FOLDER]
    [--scratch FOLDER] [--out FOLDER]

The questions are those of benchmarks.lookups, of the filings of the half "choose", in an order that says nothing.
Each goes through the whole engine under `balanced`: the model is shown the sources alone, and where the look-up finds
the cell it is asked again, with the cell as a fact. The third arm is the second with the flag of an answer that gives
another amount than the cell. The model is that of benchmarks.headline. Every answer is a line in the scratch folder,
which is taken up where it was left. Prints a page; --out writes it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal
from unittest.mock import patch

from benchmarks.headline_model import stored
from benchmarks.lookups import MISSES, LookupQuestion, made_questions
from benchmarks.pages import parse, publish
from corpora.answer_questions import company_names, part_of
from corpora.judging import evaluator_version
from corpora.libraries import indexed
from corpora.places import is_missing, parser_of
from crag.analysis.intervals import share
from crag.core.config import AppConfig
from crag.core.protocols import RunRequest
from crag.core.strategies import strategy
from crag.core.trace import Trace
from crag.core.types import Chunk, WebPage
from crag.engine import Engine
from crag.generation.cells import Lookup, look_up
from crag.generation.citations import MARK
from crag.generation.llm import FACT, INSTRUCTIONS
from crag.messages.answers import fault_of
from crag.text.dates import dates_in
from crag.text.numerals import numbers_in

EACH = 8
"""Cells asked for in one filing, and half as many near misses."""
CONTEXT = 400
"""Tokens of sources that the model is shown: a small model on two cores reads no more in good time."""
SECONDS = 900
"""For one run: on a busy machine a small model reads long before its first word."""
NEAR = 0.005
"""Two amounts are one if they differ by less."""
SCALES = (1.0, 1e3, 1e6, 1e9)

Arm = Literal["without", "fact"]
ARMS: tuple[Arm, ...] = ("without", "fact")
NAMES = ("the sources alone", "the cell as a fact", "the fact and the flag")
COLUMNS = ("right", "scaled", "wrong", "refused", "wrong, not marked")

_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class Row:
    """One question answered in one arm. `marked`: of low confidence, or the check flags a sentence with an amount.

    `against`: it contradicts the cell; then `marked` may be for that alone.
    """

    arm: str
    question: str
    made_of: str
    kind: str
    source: str
    values: list[str]
    answer: str
    outcome: Literal["right", "wrong", "refused"]
    marked: bool
    against: bool
    lookup: str
    seconds: float


def main() -> int:
    options = arguments()
    if is_missing(options.data, "financebench/pdfs"):
        return 2
    files = [file for file in sorted((options.data / "financebench/pdfs").glob("*.pdf")) if _chosen(file)]
    config = AppConfig.from_environment(run_seconds=SECONDS)
    if options.gguf or config.providers.llm == "none":
        config = config.changed(llm="gguf", llm_model=str(options.gguf or stored(options.scratch)))
    rows = list(answered(config, files, options))
    publish("model_lookups", report(rows, Path(config.providers.llm_model).stem), folder=options.folder)
    return 0


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__, "crag-evidence-cache")
    parser.add_argument("--each", type=int, default=EACH, help="cells asked for in one filing")
    parser.add_argument("--minutes", type=float, default=0.0, help="after these no question is started; 0: no limit")
    parser.add_argument("--gguf", type=Path, help="a model file to serve")
    scratch = Path(tempfile.gettempdir()) / "crag-headline"
    parser.add_argument("--scratch", type=Path, default=scratch, help="where answers and the model are kept")
    parser.add_argument("--out", type=Path, help="where to write model_lookups.md")
    return parse(parser)


def _chosen(file: Path) -> bool:
    return part_of(file.name) == "choose"


def answered(config: AppConfig, files: Sequence[Path], options: argparse.Namespace) -> Iterator[Row]:
    """The rows of all questions whose two arms are answered: those known, then those that time allows."""
    made_of = hashlib.sha256(f"{config.providers.llm_model} {CONTEXT} {INSTRUCTIONS} {FACT}".encode()).hexdigest()[:16]
    journal = options.scratch / "model_lookups.jsonl"
    journal.parent.mkdir(parents=True, exist_ok=True)
    lines = journal.read_text(encoding="utf-8").splitlines() if journal.is_file() else []
    known = {(row.arm, row.question): row for row in map(_read, lines) if row and row.made_of == made_of}
    ends = time.monotonic() + options.minutes * 60 if options.minutes else None
    engine = Engine(config)
    try:
        folder = indexed(engine, files, options.cache)
        library = engine.library(folder)
        documents = {each.name: library.documents.chunks(each.id) for each in library.documents.all()}
        questions = sorted(made_questions(documents, company_names(options.data), options.each), key=_drawn)
        for place, question in enumerate(questions):
            for arm in ARMS:
                if (arm, question.text) in known:
                    continue
                before = known.get(("without", question.text))
                if before and before.lookup != "found":
                    # The prompt has no fact: it is that of the first arm.
                    weak = before.lookup == "no period"
                    known[arm, question.text] = replace(before, arm=arm, marked=before.marked or weak)
                    continue
                if ends is not None and time.monotonic() >= ends:
                    break
                row = known[arm, question.text] = ask(engine, folder, question, arm, made_of)
                with journal.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(row)) + "\n")
                print(f"  {place + 1}/{len(questions)} {arm}: {row.outcome}, {row.seconds:.0f} s", file=sys.stderr)
            if all((arm, question.text) in known for arm in ARMS):
                yield from (known[arm, question.text] for arm in ARMS)
    finally:
        engine.close()


def _read(line: str) -> Row | None:
    try:
        return Row(**json.loads(line))
    except (ValueError, TypeError):
        return None  # a kill cut it short


def _drawn(question: LookupQuestion) -> str:
    return hashlib.sha256(f"model {question.source} {question.text}".encode()).hexdigest()


def ask(engine: Engine, folder: Path, question: LookupQuestion, arm: Arm, made_of: str) -> Row:
    """One question through the engine. Ends the program where the run fails."""
    settings = strategy("balanced").settings.changed(answer_context=CONTEXT)
    lookups: list[Lookup | None] = []

    def note(asked: str, sources: Mapping[str, Chunk | WebPage]) -> Lookup | None:
        lookups.append(look_up(asked, sources))
        return lookups[-1] if arm == "fact" else None

    began = time.monotonic()
    with patch("crag.generation.llm.look_up", note):
        trace = Trace.from_events(engine.ask(RunRequest(question.text, workspace=folder, settings=settings)))
    whole = trace.answer
    if whole is None or whole.instead_of:
        raise SystemExit(f"{question.text}: {trace.failure or trace.failures}. Start again to go on.")
    known = {each.number for each in whole.citations}
    return Row(
        arm=arm,
        question=question.text,
        made_of=made_of,
        kind=question.kind,
        source=question.source,
        values=list(question.values),
        answer=whole.text,
        outcome="refused" if whole.abstained else outcome_of(whole.text, question.values),
        marked=whole.low_confidence
        or any(fault_of(check, known) and outcome_of(check.sentence, ()) == "wrong" for check in trace.checks),
        against=whole.contradicts is not None,
        lookup=lookups[-1].outcome if lookups and lookups[-1] else "",
        seconds=round(time.monotonic() - began, 1),
    )


def outcome_of(answer: str, values: Sequence[str]) -> Literal["right", "wrong", "refused"]:
    """right: a value stands in the answer, rounded or in another scale. refused: no amount does."""
    if not _amounts(answer):
        return "refused"
    return "right" if scales_of(answer, values) else "wrong"


def scales_of(answer: str, values: Sequence[str]) -> set[float]:
    """By what an answer multiplies a value that stands in it: 1 where it gives the bare figure of a table."""
    wanted = [number.values[0] for value in values for number in numbers_in(value) if number.values]
    given = _amounts(answer)
    return {scale for scale in SCALES for one in given for two in wanted if abs(one - two * scale) <= NEAR * one}


def _amounts(answer: str) -> list[float]:
    text = MARK.sub("", answer)
    return [
        number.values[0]
        for number in numbers_in(text, [(day.start, day.end) for day in dates_in(text)])
        if number.values and number.kind == "digits" and not _YEAR.fullmatch(number.text)
    ]


def report(rows: Sequence[Row], model: str) -> str:
    """The page."""
    lines = [
        "# Look-ups with a language model",
        "",
        f"By `python -m benchmarks.model_lookups`: {len(rows) // 2} questions of "
        f"{len({row.source for row in rows})} filings of the half `choose`, {model}, {CONTEXT} tokens of sources, "
        f"evaluator {evaluator_version()}. A question took {_seconds(rows)} s at the median.",
        "**Few questions, of one kind of document and one small model:** read the 95 % intervals (Wilson). The fact "
        "was reworded once, after the first question, which is among these.",
        "",
        "right: the value stands in the answer, rounded or not, in whatever scale. scaled: of the right ones, those "
        "that say thousands, millions or billions, which every table asked for counts in. refused: no amount. not "
        "marked: neither of low confidence nor with an amount in a sentence that the checks flag. Where no cell is "
        "found, the model is asked once for all arms.",
        "",
    ]
    for title, of_misses in (("Questions for a cell", False), ("Near misses: the filing has no such cell", True)):
        own = [row for row in rows if (row.kind in MISSES) == of_misses]
        lines += [f"## {title}", "", f"| the model is shown | questions | {' | '.join(COLUMNS)} |"]
        lines += ["|---|---|---|---|---|---|---|", *map(_line, NAMES, _arms(own)), ""]
    with_fact = [row for row in rows if row.arm == "fact"]
    before = {row.question: row for row in rows if row.arm == "without"}
    turned = [(before[row.question].outcome == "right", row.outcome == "right") for row in with_fact]
    flagged = [row for row in with_fact if row.against]
    lines += [
        f"With the fact {turned.count((False, True))} answers are right that were not, and "
        f"{turned.count((True, False))} are not that were. A cell was found for "
        f"{sum(row.lookup == 'found' for row in with_fact)} questions. The flag was raised {len(flagged)} times, "
        f"{sum(row.outcome == 'right' for row in flagged)} of them on a right answer. Of a near miss every amount is "
        "wrong. In the second arm an answer that the flag alone might mark counts as not marked.",
    ]
    return "\n".join(lines) + "\n"


def _arms(rows: Sequence[Row]) -> list[list[tuple[Row, bool]]]:
    """The rows of the three arms, each with whether it is marked there."""
    without = [(row, row.marked) for row in rows if row.arm == "without"]
    fact = [row for row in rows if row.arm == "fact"]
    return [without, [(row, row.marked and not row.against) for row in fact], [(row, row.marked) for row in fact]]


def _line(name: str, rows: Sequence[tuple[Row, bool]]) -> str:
    outcomes = [row.outcome for row, _ in rows]
    silent = sum(row.outcome == "wrong" and not marked for row, marked in rows)
    right = outcomes.count("right")
    scaled = sum(row.outcome == "right" and scales_of(row.answer, row.values) != {1.0} for row, _ in rows)
    shares = [
        _share(right, len(rows)),
        _share(scaled, right),
        *(_share(count, len(rows)) for count in (outcomes.count("wrong"), outcomes.count("refused"), silent)),
    ]
    return f"| {name} | {len(rows)} | {' | '.join(shares)} |"


def _share(count: int, of: int) -> str:
    found = share(count, of)
    if found.value is None or found.low is None or found.high is None:
        return "–"
    return f"{found.value:.2f} ({found.low:.2f}–{found.high:.2f})"


def _seconds(rows: Sequence[Row]) -> str:
    return f"{statistics.median(row.seconds for row in rows):.0f}" if rows else "–"


if __name__ == "__main__":
    sys.exit(main())
