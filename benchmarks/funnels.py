"""Where answers are lost on three sets, under plain RAG and `balanced`: the funnel that Evaluate shows.

python -m benchmarks.funnels [--data FOLDER] [--limit N] [--cache FOLDER] [--out FOLDER]

FinanceBench (25 filings), MMLongBench (17 reports, papers, manuals; development questions whose page has the answer as
text) and the sample's report, each in a library of its own, each question followed from its expected page. Prints a
page; writes results/funnels.md unless a part was asked for.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.evaluator_library import spread
from benchmarks.financebench import parser_of
from benchmarks.misses import questions_of
from corpora.judging import evaluator_version
from corpora.libraries import indexed
from crag.analysis.evaluate import add_set, evaluate
from crag.analysis.questions.sets import Question, QuestionSet, read_set
from crag.analysis.stages.funnel import STEPS, Funnel, trace_funnel
from crag.core.config import AppConfig, Keys
from crag.core.protocols import RunRequest
from crag.engine import Engine
from crag.messages.evaluations import STEP_TITLES, beside_sentence, funnel_sentence, left_out_sentence, shown_steps

RESULT = Path(__file__).resolve().parent / "results" / "funnels.md"
NAMED = {"FinanceBench": "financebench", "MMLongBench": "mmlongbench"}
STRATEGIES = ("plain-rag", "balanced")


def main() -> int:
    parser = parser_of(__doc__, "crag-funnels-cache")
    parser.add_argument("--limit", type=int, default=0, help="the most questions of a set; 0: all")
    parser.add_argument("--out", type=Path, help="where to write funnels.md")
    given = parser.parse_args()
    engine = Engine(AppConfig(), Keys())
    sets = {name: read(given.data / folder) for name, folder in NAMED.items()}
    sample = engine.sample()
    questions = read_set(sample.question_set.name, sample.question_set.read_bytes()).questions
    sets["The sample's report"] = ([sample.pdf], list(questions))
    if not all(files for files, _ in sets.values()):
        print(f"Skipped: no data in {given.data}. Give --data or set CRAG_SHARED.", file=sys.stderr)
        return 2
    lines = ["# Where answers are lost, on three sets", ""]
    lines += [f"By `python -m benchmarks.funnels`, evaluator {evaluator_version()}, no language model, no web.", ""]
    for name, (files, asked) in sets.items():
        lines += part(engine, name, files, spread(asked, given.limit) if given.limit else asked, given.cache)
    engine.close()
    said = "\n".join(lines)
    print(said)
    if out := given.out or (None if given.limit else RESULT.parent):
        (out / RESULT.name).write_text(said, encoding="utf-8")
    return 0


def read(folder: Path) -> tuple[list[Path], list[Question]]:
    """The documents of a set and its questions; none where it is not there."""
    files = sorted((folder / "pdfs").glob("*.pdf"))
    return files, questions_of(folder, [file.stem for file in files]) if files else []


def part(engine: Engine, name: str, files: Sequence[Path], asked: Sequence[Question], cache: Path) -> Iterator[str]:
    """The funnels of one set, a column for each strategy."""
    print(f"  {name}: {len(asked)} questions of {len(files)} documents", file=sys.stderr)
    source = indexed(engine, files, cache)
    engine.close()  # what is copied is whole
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "library"
        shutil.copytree(source, folder)
        library = engine.library(folder)
        id = add_set(library, QuestionSet(name, tuple(asked)))
        funnels: dict[str, Funnel] = {}
        for strategy in STRATEGIES:
            *_, last = evaluate(engine, id, RunRequest("", strategy, folder))
            funnels[strategy] = trace_funnel(library, last.evaluation)
        engine.close()
    yield from (f"## {name}", "", f"{len(asked)} questions, {len(files)} documents.", "")
    yield f"| step | {' | '.join(f'`{each}`' for each in funnels)} |"
    yield "|---|" + "---:|" * len(funnels)
    for step in STEPS:
        cells = (
            f"{each.passed[step]} of {each.followed}" if step in shown_steps(each) else "–" for each in funnels.values()
        )
        yield f"| {STEP_TITLES[step]} | {' | '.join(cells)} |"
    for strategy, each in funnels.items():
        said = (funnel_sentence(each), beside_sentence(each), left_out_sentence(each))
        yield from ("", f"`{strategy}`: {' '.join(filter(None, said))}")
    yield ""


if __name__ == "__main__":
    sys.exit(main())
