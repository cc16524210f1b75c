"""Follow-up questions: is their page found as often as that of the question written out, and does none that stands
alone change?

python -m benchmarks.conversation [--data FOLDER] [--cache FOLDER] [--gguf FILE] [--limit N]
[--no-model] [--out FOLDER]

benchmarks/data/followups.jsonl holds conversations over the sample library and two filings of FinanceBench, each
follow-up with what it should become and its page; the detection was made on its half "dev", and "test" was looked at
once it stood. A follow-up comes after those of its conversation as they were asked in the same way, as in the app. All
documents stand in one library. A question that stands alone is asked within another conversation: those of
data/standalone.jsonl, the written-out follow-ups, and questions of ../shared's sets. The model is the tests' small one,
or --gguf FILE; --no-model asks none. Prints a page and writes it to results/conversation.md and conversation.json, with
a model to conversation-<its name>; --limit N asks of N conversations, spread evenly.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.headline_model import serving
from benchmarks.pages import machine, parse, publish
from corpora.libraries import indexed
from corpora.places import ROOT, is_missing, parser_of
from corpora.rows import read_rows
from crag.core.config import AppConfig, Keys
from crag.core.errors import ProviderError
from crag.core.sample import shipped_sample
from crag.core.types import Exchange
from crag.engine import Engine
from crag.generation.conversation.brackets import BracketContextualizer
from crag.generation.conversation.model import LlmContextualizer
from crag.ingest.chunking import CHUNKING_ID
from crag.providers.chat import ChatModel
from crag.runtime.usage import Budget, UsageTracker
from tests.support import real_server

DATA = ROOT / "benchmarks" / "data"
FILINGS = ("BOEING_2022_10K.pdf", "NIKE_2021_10K.pdf")
DRAWN = {"financebench/questions.jsonl": 45, "mmlongbench/questions.jsonl": 60, "nq/test.jsonl": 60}
"""Questions of other sets that are asked within a conversation, and how many of each."""
WORDED: list[str] = []
"""The follow-ups whose rewording by the model was fit to be asked."""
GOALS = {"in brackets": 0.02, "model": 0.05}

Ask = Callable[[str, Sequence[Exchange]], str]


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question within a conversation, what it should become, and where its answer stands."""

    run_id: str
    half: str
    history: tuple[Exchange, ...]
    question: str
    written: str
    source: str
    pages: frozenset[int]


def main() -> int:
    options = arguments()
    if is_missing(options.data, "financebench/pdfs"):
        return 2
    asked = followups(options.limit)
    alone = standing_alone(options.data, asked)
    engine = Engine(AppConfig(), Keys())
    try:
        folder = filled(engine, options)
        with contextualizers(options) as ways:
            results = measure(engine, folder, asked, alone, ways)
    finally:
        engine.close()
    results |= {
        "machine": machine(),
        "model": "" if options.no_model else model_file(options).stem,
        "chunking": CHUNKING_ID,
    }
    name = "conversation" if options.no_model else f"conversation-{model_file(options).stem}"
    publish(name, report(results), results, folder=options.folder)
    return 0


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__, "crag-conversation-cache")
    parser.add_argument("--gguf", type=Path, help="a model file in place of the tests'")
    parser.add_argument("--limit", type=int, default=0, help="the most conversations; 0: all")
    parser.add_argument("--no-model", action="store_true", help="ask no model")
    parser.add_argument("--out", type=Path, help="where to write")
    return parse(parser, "no_model")


def followups(limit: int = 0) -> list[FollowUp]:
    """All of them, or those of the first conversations of each kind; the history is what was asked, written out."""
    rows = read_rows(DATA / "followups.jsonl")
    if limit:
        rows = rows[:: max(1, len(rows) // limit)][:limit]
    found = []
    for row in rows:
        history = [Exchange(question=row["question"], answer=row["answer"], run_id=f"{row['id']}-0")]
        for number, each in enumerate(row["followups"], 1):
            source = each.get("source", row["source"])
            found.append(
                FollowUp(
                    f"{row['id']}-{number}",
                    row["half"],
                    tuple(history),
                    each["question"],
                    each["standalone"],
                    source,
                    frozenset(each["pages"]),
                )
            )
            history.append(Exchange(question=each["standalone"], answer=each["answer"], run_id=f"{row['id']}-{number}"))
    return found


def standing_alone(data: Path, asked: Sequence[FollowUp]) -> dict[str, list[tuple[str, tuple[Exchange, ...]]]]:
    """Questions that stand alone, each with a conversation before it: its own for those written out."""
    histories = [each.history for each in asked]
    own = [row["question"] for row in read_rows(DATA / "standalone.jsonl")]
    found = {
        "written for this": [(each, histories[at % len(histories)]) for at, each in enumerate(own)],
        "follow-ups written out": [(each.written, each.history) for each in asked],
    }
    for name, count in DRAWN.items():
        if (data / name).is_file():
            questions = [row["question"] for row in read_rows(data / name)]
            some = sorted(questions, key=lambda each: hashlib.sha256(each.encode()).hexdigest())[:count]
            found[name.split("/")[0]] = [(each, histories[at % len(histories)]) for at, each in enumerate(some)]
    return found


def filled(engine: Engine, options: argparse.Namespace) -> Path:
    """The folder of a library that holds the sample, its web pages and the filings; they are added once."""
    sample = shipped_sample()
    filings = [options.data / "financebench" / "pdfs" / name for name in FILINGS]
    return indexed(engine, [sample.pdf, *sorted(sample.web.glob("*.html")), *filings], options.cache)


def model_file(options: argparse.Namespace) -> Path:
    file: Path = options.gguf or real_server.model_file()
    return file


@contextmanager
def contextualizers(options: argparse.Namespace) -> Iterator[dict[str, Ask]]:
    """The ways to ask a follow-up; the model's falls back to the brackets, as a run does."""
    brackets = BracketContextualizer()
    ways: dict[str, Ask] = {
        "as it stands": lambda question, history: question,
        "in brackets": lambda question, history: brackets.standalone(question, history).question,
    }
    if options.no_model:
        yield ways
        return
    with serving(model_file(options), 1) as endpoint:
        unmetered = UsageTracker(Budget(calls=1_000_000, tokens=1_000_000_000, seconds=1e6), step="contextualize")
        model = LlmContextualizer(ChatModel(endpoint).metered(unmetered))

        def by_model(question: str, history: Sequence[Exchange]) -> str:
            try:
                made = model.standalone(question, history).question
            except ProviderError as error:
                print(f"  in brackets: {error.message}", file=sys.stderr)
                return brackets.standalone(question, history).question
            if model.by != brackets.by:
                WORDED.append(question)
                print(f"  {len(WORDED)} worded by the model", file=sys.stderr)
            return made

        yield {**ways, "model": by_model}


def measure(
    engine: Engine,
    folder: Path,
    asked: Sequence[FollowUp],
    alone: dict[str, list[tuple[str, tuple[Exchange, ...]]]],
    ways: dict[str, Ask],
) -> dict[str, Any]:
    library = engine.library(folder)

    def rank(query: str, each: FollowUp) -> int:
        found = library.search(query, 10)
        places = [(one.chunk.source, one.chunk.page) for one in found]
        return next((at for at, (file, page) in enumerate(places, 1) if file == each.source and page in each.pages), 0)

    ranks: dict[str, list[int]] = {"written out": [rank(each.written, each) for each in asked]}
    became: dict[str, list[str]] = {}
    seconds: dict[str, float] = {}
    for name, way in ways.items():
        began = time.perf_counter()
        became[name] = asked_by(way, asked)
        seconds[name] = (time.perf_counter() - began) / max(1, len(asked))
        ranks[name] = [rank(query, each) for query, each in zip(became[name], asked, strict=True)]
        print(f"  {name}: {len(asked)} asked", file=sys.stderr)
    halves = {"all": asked, **{half: [each for each in asked if each.half == half] for half in ("dev", "test")}}
    return {
        "followups": {half: len(each) for half, each in halves.items()},
        "documents": library.size[0],
        "chunks": library.size[1],
        "hits": {
            name: {
                half: _hits([at for at, each in zip(found, asked, strict=True) if half in ("all", each.half)])
                for half in halves
            }
            for name, found in ranks.items()
        },
        "worded by the model": len(WORDED),
        "left as they stand": {
            name: sum(query == each.question for query, each in zip(queries, asked, strict=True))
            for name, queries in became.items()
            if name != "as it stands"
        },
        "seconds": {name: round(each, 4) for name, each in seconds.items()},
        "standing alone": {
            name: {
                "questions": len(each),
                "changed": {
                    way: [question for question, history in each if ask(question, history) != question]
                    for way, ask in ways.items()
                    if way != "as it stands"
                },
            }
            for name, each in alone.items()
        },
    }


def asked_by(way: Ask, asked: Sequence[FollowUp]) -> list[str]:
    """What each follow-up becomes where those before it in its conversation were asked in the same way."""
    found: dict[str, str] = {}
    for each in asked:
        history = [replace(one, question=found.get(one.run_id, one.question)) for one in each.history]
        found[each.run_id] = way(each.question, history)
    return list(found.values())


def _hits(ranks: Sequence[int]) -> dict[str, float]:
    count = max(1, len(ranks))
    return {f"hit@{most}": sum(0 < each <= most for each in ranks) / count for most in (5, 10)}


def report(results: dict[str, Any]) -> str:
    hits, counts = results["hits"], results["followups"]
    lines = [
        "# Follow-up questions",
        "",
        f"{counts['all']} follow-ups ({counts['dev']} on which the detection was made, {counts['test']} kept for "
        f"the end) over {results['documents']} documents of {results['chunks']} chunks in one library. Page hit: a "
        "chunk of the right page is among the first 5 or 10 that the library's search finds for the question. "
        f"{results['machine']}. Model: {results['model'] or 'none'}.",
        "",
        "| asked | hit@5 | hit@10 | dev @5 | dev @10 | test @5 | test @10 | seconds each |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, found in hits.items():
        cells = [f"{found[half][at]:.3f}" for half in ("all", "dev", "test") for at in ("hit@5", "hit@10")]
        took = f"{results['seconds'][name]:.3f}" if name in results["seconds"] else "–"
        lines.append(f"| {name} | {' | '.join(cells)} | {took} |")
    lines.append("")
    for name, goal in GOALS.items():
        if name in hits:
            short = [hits["written out"]["all"][at] - hits[name]["all"][at] for at in ("hit@5", "hit@10")]
            lines.append(
                f"- {name}: {short[0] * 100:.1f} points short of the written-out question at 5, "
                f"{short[1] * 100:.1f} at 10 (goal: within {goal * 100:.0f})."
            )
    left = ", ".join(f"{name} {count}" for name, count in results["left as they stand"].items())
    lines.append(f"- Follow-ups left as they stand, because it was not clear that they are some: {left}.")
    if results["model"]:
        lines.append(
            f"- The model's wording was used {results['worded by the model']} times of {counts['all']}, the "
            "brackets in all others."
        )
    lines += ["", "| stand alone | asked | changed in brackets |" + (" by model |" if "model" in hits else "")]
    lines.append("|---|---|---|" + ("---|" if "model" in hits else ""))
    for name, each in results["standing alone"].items():
        changed = " | ".join(str(len(one)) for one in each["changed"].values())
        lines.append(f"| {name} | {each['questions']} | {changed} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
