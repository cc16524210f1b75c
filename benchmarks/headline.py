"""The paper's headline with a real language model: CRAG against RAG, and against no retrieval at all.

python -m benchmarks.headline [--arms NAME …] [--limit N] [--minutes M] [--gguf FILE] [--scratch FOLDER] [--out FOLDER]

300 PopQA questions with the texts and the web passages of the paper's authors. Each arm's evidence comes from a run of
the product's graph; a language model then answers in a few words, greedily, with one prompt for all arms. The model
is the server that the environment names (CRAG_LLM=openai-compatible, CRAG_LLM_BASE_URL, CRAG_LLM_MODEL, CRAG_LLM_KEY),
or a file that is served here: the one given, or the best one that installed packages hold.
Every answer is a line in the scratch folder, which is taken up where it was left, after a kill too. Prints a page and
writes it to results/headline.md and headline.json; it says how many questions it rests on. With --limit it is only
printed, unless --out says where to write.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.headline_model import (
    INSTRUCTIONS,
    MAX_TOKENS,
    Model,
    ServedModel,
    ShortWriter,
    asked,
    model_of_environment,
    serving,
    stored,
)
from benchmarks.headline_report import report
from benchmarks.headline_rows import ARMS, Journal, Row, figures, row_of
from benchmarks.pages import parse, publish
from benchmarks.popqa import Bench
from benchmarks.popqa_cases import Case, load_cases, with_retrieved
from corpora.places import ROOT, is_missing, parser_of
from crag.analysis.metrics.metrics import measure_run
from crag.core.protocols import Embedder, RetrievalEvaluator
from crag.core.settings import Settings
from crag.core.strategies import strategy
from crag.evaluation.local import LocalEvaluator
from crag.models.runtime import E5
from crag.storage.library import Library

QUESTIONS = 300
NO_RETRIEVAL = "no-retrieval"
RAW, REFINED = "retrieved texts", "the authors' refined texts"


def main() -> int:
    options = arguments()
    if is_missing(options.data, "popqa/knowledge.jsonl"):
        return 2
    chosen = cases(options.data)[: options.limit or None]
    journal = Journal(options.scratch / "headline.jsonl")
    with model(options, journal) as writer:
        made = {arm: made_of(arm, writer.id) for arm in options.arms}
        run(chosen, made, writer, journal, Graders(LocalEvaluator(), E5()), minutes=options.minutes)
        known = journal.done({arm: made_of(arm, writer.id) for arm in ARMS})
    wanted = {case.question.id for case, _ in chosen}
    rows = [row for (_, id), row in known.items() if id in wanted]
    if not rows:
        print("Nothing was answered.", file=sys.stderr)
        return 1
    results = {
        "model": writer.id,
        "questions": len(chosen),
        "answered": len({row.question_id for row in rows}),
        "finished": len(rows) == len(chosen) * len(ARMS),
        "machine": {"cores": len(os.sched_getaffinity(0)), "python": platform.python_version()},
        "instructions": INSTRUCTIONS,
        "max_tokens": MAX_TOKENS,
        "figures": figures(rows),
    }
    publish("headline", report(results), results, folder=options.folder)
    return 0


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__)
    scratch = Path(tempfile.gettempdir()) / "crag-headline"
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--limit", type=int, default=0, help="the first so many of the 300 questions; 0: all")
    parser.add_argument("--minutes", type=float, default=0.0, help="no question is begun after so many; 0: no limit")
    parser.add_argument("--gguf", type=Path, help="a model file to serve")
    parser.add_argument("--threads", type=int, default=0, help="of the model that is served here; 0: as many as cores")
    parser.add_argument("--scratch", type=Path, default=scratch, help="where answers are kept")
    parser.add_argument("--out", type=Path, help="where to write headline.json and headline.md")
    return parse(parser, "threads")


def cases(data: Path) -> list[tuple[Case, str]]:
    """The 300 questions, each with the kind of its texts, in an order that says nothing: any beginning is a sample.

    All that have texts as a retriever brought them, and of the others as many as are wanting.
    """
    every = load_cases(data)
    raw = [(case, RAW) for case in with_retrieved(every, data)]
    have = {case.question.id for case, _ in raw}
    rest = sorted(((case, REFINED) for case in every if case.question.id not in have and case.chunks), key=_drawn)
    return sorted([*raw[:QUESTIONS], *rest[: max(0, QUESTIONS - len(raw))]], key=_placed)


def _drawn(each: tuple[Case, str]) -> str:
    return hashlib.sha256(f"headline {each[0].question.id}".encode()).hexdigest()


def _placed(each: tuple[Case, str]) -> str:
    """Another draw than the one that chose: by the same one, those that were chosen by it would come first."""
    return hashlib.sha256(f"order {each[0].question.id}".encode()).hexdigest()


@contextmanager
def model(options: argparse.Namespace, journal: Journal) -> Iterator[Model]:
    """The model that answers, ready to be asked."""
    with ExitStack() as stack:
        endpoint = None if options.gguf else model_of_environment()
        if endpoint is not None:
            yield ServedModel(endpoint, said=journal.said(endpoint.id))
            return
        file = options.gguf or stored(options.scratch)
        name = f"{file.stem} ({file.stat().st_size / 1e6:.0f} MB)"
        print(f"Serving {name}", file=sys.stderr)
        yield ServedModel(stack.enter_context(serving(file, options.threads)), name, journal.said(name))


# ---- the runs ------------------------------------------------------------------------------------------------------


def settings_of(arm: str) -> Settings:
    """The strategy's own. Sentences are not checked afterwards: that changes no answer, and none has a citation."""
    return strategy(arm).settings.changed(verify=False)


def made_of(arm: str, model: str) -> str:
    """A digest of what an arm's rows rest on: the model, its prompt, and for evidence the product and its settings.

    Another version of the product makes new runs; what the model then is asked as before, it need not answer again.
    """
    made: list[object] = [model, INSTRUCTIONS, MAX_TOKENS, asked("question", ["passage"])]
    if arm != NO_RETRIEVAL:
        made += [settings_of(arm).model_dump(mode="json"), _product()]
    return hashlib.sha256(json.dumps(made).encode()).hexdigest()[:16]


def _product() -> str:
    """A digest of the product's code and of the lists of its models' files."""
    found = hashlib.sha256()
    for path in sorted([*(ROOT / "crag").rglob("*.py"), *(ROOT / "crag").rglob("*.json")]):
        found.update(path.read_bytes())
    return found.hexdigest()


@dataclass(frozen=True, slots=True)
class Graders:
    """The local models of every run."""

    evaluator: RetrievalEvaluator
    embedder: Embedder


def run(
    chosen: Sequence[tuple[Case, str]],
    made: Mapping[str, str],
    writer: Model,
    journal: Journal,
    graders: Graders,
    *,
    minutes: float = 0.0,
) -> bool:
    """Answers what is not yet answered, question by question, all arms of one at a time. Whether all is done.

    `made`: the arms, each with what its rows are made of. Each has a library of its own, so that none is given
    another's grades; they take turns at being first, as a server reads what begins alike only once.
    """
    ends = time.monotonic() + minutes * 60 if minutes else None
    arms, done = list(made), journal.done(made)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        benches = {
            arm: Bench(stack.enter_context(Library(folder / arm, graders.embedder)), graders.evaluator, own=True)
            for arm in arms
            if arm != NO_RETRIEVAL
        }
        for place, (case, kind) in enumerate(chosen):
            wanting = [arm for arm in arms if (arm, case.question.id) not in done]
            if wanting and ends is not None and time.monotonic() >= ends:
                print(f"  {place} of {len(chosen)} questions; start again to go on", file=sys.stderr)
                return False
            turn = place % len(arms)
            for arm in sorted(wanting, key=[*arms[turn:], *arms[:turn]].index):
                journal.add(answered(arm, case, kind, writer, benches.get(arm), made[arm]))
            if wanting:
                print(f"  {place + 1}/{len(chosen)}", file=sys.stderr)
    return True


def answered(arm: str, case: Case, kind: str, model: Model, bench: Bench | None, made: str) -> Row:
    """One question in one arm. Ends the program where the run fails."""
    question = case.question
    common = {"arm": arm, "question_id": question.id, "made_of": made, "kind": kind, "model": model.id}
    if bench is None:
        said = model.reply(asked(question.question))
        return row_of(said, question.answers, seconds=0.0, empty=True, **common)
    writer = ShortWriter(model)
    trace = bench.run(case, arm, settings_of(arm), writer)
    found = measure_run(trace, question)
    if found.problem or found.failed_grades or writer.said is None or found.seconds is None:
        raise SystemExit(f"Question {question.id} in {arm}: {found.problem or 'a grade failed'}. Start again to go on.")
    return row_of(
        writer.said,
        question.answers,
        seconds=max(0.0, found.seconds - (writer.said.seconds if writer.said.anew else 0.0)),
        words=found.evidence_words or 0,
        evidence=found.evidence_answer,
        empty=writer.empty,
        abstains=writer.abstains,
        action=str(found.action or ""),
        searches=found.searches,
        **common,
    )


if __name__ == "__main__":
    sys.exit(main())
