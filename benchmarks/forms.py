"""Forms: is each label read with the value beside it, and is the field found that a question names?

python -m benchmarks.forms [--data FOLDER] [--limit N] [--out FOLDER] [--show]

Five accident reports of the United States' safety board (public domain), each a form of four pages or so. What stands
beside each label is taken from pdfplumber's words, by their places, not from this project's reader. Each label is asked
for in one of several wordings, with the place that its report is about; of those that the form leaves empty an answer
is wrong. The default strategy answers, without a language model and without the web. Prints a page; writes
results/forms.md unless a part was asked for. All forms are of one kind: this tells whether it works, not how often
it works elsewhere.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pdfplumber

from benchmarks.financebench import parser_of
from corpora.judging import evaluator_version
from crag.core.config import AppConfig, Keys
from crag.core.protocols import RunRequest
from crag.core.types import Answer
from crag.engine import Engine
from crag.ingest.reader import read_document

RESULT = Path(__file__).resolve().parent / "results" / "forms.md"
FILES = "ntsb-*.pdf"
WORDINGS = (
    "What is the {label} in the {place} accident report?",
    "{label} of the {place} accident?",
    "In the {place} report, what is given as {label}?",
    "For the accident at {place}, tell me the {label}.",
)
SEED = 5
PLACE = "Location"
LONG = ("Note", "Investigation Docket")
"""Labels of notes that fill several lines, alike in all reports."""
LONGEST = 60
"""Characters of a label; longer ones are sentences."""
GAP = 6.0
"""Points of white space between a label and its value at least."""

WRAPPED = 13.0
"""Points from a label's first line to its second at most."""

Outcome = Literal["right", "right, low confidence", "wrong, low confidence", "wrong", "refused"]
OUTCOMES: tuple[Outcome, ...] = ("right", "right, low confidence", "wrong, low confidence", "wrong", "refused")


class Pair(NamedTuple):
    """A label of a report and the first line of what stands beside it; "" where nothing does."""

    file: Path
    page: int
    label: str
    value: str


def main() -> int:
    parser = parser_of(__doc__, "crag-forms-cache")
    parser.add_argument("--limit", type=int, default=0, help="the most questions; 0: all")
    parser.add_argument("--out", type=Path, help="where to write forms.md")
    parser.add_argument("--show", action="store_true", help="print what is answered wrong")
    given = parser.parse_args()
    files = sorted((given.data / "public_domain").glob(FILES))
    if not files:
        print(f"Skipped: no reports in {given.data}. Give --data or set CRAG_SHARED.", file=sys.stderr)
        return 2
    pairs = [pair for file in files for pair in pairs_of(file)]
    read = count_read(pairs)
    asked = [*questions(pairs)]
    random.Random(SEED).shuffle(asked)
    asked = asked[: given.limit or None]
    found = {"with a value": Counter[Outcome](), "left empty": Counter[Outcome]()}
    with tempfile.TemporaryDirectory() as place:
        engine = Engine(AppConfig.of(data=Path(place)), Keys())
        for _ in engine.add_files([(file.name, file.read_bytes) for file in files]):
            pass
        for at, (pair, question) in enumerate(asked, start=1):
            answer = engine.trace(RunRequest(question)).answer
            ended = outcome(pair, answer)
            found["with a value" if pair.value else "left empty"][ended] += 1
            if given.show and ended in ("wrong", "wrong, low confidence"):
                print(f"{ended}: {question} | {pair.value} | {answer and answer.text[:120]!r}", file=sys.stderr)
            if at % 20 == 0:
                print(f"  asked {at} of {len(asked)}", file=sys.stderr)
        engine.close()
    said = page(len(files), sum(bool(pair.value) for pair in pairs), read, found)
    print(said)
    if out := given.out or (None if given.limit else RESULT.parent):
        out.mkdir(parents=True, exist_ok=True)
        (out / RESULT.name).write_text(said, encoding="utf-8")
    return 0


def pairs_of(file: Path) -> Iterator[Pair]:
    """The labels of a report, by pdfplumber's words: each ends in a colon, and its value begins right of it."""
    with pdfplumber.open(file) as document:
        for page in document.pages:
            lines: dict[int, list[dict[str, Any]]] = {}
            for word in page.extract_words(x_tolerance=2, keep_blank_chars=True):
                lines.setdefault(round(word["top"]), []).append(word)
            tops = sorted(lines)
            for top in tops:
                pieces = [_piece(word) for word in lines[top] if word["text"].strip()]
                over = [_piece(word) for other in tops if 0 < top - other < WRAPPED for word in lines[other]]
                for at, (label, left, right) in enumerate(pieces):
                    if not label.endswith(":") or label[:-1] in LONG or not 2 < len(label) <= LONGEST:
                        continue
                    if any(abs(x - left) < 2 and not text.endswith(":") for text, x, _ in over):
                        continue  # the rest of a label that begins on the line above
                    text, start, _ = pieces[at + 1] if at + 1 < len(pieces) else ("", right + GAP, 0.0)
                    if start - right >= GAP and left < start:
                        yield Pair(file, page.page_number, label[:-1].strip(), "" if text.endswith(":") else text)


def _piece(word: dict[str, Any]) -> tuple[str, float, float]:
    return word["text"].strip(), word["x0"], word["x1"]


def count_read(pairs: Sequence[Pair]) -> int:
    """The labels with a value whose page, as it is read, has both in one line."""
    texts = {
        (file, page.number): page.text
        for file in {pair.file for pair in pairs}
        for page in read_document(file.read_bytes(), file.name, AppConfig()).pages
    }
    return sum(bool(pair.value) and f"{pair.label}: {pair.value}" in texts[pair.file, pair.page] for pair in pairs)


def questions(pairs: Sequence[Pair]) -> Iterator[tuple[Pair, str]]:
    """One for each label that its report has once."""
    dice = random.Random(SEED)
    places = {pair.file: pair.value.partition(",")[0] for pair in pairs if pair.label == PLACE}
    times = Counter((pair.file, pair.label) for pair in pairs)
    for pair in pairs:
        wording = dice.choice(WORDINGS)
        if times[pair.file, pair.label] == 1 and pair.label != PLACE:
            yield pair, wording.format(label=pair.label, place=places[pair.file])


def outcome(pair: Pair, answer: Answer | None) -> Outcome:
    if answer is None or not answer.citations:
        return "refused"
    quoted = " ".join(answer.text.split()).casefold()
    of_file = any(cited.source == pair.file.name for cited in answer.citations)
    right = bool(pair.value) and of_file and f"{pair.label}: {pair.value.rstrip('.')}".casefold() in quoted
    if right:
        return "right, low confidence" if answer.low_confidence else "right"
    return "wrong, low confidence" if answer.low_confidence else "wrong"


def page(files: int, filled: int, read: int, found: dict[str, Counter[Outcome]]) -> str:
    return "\n".join(
        [
            "# Forms",
            "",
            f"By `python -m benchmarks.forms`, evaluator {evaluator_version()}: {files} accident reports of one kind, "
            "strategy `balanced`, no language model, no web.",
            "",
            f"{read} of {filled} labels with a value are read in one line with it.",
            "",
            *outcome_table("field", found),
            "",
        ]
    )


def outcome_table(head: str, found: dict[str, Counter[Outcome]]) -> Iterator[str]:
    """A row for each group of questions, a column for each way in which they end."""
    yield f"| {head} | asked | " + " | ".join(OUTCOMES) + " |"
    yield "|---|" + "---:|" * (len(OUTCOMES) + 1)
    for name, counts in found.items():
        yield f"| {name} | {counts.total()} | " + " | ".join(str(counts[each]) for each in OUTCOMES) + " |"


if __name__ == "__main__":
    sys.exit(main())
