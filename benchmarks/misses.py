"""Where answers of real filings and reports are lost, whether each explanation holds, and how long one takes.

python -m benchmarks.misses [--data FOLDER] [--limit N] [--cache FOLDER] [--rows N] [--out FOLDER]

Five filings of FinanceBench and two papers of MMLongBench lie in one library, with their development questions alone.
Every question is asked with `balanced`, and followed from its expected pages to the answer. Each explanation of a loss
is held against the stored facts that it speaks of, and each change that it is certain of against a new run. The time of
an explanation is that of `explain_miss` on the expected page, the search for its ranks with it. The last part follows
synthetic runs, half of --rows and all, to show that the time of a funnel grows as its questions do.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.evaluator_library import spread
from benchmarks.financebench import parser_of
from benchmarks.overhead import ms
from benchmarks.whatif import stored_run
from corpora.libraries import indexed
from corpora.published_sets import read_published
from crag.analysis.evaluate import add_set, evaluate
from crag.analysis.metrics.metrics import measure_run
from crag.analysis.metrics.results import row_to_json
from crag.analysis.questions.sets import UNANSWERABLE, Question, QuestionSet
from crag.analysis.stages.funnel import Followed, Funnel, trace_funnel
from crag.analysis.stages.miss import Change, Miss, Wanted, explain_miss
from crag.core.config import AppConfig, Keys
from crag.core.protocols import RunRequest, SearchQuery
from crag.core.settings import Settings
from crag.core.strategies import strategy
from crag.core.trace import Trace
from crag.engine import Engine
from crag.evaluation.local import LocalEvaluator
from crag.messages.evaluations import (
    LOST_TITLES,
    STEP_TITLES,
    beside_sentence,
    funnel_sentence,
    left_out_sentence,
    loss_sentence,
    shown_steps,
)
from crag.messages.explanations import miss_sentence
from crag.storage.library import Library
from crag.text.formats import count

FILINGS = (
    "BOEING_2022_10K",
    "JOHNSON_JOHNSON_2023_8K_dated-2023-08-30",
    "PFIZER_2021_10K",
    "Pfizer_2023Q2_10Q",
    "ULTABEAUTY_2023Q4_EARNINGS",
)
PAPERS = ("PIP_Seniors-and-Tech-Use_040314", "tacl_a_00660")
STRATEGY = "balanced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One loss with what contradicts its explanation (nothing, where it holds) and what a new run made of its change.

    `mended`: whether the place passed the step in a new run under a change that is called certain; None without one.
    """

    loss: Followed
    faults: tuple[str, ...]
    mended: bool | None


def main() -> int:
    options = arguments()
    folders = [options.data / name for name in ("financebench", "mmlongbench")]
    if not all((folder / "questions.jsonl").is_file() for folder in folders):
        print(
            f"Skipped: no FinanceBench or MMLongBench in {options.data}. Give --data or set CRAG_SHARED.",
            file=sys.stderr,
        )
        return 2
    named = [(folders[0], FILINGS), (folders[1], PAPERS)]
    known = [each for folder, names in reversed(named) for each in questions_of(folder, names)]
    questions = spread(known, options.limit)
    wanted = {source.casefold() for each in questions for source in each.sources}
    files = [folder / "pdfs" / f"{name}.pdf" for folder, names in named for name in names]
    files = [file for file in files if file.name.casefold() in wanted]
    engine = Engine(AppConfig(), Keys(), evaluator=LocalEvaluator())
    try:
        source = indexed(engine, files, options.cache)
        engine.close()  # what is copied is whole
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "library"
            shutil.copytree(source, folder)
            page = "\n".join(report(engine, folder, questions, options.rows))
    finally:
        engine.close()
    print(page)
    if options.out:
        (options.out / "misses.md").write_text(page + "\n", encoding="utf-8")
    return 0


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__, "crag-misses-cache")
    parser.add_argument("--limit", type=int, default=0, help="the most questions; 0: all")
    parser.add_argument("--rows", type=int, default=1_000, help="synthetic rows")
    parser.add_argument("--out", type=Path, help="where to write misses.md")
    return parser.parse_args()


def questions_of(folder: Path, names: Sequence[str]) -> list[Question]:
    """The questions of these documents, with ids that name their set."""
    found = read_published(folder / "questions.jsonl").questions
    wanted = {name.casefold() for name in names}
    return [
        replace(
            each,
            id=each.id if each.id.startswith(folder.name) else f"{folder.name}-{each.id}",
            labels=(UNANSWERABLE,) if "Not answerable" in each.answers else each.labels,
        )
        for each in found
        if wanted & {source.casefold().removesuffix(".pdf") for source in each.sources}
    ]


def report(engine: Engine, folder: Path, questions: Sequence[Question], rows: int) -> Iterator[str]:
    """The page, line by line."""
    library = engine.library(folder)
    id = add_set(library, QuestionSet("expected pages", tuple(questions)))
    print(f"  asking {len(questions)} questions", file=sys.stderr)
    *_, last = evaluate(engine, id, RunRequest("", STRATEGY, folder))
    began = time.process_time()
    funnel = trace_funnel(library, last.evaluation)
    whole = time.process_time() - began
    verdicts = [verify(engine, folder, loss) for loss in funnel.losses]
    times = [explanation_time(library, loss) for loss in funnel.losses if loss.miss.fates for _ in range(3)]
    documents, chunks = library.size
    yield "# Where answers are lost"
    yield ""
    yield f"`python -m benchmarks.misses`, {platform.machine()}, {os.cpu_count()} cores. {documents} documents with"
    yield f"{chunks:,} chunks, {len(questions)} development questions of FinanceBench and MMLongBench, `{STRATEGY}`."
    yield ""
    yield " ".join(filter(None, (funnel_sentence(funnel), beside_sentence(funnel), left_out_sentence(funnel))))
    yield ""
    yield from stage_table(funnel)
    yield ""
    held = sum(not each.faults for each in verdicts)
    tried = [each.mended for each in verdicts if each.mended is not None]
    yield f"{held} of {len(verdicts)} explanations agree with every stored fact that they name (ranks, grade, strips,"
    yield f"citations). {sum(tried)} of {len(tried)} changes that are called certain did what they say in a new run."
    yield ""
    if times:
        yield f"An explanation takes {ms(statistics.median(times))} of the processor at the median, {ms(max(times))} at"
        yield f"worst, of {len(times)} with their searches. The funnel of all took {ms(whole)}."
        yield ""
    yield from growth(rows)
    yield ""
    yield "## Losses"
    yield ""
    yield from (line for each in verdicts for line in loss_lines(each))


def stage_table(funnel: Funnel) -> Iterator[str]:
    yield "| step | questions that pass it | lost there |"
    yield "|---|---|---|"
    for step in shown_steps(funnel):
        yield f"| {STEP_TITLES[step]} | {funnel.passed[step]} of {funnel.followed} | {funnel.lost.get(step, 0)} |"


def loss_lines(verdict: Verdict) -> Iterator[str]:
    """By the question's id: the sets' licences keep their texts out of this page."""
    loss = verdict.loss
    assert loss.lost is not None
    tried = {None: "", True: " A new run confirms it.", False: " A new run does not confirm it."}[verdict.mended]
    faults = f" False: {'; '.join(verdict.faults)}." if verdict.faults else ""
    yield f"- **{LOST_TITLES[loss.lost]}**, {loss.question_id}: {loss_sentence(loss)}{tried}{faults}"


# ---- whether an explanation holds ------------------------------------------------------------------------------------


def verify(engine: Engine, folder: Path, loss: Followed) -> Verdict:
    """A loss held against its run, read here by itself, and its change against a new run."""
    library = engine.library(folder)
    trace = library.runs.trace(loss.run_id)
    change = loss.miss.change
    mended = None
    if change is not None and change.certain:
        mended = passes(engine, folder, trace, loss, change)
    return Verdict(loss=loss, faults=tuple(faults(library, trace, loss.miss)), mended=mended)


def faults(library: Library, trace: Trace, miss: Miss) -> Iterator[str]:
    """What in a miss contradicts the run and the library."""
    if not miss.fates:
        return
    fate = miss.fates[0]
    own = {each.id for each in library.documents.chunks(fate.chunk.document_id, page=fate.chunk.page)}
    if fate.chunk.id not in own:
        yield "its chunk is not of that page"
    found = {each.chunk.id: each.rank for round in trace.rounds for each in round.chunks}
    if fate.rank != found.get(fate.chunk.id):
        yield "another rank"
    if (miss.stage in ("not retrieved", "excluded")) != (not own & found.keys()):
        yield "retrieved or not"
    if miss.stage == "not retrieved" and fate.ranks.together is not None and miss.retrieved:
        ranked = library.find(SearchQuery(trace.meant, fate.ranks.together))
        if ranked[-1].chunk.id != fate.chunk.id:
            yield "another rank in a search"
        if any(each.chunk.id in own for each in ranked[:-1]):
            yield "another chunk of the page ranks higher"
    scores = {id: grade.score for round in trace.rounds for id, grade in round.grades.items()}
    if fate.rank is not None and (fate.grade.score if fate.grade else None) != scores.get(fate.chunk.id):
        yield "another grade"
    said, ranks = miss_sentence(miss), [found[id] for id in own if id in found]
    if ranks and f"at rank {min(ranks)} " not in said.replace(",", " "):
        yield "not the best rank of the page"
    number = sum(strip.source_id in own for strip in trace.kept())
    if miss.stage == "not cited" and f"and {count(number, 'strip')} of it" not in said:
        yield "another number of strips"
    kept = {strip.source_id for strip in trace.kept()}
    if (miss.stage in ("not cited", "cited")) != bool(own & kept):
        yield "kept or not"
    cited = {each.source_id for each in trace.answer.citations} if trace.answer else set()
    if (miss.stage == "cited") != bool(own & cited):
        yield "cited or not"


def passes(engine: Engine, folder: Path, trace: Trace, loss: Followed, change: Change) -> bool:
    """Whether the place passes the step at which it was lost in a new run under the change."""
    settings = Settings.stored(trace.settings).settings.changed(**change.settings)
    new = Trace.from_events(engine.ask(RunRequest(trace.question, STRATEGY, folder, settings=settings)))
    chunk = loss.miss.fates[0].chunk.id
    if loss.miss.stage == "not retrieved":
        return any(each.chunk.id == chunk for each in new.rounds[0].chunks)
    return any(strip.source_id == chunk for strip in new.kept("internal"))


def explanation_time(library: Library, loss: Followed) -> float:
    trace, chunk = library.runs.trace(loss.run_id), loss.miss.fates[0].chunk
    began = time.process_time()
    explain_miss(library, trace, Wanted(document=chunk.document_id, page=chunk.page))
    return time.process_time() - began


# ---- how the time of a funnel grows ----------------------------------------------------------------------------------


def growth(rows: int) -> Iterator[str]:
    """The time of the funnel of synthetic runs, by their number."""
    if not rows:
        return
    taken = {number: synthetic(number) for number in (rows // 2, rows)}
    said = "; ".join(f"{number:,} take {seconds:.1f} s" for number, seconds in taken.items())
    yield f"Synthetic runs of ten chunks and five web pages: {said} of the processor."


def synthetic(number: int) -> float:
    """Seconds for the funnel of that number of stored runs, a third of which lost their page."""
    dice = random.Random(0)
    traces = [stored_run(place) for place in range(number)]
    questions = [expected_of(trace, f"q{place}", dice) for place, trace in enumerate(traces)]
    with tempfile.TemporaryDirectory() as place:
        engine = Engine(AppConfig.of(data=Path(place)), Keys(), evaluator=LocalEvaluator())
        try:
            library = engine.library()
            set_id = add_set(library, QuestionSet("synthetic", tuple(questions)))
            settings = strategy(STRATEGY).settings.model_dump_json()
            made = library.evaluations.begin(set_id, STRATEGY, settings=settings, parts="{}", key="synthetic")
            for at, (trace, question) in enumerate(zip(traces, questions, strict=True), 1):
                stored = replace(trace, run_id=f"{made.id}-{at}", finished=True)
                library.runs.save(stored, [])
                row = measure_run(stored, question)
                library.evaluations.save_result(made.id, at, row_to_json(row))
            began = time.process_time()
            funnel = trace_funnel(library, made.id)
            taken = time.process_time() - began
            assert funnel.followed == number, funnel.left_out
            return taken
        finally:
            engine.close()


def expected_of(trace: Trace, id: str, dice: random.Random) -> Question:
    """A question that expects the page of one of the chunks that a run retrieved."""
    chunk = dice.choice(trace.rounds[-1].chunks).chunk
    return Question(id=id, question=trace.question, sources=(chunk.source,), pages=(chunk.page,))


if __name__ == "__main__":
    raise SystemExit(main())
